package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// killPatience is how long the inside may take to kill a task before all of it
// is killed.
const killPatience = 2 * time.Second

// inside is the other side of a wall: a process that runs tasks.
type inside struct {
	cmd        *exec.Cmd
	conn       *net.UnixConn
	lifePipe   *os.File      // held open while this process lives
	done       chan struct{} // closed once the process is gone
	endsItself bool          // it ends by itself, once it has ended its children
	group      *group        // that it runs in; nil where there is none
	errs       bytes.Buffer  // what it wrote to stderr; read after done

	sending sync.Mutex
	mu      sync.Mutex
	next    int64
	waiting map[int64]chan reply // nil once the connection is gone
}

// startInside starts cmd as the inside of a wall, tells it what to build, and waits
// until it stands. The descriptors that cmd inherits are its own.
func startInside(ctx context.Context, cmd *exec.Cmd, s setup) (*inside, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	in := &inside{
		cmd:     cmd,
		conn:    ours,
		done:    make(chan struct{}),
		waiting: map[int64]chan reply{},
	}
	theirLife, life, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a pipe: %w", err), ours.Close(), theirs.Close())
	}
	in.lifePipe = life
	cmd.ExtraFiles = append([]*os.File{theirs, theirLife}, cmd.ExtraFiles...)
	cmd.Stderr = &in.errs
	cmd.WaitDelay = pipeGrace
	err = in.start()
	_, _ = theirs.Close(), theirLife.Close()
	if err != nil {
		return nil, errors.Join(err, ours.Close(), life.Close())
	}
	if err := in.handshake(ctx, s); err != nil {
		in.end()
		if stderr := strings.TrimSpace(in.errs.String()); stderr != "" {
			err = fmt.Errorf("%w (%s)", err, stderr)
		}
		return nil, err
	}
	go in.readReplies()
	return in, nil
}

// start starts the process from a thread that lives as long as it does,
// because the kernel kills it when the thread that started it ends.
func (in *inside) start() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		lightFork()
		err := in.cmd.Start()
		started <- err
		if err == nil {
			_ = in.cmd.Wait()
			close(in.done)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start it: %w", err)
	}
	return nil
}

// handshake tells the process what to build and waits for its answer.
func (in *inside) handshake(ctx context.Context, s setup) error {
	ctx, cancel := context.WithTimeout(ctx, buildPatience)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = in.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	data, err := encodeFrame(s)
	if err != nil {
		return err
	}
	if _, err := in.conn.Write(data); err != nil {
		return fmt.Errorf("tell it what to build: %w", err)
	}
	var r reply
	err = readFrame(in.conn, &r)
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("wait for it: %w", context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("it ended: %w", err)
	}
	if !r.Ready {
		return errors.New(r.Error)
	}
	return nil
}

// readReplies hands each reply to the goroutine that waits for it.
func (in *inside) readReplies() {
	for {
		var r reply
		err := readFrame(in.conn, &r)
		in.mu.Lock()
		if err != nil {
			for _, ch := range in.waiting {
				close(ch)
			}
			in.waiting = nil
			in.mu.Unlock()
			return
		}
		if ch, ok := in.waiting[r.ID]; ok {
			delete(in.waiting, r.ID)
			ch <- r // it has room
		}
		in.mu.Unlock()
	}
}

// dead reports whether the process can take no more orders.
func (in *inside) dead() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.waiting == nil
}

// end ends the process and everything behind the wall, and waits for that.
func (in *inside) end() {
	_ = in.conn.Close()
	_ = in.lifePipe.Close()
	if !in.endsItself {
		_ = in.cmd.Process.Kill()
	}
	timer := time.AfterFunc(killPatience, func() { _ = in.cmd.Process.Kill() })
	<-in.done
	timer.Stop()
}

// errGone says that the inside ended while it ran a task.
var errGone = errors.New("the sandbox was killed, with everything in it; the next command gets a new one")

