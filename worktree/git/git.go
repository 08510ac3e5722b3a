// Package git runs the git program, for all rooms and in one way: with an
// environment and settings in which nothing of a work tree is run.
//
// A work tree is written by models, and so may be whatever in a repository names
// programs. What git does on its own for plan therefore reaches no server, asks
// for no password, starts no monitor, hook, pager or editor, and reads from the
// repository's own settings only what names no program, or named one outside the
// tree when the repository was opened. The user's and the system's settings count
// as they are, as far as their files lie outside the tree. Clone and fetch alone
// reach servers, with the user's keys.
//
// The package must not know what a snapshot or a run is.
package git

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan/internal/failpoint"
	"github.com/plan-engine/plan/internal/subpath"
	"github.com/plan-engine/plan/sandbox"
)

// Program is the git binary with its environment.
type Program struct {
	path    string
	env     []string
	users   []string           // the environment that says where keys are kept
	guard   *guard             // nil where no repository is known
	keyless func() confinement // of commands that know of none
	held    *os.File
}

// Call is one git command.
type Call struct {
	Dir   string
	Env   []string // on top of the program's
	Stdin string
	Args  []string // the verb first
	// Remote lets it reach a server, in the user's name; with File, repositories
	// of this machine too.
	Remote, File bool
	// Open says that it works on what was there before any model wrote, or in the
	// user's name: it is not confined, so that filters may fetch what they lack.
	Open bool
	// Writes are further places that it writes to. Those that it works in, and the
	// repository's own, it may.
	Writes []string
	// Reads are further places that it reads.
	Reads []string
	// Index says that the index it writes is not a private one, and is to outlast a
	// loss of power.
	Index bool
	// Out, if it is set, gets what the command writes as it comes; Run then
	// returns nothing.
	Out io.Writer
}

// outputGrace is how long git's output may still be open once git has ended.
// Git leaves nothing behind that holds it, but any other child that is just
// being forked does until it runs a program of its own, and on a machine where
// hundreds of jobs want the processor that can take seconds.
const outputGrace = time.Minute

// Find finds the git program for a work tree, or for none: it is looked for in the
// PATH, and nothing that lies in the tree is looked at, nor does git find it. Avoid is
// as for [PathOutside].
func Find(tree string, avoid ...func(path string) bool) (Program, bool) {
	env := Clear(os.Environ(), tree, avoid...)
	for _, dir := range filepath.SplitList(valueOf(env, "PATH")) {
		path, err := exec.LookPath(filepath.Join(dir, "git"))
		if err == nil && (tree == "" || !Inside(path, tree)) && !anyOf(avoid, path) {
			return newProgram(path, environment(env, tree), env), true
		}
	}
	return Program{}, false
}

func newProgram(path string, env, users []string) Program {
	return Program{
		path:    path,
		env:     env,
		users:   users,
		keyless: sync.OnceValue(func() confinement { return keyless(users) }),
	}
}

// With is the program with more in its environment.
func (p Program) With(env ...string) Program {
	p.env = append(slices.Clone(p.env), env...)
	return p
}

// Holding is the program whose processes keep a file open: its lock is held until
// the last of them has ended.
func (p Program) Holding(file *os.File) Program {
	p.held = file
	return p
}

// HoldingLike is another program, whose processes keep open what those of this one do.
func (p Program) HoldingLike(other Program) Program { return other.Holding(p.held) }

// Version is what git says of itself.
func (p Program) Version(ctx context.Context) (string, error) {
	out, err := p.Run(ctx, Call{Dir: "/", Args: []string{"version"}})
	return strings.TrimSpace(out), err
}

// Run runs git to its end and returns what it wrote to stdout. When ctx ends
// first, git and its children are killed and the error wraps the cause. In a
// guarded repository it is a [*ChangedError], and git is not asked, where what
// leads to the repository's data is not what it was.
func (p Program) Run(ctx context.Context, c Call) (string, error) {
	if p.guard == nil {
		return p.start(ctx, c, nil, p.granted(c, new(p.keyless())))
	}
	over, within, err := p.guard.overrides(ctx)
	if err != nil {
		return "", fmt.Errorf("git %s: %w", c.Args[0], err)
	}
	if barred := p.guard.leading(); c.Remote && len(barred) > 0 {
		return "", fmt.Errorf("git %s: %w", c.Args[0], &LeadsError{Names: barred})
	}
	return p.start(ctx, c, over, p.granted(c, within))
}

// start runs git with settings in place of the repository's own, confined if within
// is set.
func (p Program) start(ctx context.Context, c Call, over []setting, within *confinement) (string, error) {
	args := make([]string, 0, 2*len(settings)+2+len(c.Args))
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	switch {
	case failpoint.Unsynced():
		args = append(args, "-c", "core.fsync=none")
	case c.Index:
		args = append(args, "-c", "core.fsync=all")
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, p.path, append(args, c.Args...)...)
	cmd.Dir = c.Dir
	cmd.Env = slices.Concat(p.env, networkEnv(c.Remote, c.File), environ(over), c.Env)
	cmd.Stdin = strings.NewReader(c.Stdin)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if c.Out != nil {
		cmd.Stdout = c.Out
	}
	if p.held != nil {
		cmd.ExtraFiles = []*os.File{p.held}
	}
	sandbox.OwnGroup(cmd)
	cmd.WaitDelay = outputGrace
	run := func() error {
		if err := cmd.Start(); err != nil {
			return err //nolint:wrapcheck // as cmd.Run has it
		}
		go stopWaiting(ctx, cmd.Process.Pid, stop)
		return cmd.Wait()
	}
	var err error
	if within == nil {
		err = run()
	} else {
		err = sandbox.Confined(*within, run)
	}
	if err == nil {
		return stdout.String(), nil
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("git %s: %w", c.Args[0], context.Cause(ctx))
	}
	return "", &Error{
		Verb:   c.Args[0],
		Code:   cmd.ProcessState.ExitCode(), // -1 if it was not started
		Stdout: stdout.String(),
		Stderr: stderr.String(),
		err:    err,
	}
}

// Error is a git command that failed.
type Error struct {
	Verb   string
	Code   int
	Stdout string // of commands that say more with their status
	Stderr string
	err    error
}

// Error gives git's own first words about what went wrong.
func (e *Error) Error() string {
	for line := range strings.Lines(e.Stderr) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "warning:") && !strings.HasPrefix(line, "hint:") {
			return fmt.Sprintf("git %s: %s", e.Verb, line)
		}
	}
	return fmt.Sprintf("git %s: %v", e.Verb, e.err)
}

// Unwrap returns the error of the process.
func (e *Error) Unwrap() error { return e.err }

// Around is the work tree that an absolute path seems to be in, "" for none. It
// asks no git.
func Around(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// Inside reports whether a path lies in one of some directories, whatever links
// lead there. What the names alone say costs no look at a disk.
func Inside(path string, dirs ...string) bool {
	within := func(dir string) bool { return subpath.Within(dir, path) }
	if slices.ContainsFunc(dirs, within) {
		return true
	}
	real := resolved(path)
	return slices.ContainsFunc(dirs, func(dir string) bool {
		if subpath.Within(dir, real) {
			return true
		}
		dir = resolved(dir)
		return within(dir) || subpath.Within(dir, real)
	})
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
