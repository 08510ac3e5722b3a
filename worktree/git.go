package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/plan-engine/plan/worktree/git"
)

// run runs git in the root and strips the newline that ends its output, and
// only that one: a path may end in one as well.
func (r *Repo) run(ctx context.Context, args ...string) (string, error) {
	out, err := r.git.Run(ctx, git.Call{Dir: r.root, Args: args})
	return strings.TrimSuffix(out, "\n"), err
}

// UserEnv is what goes into the environment of a command of the user's that calls
// git by itself in the work tree; see [git.Program.UserEnv].
func (r *Repo) UserEnv(ctx context.Context, hooks bool) (env []string, left string, err error) {
	return r.git.UserEnv(ctx, hooks)
}

// Unheeded are the filters and merge drivers of the repository's own settings that
// do not count, since they name programs of the tree.
func (r *Repo) Unheeded(ctx context.Context) ([]string, error) {
	return r.git.Unheeded(ctx)
}

// readOnly reports whether git failed because it may not write to the
// repository, as opposed to not being allowed to read a file.
func readOnly(e *git.Error) bool {
	has := func(s string) bool { return strings.Contains(e.Stderr, s) }
	return has("Read-only file system") || has("insufficient permission for adding an object") ||
		has("cannot lock ref") && has("unable to create directory") ||
		has("Permission denied") && (has("unable to create") || has("Unable to create"))
}

// noRoom reports whether git failed because a disk, or the user's part of it, is full.
func noRoom(e *git.Error) bool {
	return strings.Contains(e.Stderr, "No space left on device") || strings.Contains(e.Stderr, "Disk quota exceeded")
}

// refusedPaths are the files that git did not take into an index, if it failed for
// nothing else.
func refusedPaths(err error) (paths []string) {
	var ge *git.Error
	if !errors.As(err, &ge) {
		return nil
	}
	for line := range strings.Lines(ge.Stderr) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "error: invalid path '"); ok && strings.HasSuffix(name, "'") {
			paths = append(paths, strings.TrimSuffix(name, "'"))
			continue
		}
		if line != "fatal: adding files failed" && !strings.HasPrefix(line, "warning: ") &&
			(len(paths) == 0 || line != fmt.Sprintf("error: unable to add '%s' to index", paths[len(paths)-1])) {
			return nil
		}
	}
	return paths
}

// unwritten finds out what git does not say of a file that it could not write: a
// file in the same directory meets the same.
func unwritten(err error, dir string) error {
	var ge *git.Error
	if !errors.As(err, &ge) || noRoom(ge) || !strings.Contains(ge.Stderr, "unable to write file") {
		return err
	}
	const enough = 1 << 20 // less than that is as good as no room
	f, cause := os.CreateTemp(dir, ".plan-write-*")
	if cause == nil {
		_, cause = f.Write(make([]byte, enough))
		cause = errors.Join(cause, f.Close(), os.Remove(f.Name()))
	}
	var why syscall.Errno
	if errors.As(cause, &why) {
		return fmt.Errorf("%w (%w)", why, err)
	}
	return err
}

// unreadable reports whether git failed because it may not read a file.
func unreadable(e *git.Error) bool {
	return strings.Contains(e.Stderr, "Permission denied") || strings.Contains(e.Stderr, "unable to index file")
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
