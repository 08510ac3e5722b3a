package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plan-engine/plan/internal/subpath"
	"github.com/plan-engine/plan/worktree/git"
)

// How long a lock of a private ref stands before it is taken for one of a git that was
// killed or lost its power. Git holds one for as long as it takes to write a line.
const (
	lockPatience = time.Second
	lockPoll     = 50 * time.Millisecond
)

// onRefs asks git to change refs. A git that died left a file in the way of every later
// one, and nothing else takes that away: where it locks a private ref, which plan alone
// writes and only under the lock of its run or its tree, it goes. So does one of a branch
// that the caller makes, moves or removes; "" for none.
func (r *Repo) onRefs(ctx context.Context, c git.Call, branch string) error {
	for {
		_, err := r.git.Run(ctx, c)
		lock := lockInTheWay(err)
		if lock == "" {
			return err
		}
		if !r.isOwn(lock, branch) {
			return fmt.Errorf("%w; if no git is at work there, one that was killed has left it: remove %s", err, lock)
		}
		if !abandoned(ctx, lock) {
			return err
		}
		if rerr := os.Remove(lock); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
			return errors.Join(err, rerr)
		}
	}
}

// lockInTheWay is the lock that stood in git's way, "" if none did.
func lockInTheWay(err error) string {
	var ge *git.Error
	if !errors.As(err, &ge) {
		return ""
	}
	_, rest, _ := strings.Cut(ge.Stderr, "Unable to create '")
	path, _, found := strings.Cut(rest, "': File exists")
	if !found || !strings.HasSuffix(path, ".lock") || path != filepath.Clean(path) {
		return ""
	}
	return path
}

// isOwn reports whether a lock is of a private ref, or of the branch.
func (r *Repo) isOwn(path, branch string) bool {
	refs := filepath.Join(r.common, "refs")
	ofBranch := branch != "" && path == filepath.Join(refs, "heads", filepath.FromSlash(branch))+".lock"
	ofHead := branch != "" && r.gitDir != r.common && path == filepath.Join(r.gitDir, "HEAD.lock")
	return ofBranch || ofHead || subpath.Within(filepath.Join(refs, "plan"), path)
}

// abandoned waits, and reports whether a file is gone then or still the same one.
func abandoned(ctx context.Context, path string) bool {
	first, err := os.Lstat(path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockPatience, errLockStands)
	defer cancel()
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return errors.Is(context.Cause(ctx), errLockStands)
		case <-tick.C:
		}
		now, err := os.Lstat(path)
		if errors.Is(err, os.ErrNotExist) {
			return true
		}
		if err != nil || !os.SameFile(first, now) || !now.ModTime().Equal(first.ModTime()) {
			return false
		}
	}
}

var errLockStands = errors.New("a lock stands")
