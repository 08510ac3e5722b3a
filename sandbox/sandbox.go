// Package sandbox runs children: shell commands in a process group of their
// own, with a clean environment, a time limit and a bounded output, in the
// open or behind a [Wall].
//
// A command ends with everything it started in its process group: when the
// shell exits, when time runs out or when the context ends, the whole group
// is killed. What leaves the group (setsid, or bash's "set -m") lives until the
// wall is closed; without a wall it is out of reach. A command that hangs can be
// told from one that works, and be asked where it stands before it is killed.
//
// What commands may do behind a wall is a [Policy]; how much of it the kernel
// enforces is a [Level], which [Try] and [Strongest] find out. A wall is this
// same program started again, so main calls [Enter] first.
//
// The package must not know git, models, tools or the journal: it is told what
// to run and says what came of it.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/plan-engine/plan/internal/oneline"
)

const (
	defaultTimeout = 10 * time.Minute
	// drainGrace is how long output is still read once the shell and its group are
	// gone: until its end, unless something outside the group holds the pipe open.
	drainGrace = 2 * time.Second
	// pipeGrace is the same for a command that was stopped.
	pipeGrace = 250 * time.Millisecond

	exitTimedOut = 124 // as timeout(1) has it
	exitNoExec   = 126 // as shells have it for a command that cannot be run
	exitSignal   = 128 // plus the number of the signal
)

// Config says how children run.
type Config struct {
	// Env is the environment of every child, as os.Environ gives it. It is
	// cleaned with CleanEnv before use. Default os.Environ().
	Env []string
	// Path is where the shell is looked for, as PATH has it: folders that other
	// users may write to should not be in it. Default: PATH of Env.
	Path string
	// Own leaves credentials in it, for commands that the user wrote to be run
	// in the user's name: it is made with OwnEnv instead.
	Own bool
	// Set is set for every child on top of that, as NAME=value.
	Set []string
	// Swaps are what every child sees in the place of other folders. Where that cannot
	// be had, none starts, and the error of Run is ErrNoSwap.
	Swaps []Swap
	// Timeout is used for a command that names none. Default 10 minutes.
	Timeout time.Duration
	// Now is the clock that durations are measured with. Default time.Now.
	Now func() time.Time
}

// Shell runs shell commands. It is safe for concurrent use.
type Shell struct {
	path    string
	args    []string // before the command line
	env     []string
	timeout time.Duration
	now     func() time.Time
	spawner spawner
}