// run runs a task to its end.
func (in *inside) run(ctx context.Context, t task, w *watch) (ending, error) {
	if ctx.Err() != nil {
		return ending{}, ctx.Err()
	}
	p, err := openPipes(w)
	if err != nil {
		return ending{}, err
	}
	defer p.close()
	id, replied := in.awaitReply()
	if replied == nil {
		p.handedOver()
		return ending{}, errGone
	}
	err = in.send(order{ID: id, Task: &t}, p.task...)
	p.handedOver()
	if err != nil {
		return ending{}, fmt.Errorf("tell the sandbox: %w", err)
	}
	p.copy(w)
	w.begin(ctx, startedTask{in, id})
	r, end, err := in.waitForEnd(ctx, id, replied)
	asked := w.end(ctx, p.copied)
	if asked {
		_ = in.send(order{ID: id, Kill: true}) // if it cannot be told, all of it is gone
	}
	p.drain(end.stopped || asked)
	switch {
	case err != nil:
		return end, err
	case r.Error != "" && r.Errno != 0:
		return end, startError{text: r.Error, errno: r.Errno}
	case r.Error != "":
		return end, errors.New(r.Error)
	}
	end.code, end.signaled = r.Code, r.Signal
	return end, nil
}

// startedTask is a task that the inside was told to start.
type startedTask struct {
	in *inside
	id int64
}

// query implements queryable.
func (s startedTask) query(ctx context.Context, a taskQuery) (taskStatus, error) {
	id, replied := s.in.awaitReply()
	if replied == nil {
		return taskStatus{}, errGone
	}
	if err := s.in.send(order{
		ID:     id,
		TaskID: s.id,
		Query:  &a,
	}); err != nil {
		return taskStatus{}, fmt.Errorf("ask the sandbox: %w", err)
	}
	late := time.NewTimer(killPatience)
	defer late.Stop()
	select {
	case r, ok := <-replied:
		if !ok {
			return taskStatus{}, errGone
		}
		if r.Status == nil {
			return taskStatus{}, fmt.Errorf("ask the sandbox: %s", r.Error)
		}
		return *r.Status, nil
	case <-late.C:
	case <-ctx.Done():
	}
	s.in.dropReply(id)
	return taskStatus{}, errors.New("the sandbox does not answer")
}

// startError is why a task was not started, told by the inside.
type startError struct {
	text  string
	errno syscall.Errno
}

func (e startError) Error() string { return e.text }
func (e startError) Unwrap() error { return e.errno }

// awaitReply makes room for a reply; the channel is nil if none can come.
func (in *inside) awaitReply() (int64, chan reply) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.waiting == nil {
		return 0, nil
	}
	in.next++
	ch := make(chan reply, 1)
	in.waiting[in.next] = ch
	return in.next, ch
}

// dropReply gives up waiting for a reply.
func (in *inside) dropReply(id int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.waiting, id)
}

func (in *inside) send(o order, files ...*os.File) error {
	data, err := encodeFrame(o)
	if err != nil {
		return err
	}
	in.sending.Lock()
	defer in.sending.Unlock()
	if len(files) > 0 {
		return sendWith(in.conn, data, files)
	}
	_, err = in.conn.Write(data)
	return err //nolint:wrapcheck // run says what it was for
}

// waitForEnd waits for the end of a task, which is killed when ctx ends.
func (in *inside) waitForEnd(ctx context.Context, id int64, replied chan reply) (reply, ending, error) {
	var end ending
	stop := ctx.Done()
	var late <-chan time.Time
	for {
		select {
		case r, ok := <-replied:
			if !ok {
				return r, end, errGone
			}
			return r, end, nil
		case <-stop:
			stop, end.stopped = nil, true
			timer := time.NewTimer(killPatience)
			defer timer.Stop()
			late = timer.C
			if err := in.send(order{ID: id, Kill: true}); err != nil {
				_ = in.cmd.Process.Kill()
			}
		case <-late:
			_ = in.cmd.Process.Kill()
			late = nil
		}
	}
}

// socketPair makes the two ends of a connection.
func socketPair() (*net.UnixConn, *os.File, error) {
	syscall.ForkLock.RLock() // no child may inherit them before they are marked
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("make a connection: %w", err)
	}
	file := os.NewFile(uintptr(fds[0]), "control")
	theirs := os.NewFile(uintptr(fds[1]), "control")
	conn, err := net.FileConn(file)
	_ = file.Close()
	ours, ok := conn.(*net.UnixConn)
	if err != nil || !ok {
		return nil, nil, errors.Join(fmt.Errorf("make a connection: %w", err), theirs.Close())
	}
	return ours, theirs, nil
}
