package sandbox

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
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
	procs, err := processes()
	if err != nil {
		return taskStatus{}, err
	}
	return c.quits.answer(a, c.pid, procs, groupAndBelow(procs, c.pid)), nil
}

// spawn implements spawner.
func (d direct) spawn(ctx context.Context, t task, w *watch) (ending, error) {
	return d.run(ctx, t, w, func(*exec.Cmd) func() { return func() {} })
}

// run runs a task. Prepare changes how it starts; what it returns is called once the
// task was started, or was not.
func (direct) run(ctx context.Context, t task, w *watch, prepare func(*exec.Cmd) func()) (ending, error) {
	cmd := exec.CommandContext(ctx, t.Path)
	cmd.Args = t.Args
	cmd.Dir = t.Dir
	cmd.Env = t.Env
	p, err := openPipes(w)
	if err != nil {
		return ending{}, err
	}
	defer p.close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.task[0], p.task[1], p.task[2]
	stopped := OwnGroup(cmd)
	dieWithParent(cmd)
	started := prepare(cmd)

	// Pdeathsig fires when the thread that forked ends, not the process. While
	// the thread is locked no other goroutine can end it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	p.handedOver()
	started()
	if err != nil {
		return ending{}, err //nolint:wrapcheck // notStarted says what it was for
	}
	p.copy(w)
	w.begin(ctx, &child{pid: cmd.Process.Pid})
	waitErr := cmd.Wait()
	asked := w.end(ctx, p.copied)
	_ = killGroup(cmd.Process.Pid) // what the shell left in the background
	p.drain(stopped() || asked)
	if cmd.ProcessState == nil {
		return ending{}, fmt.Errorf("wait for it: %w", waitErr)
	}
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ending{
		code:     exitCode(status),
		signaled: status.Signaled(),
		stopped:  stopped(),
	}, nil
}
