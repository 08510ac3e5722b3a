package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/durable"
	"github.com/plan-engine/plan/internal/failpoint"
)

// lockWords is what the lock of an index has in it that plan itself took: git's own is
// empty or an index. One that stands while the caller holds the tree is of a process
// that died.
const lockWords = "plan moves the branch and the index\n"

// advance moves the branch that is checked out from one commit to the next, whose changes
// are in the files already, and the user's index with it. Until both are done the intent
// says so, and the index is locked. Where the branch stays, so does all else.
func (r *Repo) advance(ctx context.Context, from, to string, changes []delta, intentFile string) error {
	branch, err := r.headRef(ctx)
	if err != nil {
		return err
	}
	if branch == "" {
		branch = "HEAD"
	}
	own := ""
	if r.gitDir != r.common { // a work tree of a run's own, with its branch
		own = strings.TrimPrefix(branch, "refs/heads/")
	}
	if intentFile != "" {
		in := intent{
			Root:   r.root,
			From:   from,
			To:     to,
			Branch: branch,
		}
		if err := in.write(intentFile); err != nil {
			return err
		}
	}
	failpoint.Hit("before a branch moves")
	advanced := false
	err = r.onIndex(ctx, changes, func() error {
		err := r.updateRef(ctx, branch, own, "-m", "plan apply", "HEAD", to, from)
		advanced = err == nil
		failpoint.Hit("before an index follows")
		return err
	})
	if intentFile == "" || err != nil && advanced {
		return err // the next one that holds the tree has the index follow
	}
	return errors.Join(err, dropIntent(intentFile))
}

// onIndex locks the user's index as git does, does what is to be done under the lock,
// and has the index follow the changes of a commit. The caller holds the tree.
func (r *Repo) onIndex(ctx context.Context, changes []delta, do func() error) (err error) {
	index, lock, next := r.inGitDir("index"), r.inGitDir("index.lock"), r.inGitDir("plan-index")
	if err := r.lockIndex(lock); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(lock)) }()
	failpoint.Hit("after the lock of an index")
	defer os.Remove(next) //nolint:errcheck // it has become the index
	if err := errors.Join(removeIfExists(next+".lock"), do()); err != nil {
		return err
	}
	text, err := os.ReadFile(index)
	if err == nil {
		err = os.WriteFile(next, text, 0o600) //nolint:gosec // beside the index
	} else if errors.Is(err, fs.ErrNotExist) {
		err = removeIfExists(next)
	}
	if err != nil {
		return err
	}
	a := area{dir: r.root, index: next}
	follow := r.call(a, indexInfo(changes), "update-index", "-z", "--index-info")
	follow.Index = true
	if _, err := r.git.Run(ctx, follow); err != nil {
		return err
	}
	// It only saves git time later, and fails where files differ.
	refresh := r.call(a, "", "update-index", "-q", "--refresh")
	refresh.Index = true
	_, _ = r.git.Run(ctx, refresh)
	if err := os.Rename(next, index); err != nil {
		return err //nolint:wrapcheck // names the files
	}
	return durable.SyncDir(r.gitDir)
}

func (r *Repo) inGitDir(name string) string { return filepath.Join(r.gitDir, name) }

// removeIfExists removes a file that may be there.
func removeIfExists(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err //nolint:wrapcheck // names the file
	}
	return nil
}

// lockIndex makes the lock, with its words in it from the first instant where the disk
// has links.
func (r *Repo) lockIndex(lock string) error {
	if err := dropOwnLock(lock); err != nil {
		return err
	}
	words := r.inGitDir("plan-index")
	if err := os.WriteFile(words, []byte(lockWords), 0o600); err != nil {
		return err //nolint:wrapcheck // names the file
	}
	if err := durable.SyncFile(words); err != nil {
		return err
	}
	err := os.Link(words, lock)
	err = errors.Join(err, os.Remove(words))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		var file *os.File
		if file, err = os.OpenFile(lock, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			_, err = file.WriteString(lockWords)
			err = errors.Join(err, file.Close())
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("another git works on the index: wait for it, or remove %s if there is none", lock)
	}
	return err
}

// dropOwnLock takes the lock of an index away that a process of plan's left.
func dropOwnLock(lock string) error {
	text, err := os.ReadFile(lock)
	if err == nil && string(text) == lockWords {
		err = os.Remove(lock)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err //nolint:wrapcheck // names the file
}

// finishCommit brings to its end what a process died in while it moved a branch. Where
// the branch was not moved, the change is in the files, and the user's to commit; where
// it was, the index follows. Locks of git's that are left in the way go.
func (r *Repo) finishCommit(ctx context.Context, in intent, file string) (out MergeResult, err error) {
	err = errors.Join(
		dropOwnLock(r.inGitDir("index.lock")),
		removeIfExists(r.inGitDir("plan-index")),
		removeIfExists(r.inGitDir("plan-index.lock")),
	)
	if err != nil {
		return out, err
	}
	for _, lock := range []string{r.inGitDir("HEAD.lock"), r.inBranches(in.Branch)} {
		if _, err := os.Lstat(lock); err != nil || !abandoned(ctx, lock) {
			continue
		}
		if err := removeIfExists(lock); err != nil {
			return out, err
		}
	}
	head, err := r.Head(ctx)
	if err != nil {
		return out, err
	}
	if head == in.To {
		if out, err = r.moveResult(ctx, in.From, in.To); err != nil {
			return out, err
		}
		if err := r.catchUp(ctx, in); err != nil {
			return out, err
		}
	}
	return out, dropIntent(file)
}

// inBranches is the lock of the branch.
func (r *Repo) inBranches(branch string) string {
	return filepath.Join(r.common, filepath.FromSlash(branch)) + ".lock"
}

// catchUp has the index follow a commit in what it has as it was before.
func (r *Repo) catchUp(ctx context.Context, in intent) error {
	changes, err := r.deltas(ctx, in.From, in.To)
	if err != nil {
		return err
	}
	staged, err := r.staged(ctx, in.From)
	if err != nil {
		return err
	}
	changes = slices.DeleteFunc(changes, func(c delta) bool { return slices.Contains(staged, c.path) })
	if len(changes) == 0 {
		return nil
	}
	return r.onIndex(ctx, changes, func() error { return nil })
}
