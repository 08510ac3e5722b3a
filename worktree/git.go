package worktree

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/plan-engine/plan/sandbox"
)

// settings go before every git command: nothing of the repository's own runs
// in the background or on the side, and output does not depend on taste.
var settings = []string{
	"core.hooksPath=/dev/null",
	"core.fsmonitor=false",
	"gc.auto=0",
	"maintenance.auto=false",
	"core.quotePath=false",
	"core.safecrlf=false",
	"core.splitIndex=false",
	"core.logAllRefUpdates=false",
	"advice.addEmbeddedRepo=false",
	"diff.suppressBlankEmpty=false",
}

// inherited are the only GIT_ variables that git gets from outside: where the
// user's and the system's settings are, where looking for .git ends, and who
// the user is. The others would point it at another repository or index.
var inherited = []string{
	"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH",
	"GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_LFS_SKIP_SMUDGE",
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
}

// gitEnv is the environment that git runs in.
func gitEnv(environ []string) []string {
	env := slices.DeleteFunc(sandbox.CleanEnv(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, "GIT_") && !slices.Contains(inherited, name) || name == "LC_ALL"
	})
	return append(env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0")
}

// program is the git binary with its environment.
type program struct {
	path string
	env  []string
}

// call is one git command.
type call struct {
	dir   string
	env   []string // on top of the program's
	stdin string
	args  []string
}

// outputGrace is how long git's output may still be open once git has ended.
// Git leaves nothing behind that holds it, but any other child that is just
// being forked does until it runs a program of its own, and on a machine where
// hundreds of jobs want the processor that can take seconds.
const outputGrace = time.Minute

// run runs git to its end and returns what it wrote to stdout. When ctx ends
// first, git and its children are killed and the error wraps the cause.
func (p program) run(ctx context.Context, c call) (string, error) {
	args := make([]string, 0, 2*len(settings)+len(c.args))
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, p.path, append(args, c.args...)...)
	cmd.Dir = c.dir
	cmd.Env = append(slices.Clone(p.env), c.env...)
	cmd.Stdin = strings.NewReader(c.stdin)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	sandbox.OwnGroup(cmd)
	cmd.WaitDelay = outputGrace
	err := cmd.Run()
	if err == nil {
		return stdout.String(), nil
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("git %s: %w", c.args[0], context.Cause(ctx))
	}
	return "", &gitError{
		verb:   c.args[0],
		code:   cmd.ProcessState.ExitCode(),
		stdout: stdout.String(),
		stderr: stderr.String(),
		err:    err,
	}
}

// run runs git in the root and strips the newline that ends its output, and
// only that one: a path may end in one as well.
func (r *Repo) run(ctx context.Context, args ...string) (string, error) {
	out, err := r.git.run(ctx, call{dir: r.root, args: args})
	return strings.TrimSuffix(out, "\n"), err
}

// gitError is a git command that failed.
type gitError struct {
	verb   string
	code   int
	stdout string // of commands that say more with their status
	stderr string
	err    error
}

// Error gives git's own first words about what went wrong.
func (e *gitError) Error() string {
	for line := range strings.Lines(e.stderr) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "warning:") && !strings.HasPrefix(line, "hint:") {
			return fmt.Sprintf("git %s: %s", e.verb, line)
		}
	}
	return fmt.Sprintf("git %s: %v", e.verb, e.err)
}

// Unwrap returns the error of the process.
func (e *gitError) Unwrap() error { return e.err }

// readOnly reports whether git failed because it may not write to the
// repository, as opposed to not being allowed to read a file.
func (e *gitError) readOnly() bool {
	has := func(s string) bool { return strings.Contains(e.stderr, s) }
	return has("Read-only file system") || has("insufficient permission for adding an object") ||
		has("cannot lock ref") && has("unable to create directory") ||
		has("Permission denied") && (has("unable to create") || has("Unable to create"))
}

// splitNUL splits the output of a command run with -z.
func splitNUL(out string) []string {
	out = strings.TrimSuffix(out, "\x00")
	if out == "" {
		return nil
	}
	return strings.Split(out, "\x00")
}

// joinNUL makes the input of a command that reads NUL-terminated paths.
func joinNUL(paths []string) string {
	return strings.Join(paths, "\x00") + "\x00"
}