// New makes a shell. It takes bash from cfg.Path, else sh,
// else fails; Path says which one it took.
func New(cfg Config) (*Shell, error) {
	if cfg.Env == nil {
		cfg.Env = os.Environ()
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	env := CleanEnv(cfg.Env)
	if cfg.Own {
		env = OwnEnv(cfg.Env)
	}
	s := &Shell{
		env:     append(env, cfg.Set...),
		timeout: cfg.Timeout,
		now:     cfg.Now,
		spawner: direct{},
	}
	if len(cfg.Swaps) > 0 {
		s.spawner = newSwapped(cfg.Swaps)
	}
	if cfg.Path == "" {
		cfg.Path = lookupEnv(s.env, "PATH")
	}
	for _, name := range []string{"bash", "sh"} {
		if path, ok := LookPath(name, cfg.Path); ok {
			s.path, s.args = path, []string{"-o", "pipefail", "-c"}
			break
		}
	}
	if s.path == "" {
		return nil, errors.New("sandbox: neither bash nor sh is in PATH; install bash")
	}
	if filepath.Base(s.path) == "sh" && !s.takesPipefail() {
		s.args = []string{"-c"}
	}
	return s, nil
}

// Path is the shell that runs the commands.
func (s *Shell) Path() string { return s.path }

// Pipefail reports whether a pipe that fails in any stage fails as a whole.
// It is false only where there is no bash and sh does not know the option.
func (s *Shell) Pipefail() bool { return len(s.args) > 1 }

// takesPipefail tries the option: some kinds of sh refuse to start with it.
func (s *Shell) takesPipefail() bool {
	cmd := exec.Command(s.path, append(slices.Clone(s.args), ":")...) //nolint:noctx // ends at once
	cmd.Env = s.env
	return cmd.Run() == nil
}

// Command is one shell command.
type Command struct {
	Line    string        // passed to bash -c with pipefail on
	Dir     string        // working directory; "" is the caller's
	Timeout time.Duration // 0 means the shell's
	// Quiet is how long the command may neither print anything nor use the
	// processor, but for what a runtime needs that waits. Then it hangs, and is
	// stopped as if its time were up. 0 means for ever.
	Quiet time.Duration
	// Grace is for a command that is stopped because it hangs or its time is up:
	// so long its processes may say where they stand, as Go and the JVM do when
	// they are sent SIGQUIT, before they are killed. Children are sent it first.
	// 0 means that all are killed at once. It is not for a command whose context
	// ended.
	Grace time.Duration
	// Input is what it reads from its standard input. Default: nothing.
	Input []byte
	// Feed is what it reads after Input, as that comes: for a program that is spoken
	// with. The caller ends it when Run returns, if not before.
	Feed io.Reader
	// Errors, if it is set, is called with what the command prints to its standard
	// error, which is then not part of the output. The rules of Output hold.
	Errors func(chunk []byte)
	// Output is called with each piece of output as it comes; nil is fine.
	// The calls come one after the other, the last before Run returns, and the
	// piece is valid only during the call.
	Output func(chunk []byte)
}

// errors is where its standard error goes, nil for where its output goes.
func (c Command) errors() io.Writer {
	if c.Errors == nil {
		return nil
	}
	return writerFunc(c.Errors)
}

// writerFunc takes all that is written to it.
type writerFunc func([]byte)

// Write implements io.Writer.
func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

// Result is what came of a command.
type Result struct {
	// ExitCode is the true status of the command: 124 when it ran out of time,
	// 128+n when signal n ended it.
	ExitCode int
	// Signaled says that a signal ended it which was not sent to stop it, and not that
	// it exited with such a status.
	Signaled bool
	// Output is stdout and stderr, interleaved as they came, whole up to a safety
	// bound. Behind a wall, lines in brackets follow that say which bounds the
	// command met and, if it failed, what it names that the wall hides.
	Output []byte
	// TimedOut says that it was stopped: its time was up, or it hung.
	TimedOut bool
	Hung     bool
	// Running lists what was still running when it was stopped: at most ten
	// command lines, on a line each, children before their parents.
	Running  []string
	Duration time.Duration
}

// Run runs the command to its end. A command that fails is a Result; an error
// means that it could not be started, or that ctx ended (the whole process
// group is then killed first). When ctx ended the Result holds what there was
// until then, and the error wraps both ctx.Err and the cause. A command that
// ended by itself just before ctx did is a Result like any other.
//
// Pdeathsig, where the system has it, kills the shell
// when this process dies.
func (s *Shell) Run(ctx context.Context, c Command) (Result, error) {
	if problem := lineProblem(c.Line); problem != "" {
		return Result{ExitCode: exitNoExec, Output: []byte(problem)}, nil
	}
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = s.timeout
	}
	if err := s.spawner.ready(ctx); err != nil { // what it takes is not the command's time
		return s.notStarted(ctx, c, Result{}, err)
	}
	limited, cancel := context.WithCancel(ctx)
	defer cancel()

	out := &capture{live: c.Output}
	w := newWatch(c, timeout, cancel, out)
	t := task{
		Path: s.path,
		Args: append([]string{s.path}, append(slices.Clone(s.args), escapeLine(c.Line))...),
		Dir:  c.Dir,
		Env:  s.env,
	}
	start := s.now()
	end, err := s.spawner.spawn(limited, t, w)
	if wall, ok := s.spawner.(*Wall); ok && end.code != 0 {
		end.note += wall.unseenNote(out.bytes())
	}
	if end.note != "" && c.Output != nil {
		c.Output([]byte(end.note))
	}
	res := Result{
		Output:   append(onOwnLine(out.bytes(), end.note), end.note...),
		Duration: s.now().Sub(start),
		ExitCode: end.code,
		Signaled: end.signaled,
	}
	killed := end.stopped && end.code == exitSignal+int(syscall.SIGKILL)
	switch {
	case err != nil:
		return s.notStarted(ctx, c, res, err)
	case killed && ctx.Err() != nil:
		return res, cancelError(ctx, c.Line)
	case killed || w.quitSent:
		res.ExitCode = exitTimedOut
		res.Signaled = false
		res.TimedOut = true
		res.Hung = w.hung
		res.Running = w.running
	}
	return res, nil
}

