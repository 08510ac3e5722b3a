package sandbox

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// direct runs tasks as children of this process.
type direct struct{}

// ready implements spawner.
func (direct) ready(context.Context) error { return nil }

// child is the first process of a task that is a child of this process. What
// left the group is known as long as those that it comes from live.
type child struct {
	pid   int
	quits quitQueue
}

// query implements queryable.
func (c *child) query(_ context.Context, a taskQuery) (taskStatus, error) {
	all, err := processes()
	if err != nil {
		return taskStatus{}, err
	}
	return c.quits.answer(a, c.pid, all, groupAndBelow(all, c.pid)), nil
}

// spawn implements spawner.
func (direct) spawn(ctx context.Context, t task, w *watch) (ending, error) {
	cmd := exec.CommandContext(ctx, t.Path)
	cmd.Args = t.Args
	cmd.Dir = t.Dir
	cmd.Env = t.Env
	from, to, err := os.Pipe() // one, because both outputs are the same
	if err != nil {
		return ending{}, err //nolint:wrapcheck // notStarted says what it was for
	}
	cmd.Stdout, cmd.Stderr = to, to
	stopped := OwnGroup(cmd)
	dieWithParent(cmd)

	// Pdeathsig fires when the thread that forked ends, not the process. While
	// the thread is locked no other goroutine can end it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	_ = to.Close() // the children have it
	if err != nil {
		_ = from.Close()
		return ending{}, err //nolint:wrapcheck // notStarted says what it was for
	}
	defer func() { _ = from.Close() }()
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(w, from)
	}()
	w.begin(ctx, &child{pid: cmd.Process.Pid})
	waitErr := cmd.Wait()
	asked := w.end(ctx, read)
	_ = killGroup(cmd.Process.Pid) // what the shell left in the background
	drain(from, read, stopped() || asked)
	if cmd.ProcessState == nil {
		return ending{}, fmt.Errorf("wait for it: %w", waitErr)
	}
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ending{code: exitCode(status), stopped: stopped()}, nil
}

// drain waits until what a task printed was read. On a busy machine the reading
// goroutine may come late, and nothing is to be lost for that.
func drain(from *os.File, read <-chan struct{}, stopped bool) {
	patience := drainGrace
	if stopped {
		patience = pipeGrace
	}
	_ = from.SetReadDeadline(time.Now().Add(patience))
	<-read
}
