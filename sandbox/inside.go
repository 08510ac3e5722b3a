package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	cmd   *exec.Cmd
	conn  *net.UnixConn
	life  *os.File      // held open while this process lives
	done  chan struct{} // closed once the process is gone
	soft  bool          // it ends by itself, once it has ended its children
	group *group        // that it runs in; nil where there is none
	errs  bytes.Buffer  // what it said; read after done

	sending sync.Mutex
	mu      sync.Mutex
	next    int64
	waiting map[int64]chan reply // nil once the connection is gone
}

// begin starts cmd as the inside of a wall, tells it what to build, and waits
// until it stands. The descriptors that cmd inherits are its own.
func begin(ctx context.Context, cmd *exec.Cmd, s setup) (*inside, error) {
	ours, theirs, err := pair()
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
	in.life = life
	cmd.ExtraFiles = append([]*os.File{theirs, theirLife}, cmd.ExtraFiles...)
	cmd.Stderr = &in.errs
	cmd.WaitDelay = pipeGrace
	err = in.start()
	_, _ = theirs.Close(), theirLife.Close()
	if err != nil {
		return nil, errors.Join(err, ours.Close(), life.Close())
	}
	if err := in.greet(ctx, s); err != nil {
		in.end()
		if said := strings.TrimSpace(in.errs.String()); said != "" {
			err = fmt.Errorf("%w (%s)", err, said)
		}
		return nil, err
	}
	go in.listen()
	return in, nil
}

// start starts the process from a thread that lives as long as it does,
// because the kernel kills it when the thread that started it ends.
func (in *inside) start() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
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

// greet tells the process what to build and waits for its answer.
func (in *inside) greet(ctx context.Context, s setup) error {
	ctx, cancel := context.WithTimeout(ctx, buildPatience)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = in.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	data, err := frame(s)
	if err != nil {
		return err
	}
	var r reply
	if _, err := in.conn.Write(data); err == nil {
		err = readFrame(in.conn, &r)
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("wait for it: %w", context.Cause(ctx))
		}
		if err != nil {
			return fmt.Errorf("it ended: %w", err)
		}
	} else {
		return fmt.Errorf("tell it what to build: %w", err)
	}
	if !r.Ready {
		return errors.New(r.Error)
	}
	return nil
}

// listen hands replies to those that wait for them.
func (in *inside) listen() {
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
	_ = in.life.Close()
	if !in.soft {
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
	read, write, err := os.Pipe()
	if err != nil {
		return ending{}, fmt.Errorf("make a pipe: %w", err)
	}
	defer func() { _ = read.Close() }()
	id, replied := in.expect()
	if replied == nil {
		_ = write.Close()
		return ending{}, errGone
	}
	err = in.order(order{ID: id, Task: &t}, write)
	_ = write.Close()
	if err != nil {
		return ending{}, fmt.Errorf("tell the sandbox: %w", err)
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(w, read)
	}()
	w.begin(ctx, started{in, id})
	r, end, err := in.await(ctx, id, replied)
	asked := w.end(ctx, copied)
	if asked {
		_ = in.order(order{ID: id, Kill: true}, nil) // if it cannot be told, all of it is gone
	}
	drain(read, copied, end.stopped || asked)
	switch {
	case err != nil:
		return end, err
	case r.Error != "" && r.Errno != 0:
		return end, startError{text: r.Error, errno: r.Errno}
	case r.Error != "":
		return end, errors.New(r.Error)
	}
	end.code = r.Code
	return end, nil
}

// started is a task that the inside was told to start.
type started struct {
	in *inside
	id int64
}

// ask implements watched.
func (s started) ask(ctx context.Context, a ask) (told, error) {
	id, replied := s.in.expect()
	if replied == nil {
		return told{}, errGone
	}
	if err := s.in.order(order{
		ID:  id,
		Of:  s.id,
		Ask: &a,
	}, nil); err != nil {
		return told{}, fmt.Errorf("ask the sandbox: %w", err)
	}
	late := time.NewTimer(killPatience)
	defer late.Stop()
	select {
	case r, ok := <-replied:
		if !ok {
			return told{}, errGone
		}
		if r.Told == nil {
			return told{}, fmt.Errorf("ask the sandbox: %s", r.Error)
		}
		return *r.Told, nil
	case <-late.C:
	case <-ctx.Done():
	}
	s.in.forget(id)
	return told{}, errors.New("the sandbox does not answer")
}

// startError is why a task was not started, told by the inside.
type startError struct {
	text  string
	errno syscall.Errno
}

func (e startError) Error() string { return e.text }
func (e startError) Unwrap() error { return e.errno }

// expect makes room for a reply; the channel is nil if none can come.
func (in *inside) expect() (int64, chan reply) {
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

// forget gives up waiting for a reply.
func (in *inside) forget(id int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.waiting, id)
}

func (in *inside) order(o order, file *os.File) error {
	data, err := frame(o)
	if err != nil {
		return err
	}
	in.sending.Lock()
	defer in.sending.Unlock()
	if file != nil {
		return sendWith(in.conn, data, file)
	}
	_, err = in.conn.Write(data)
	return err //nolint:wrapcheck // run says what it was for
}

// await waits for the end of a task, which is killed when ctx ends.
func (in *inside) await(ctx context.Context, id int64, replied chan reply) (reply, ending, error) {
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
			if err := in.order(order{ID: id, Kill: true}, nil); err != nil {
				_ = in.cmd.Process.Kill()
			}
		case <-late:
			_ = in.cmd.Process.Kill()
			late = nil
		}
	}
}

// pair makes the two ends of a connection.
func pair() (*net.UnixConn, *os.File, error) {
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