// spawner starts a task, copies what it prints to its watch, lets that watch it
// and waits for its end. When ctx ends it kills the task with its process group.
type spawner interface {
	// ready prepares what tasks run in, once.
	ready(ctx context.Context) error
	spawn(ctx context.Context, t task, w *watch) (ending, error)
}

// ending is how a task ended.
type ending struct {
	code     int    // its exit status, as a shell has it
	signaled bool   // a signal ended it
	stopped  bool   // ctx ended first, and it was killed
	note     string // lines about which bounds it met, "" if none
}

// notStarted sorts the reasons for which a command did not start.
func (s *Shell) notStarted(ctx context.Context, c Command, res Result, err error) (Result, error) {
	switch {
	case ctx.Err() != nil:
		return res, cancelError(ctx, c.Line)
	case errors.Is(err, syscall.E2BIG):
		// The author of the line can do something about it, so it is theirs.
		text := fmt.Sprintf("the command line is %d bytes long, more than the system takes; "+
			"put the contents into a file first\n", len(c.Line))
		return Result{ExitCode: exitNoExec, Output: []byte(text)}, nil
	case errors.Is(err, syscall.EAGAIN):
		text := fmt.Sprintf("the command could not be started: what earlier ones left running uses up all "+
			"the processes there may be; end it first, or start less in the background\n%s", res.Output)
		return Result{ExitCode: exitNoExec, Output: []byte(text)}, nil
	}
	return res, fmt.Errorf("run command %q in %q with %s: %w", oneline.Cut(c.Line, maxLine), c.Dir, s.path, err)
}

// OwnGroup makes cmd, which must come from exec.CommandContext and not have
// been started, run in a process group of its own that is killed as a whole
// when the context ends. Wait then returns soon even if something outside the
// group holds the output open. The result reports whether that kill happened.
func OwnGroup(cmd *exec.Cmd) (stopped func() bool) {
	var hit atomic.Bool
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = pipeGrace
	cmd.Cancel = func() error {
		err := killGroup(cmd.Process.Pid)
		hit.Store(err == nil)
		return err
	}
	return hit.Load
}

// killGroup kills every process of the group. A group that is gone is
// os.ErrProcessDone, as exec.Cmd wants it.
func killGroup(pgid int) error {
	err := syscall.Kill(-pgid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	if err != nil {
		return fmt.Errorf("kill process group %d: %w", pgid, err)
	}
	return nil
}

// exitCode is the status a shell would report for the process.
func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return exitSignal + int(status.Signal())
	}
	return status.ExitStatus()
}

// cancelError is the error of a command that ctx ended.
func cancelError(ctx context.Context, line string) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return fmt.Errorf("run command %q: %w", oneline.Cut(line, maxLine), cause)
	}
	return fmt.Errorf("run command %q: %w: %w", oneline.Cut(line, maxLine), err, cause)
}

// lineProblem says, for the author of the line, why no shell can be given it.
func lineProblem(line string) string {
	if strings.ContainsRune(line, 0) {
		return "the command line holds a NUL byte, which no command can; write it as an escape such as \\0\n"
	}
	return ""
}

// escapeLine keeps a line that starts like an option from being read as one.
func escapeLine(line string) string {
	if strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+") {
		return " " + line
	}
	return line
}

// maxLine bounds how much of a command line an error quotes.
const maxLine = 80

// LookPath finds an executable in a PATH, which need not be ours.
func LookPath(name, dirs string) (string, bool) {
	for _, dir := range filepath.SplitList(dirs) {
		if !filepath.IsAbs(dir) {
			continue // a shell must not come from a folder that depends on the working directory
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, true
		}
	}
	return "", false
}
