package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/plan-engine/plan/internal/plainfile"
	"github.com/plan-engine/plan/internal/scratch"
	"github.com/plan-engine/plan/worktree/git"
)

// Holding is the repository, whose git processes keep a file open: its lock is held
// until the last of them has ended, also when this process was killed.
func (r *Repo) Holding(file *os.File) *Repo {
	held := *r
	held.git = held.git.Holding(file)
	return &held
}

// Adds reports whether a linked work tree has something that a tree does not have:
// one that was not made, or not removed, to its end may lack files. Git writes the
// index once it has written all files: where there is none, a file of the tree may
// have been cut short. What git ignores does not count. Avoid is as for [Open].
func Adds(ctx context.Context, dir, tree string, avoid ...func(path string) bool) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return true, fmt.Errorf("look into a work tree: %w", err)
	}
	if len(entries) == 0 || len(entries) == 1 && entries[0].Name() == ".git" {
		return false, nil
	}
	r, err := OpenOwn(ctx, dir, avoid...)
	if err != nil {
		return true, err
	}
	now, err := r.Tree(ctx)
	if err != nil || now == tree {
		return now != tree, err
	}
	without := "d"
	if _, err := os.Lstat(filepath.Join(r.gitDir, "index")); errors.Is(err, fs.ErrNotExist) {
		without = "dm"
	}
	out, err := r.diffTree(ctx, tree, now, "--name-only", "--no-renames", "--diff-filter="+without)
	if err != nil {
		return true, fmt.Errorf("compare a work tree: %w", err)
	}
	return out != "", nil
}

// LeftMoves are the folders of moves at the top of a work tree. They are of processes
// that died, unless one holds the tree.
func LeftMoves(root string) []string {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if dir := filepath.Join(root, e.Name()); strings.HasPrefix(e.Name(), stagePrefix) && isStage(dir) {
			out = append(out, dir)
		}
	}
	return out
}

// isStage reports whether a folder is one of a move, by the file that [newMover] makes
// first and [removeStage] removes last: without it, or with nothing in it, there is nothing else.
func isStage(dir string) bool {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return false
	}
	text, err := plainfile.Read(filepath.Join(dir, ".gitignore"))
	if err == nil && len(text) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return string(text) == stageIgnore
	}
	in, err := os.ReadDir(dir)
	return err == nil && (len(in) == 0 || len(in) == 1 && in[0].Name() == ".gitignore")
}

// removeStage removes the folder of a move. Git ignores it until all else in it is gone.
func removeStage(root *os.Root, stage string) error {
	for _, part := range []string{"new", "old", ""} {
		if err := root.RemoveAll(path.Join(stage, part)); err != nil {
			return err //nolint:wrapcheck // names the path
		}
	}
	return nil
}

// DropMove removes one of [LeftMoves], while the caller holds the tree.
func DropMove(dir string) error {
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	return errors.Join(removeStage(root, filepath.Base(dir)), root.Close())
}

// HasBranch reports whether there is a branch of that name, and whether all that is
// on it is at base or on HEAD, too.
func (r *Repo) HasBranch(ctx context.Context, branch, base string) (there, elsewhere bool, err error) {
	_, err = r.run(ctx, "rev-parse", "-q", "--verify", "refs/heads/"+branch)
	var ge *git.Error
	if errors.As(err, &ge) && ge.Code == 1 {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("look for branch %s: %w", branch, err)
	}
	for _, into := range []string{base, "HEAD"} {
		if into == "" {
			continue
		}
		if _, err := r.run(ctx, "merge-base", "--is-ancestor", "refs/heads/"+branch, into); err == nil {
			return true, true, nil
		}
	}
	return true, false, nil
}

// DropLeft removes a linked work tree that was not made, or not removed, to its end,
// and what git has in its list of it. The caller has made sure that nothing in it is
// needed.
func (r *Repo) DropLeft(ctx context.Context, dir string) error {
	if link := r.linkOf(dir); link != "" { // git locks it while it makes it
		if err := os.Remove(filepath.Join(link, "locked")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget work tree %q: %w", dir, err)
		}
	}
	_ = r.removeTree(ctx, dir) // git may not take it for one
	if err := scratch.Remove(dir); err != nil {
		return err
	}
	if _, err := r.run(ctx, "worktree", "prune"); err != nil {
		return fmt.Errorf("forget work tree %q: %w", dir, err)
	}
	return nil
}

// DropBranch removes a branch if all that is on it is at base or on HEAD, too, and
// reports whether it is gone.
func (r *Repo) DropBranch(ctx context.Context, branch, base string) (bool, error) {
	there, elsewhere, err := r.HasBranch(ctx, branch, base)
	if err != nil || !there || !elsewhere {
		return err == nil && !there, err
	}
	err = r.onRefs(ctx, git.Call{
		Dir:  r.root,
		Args: []string{"branch", "-q", "-D", "--", branch},
	}, branch)
	return err == nil, nil //nolint:nilerr // it is checked out elsewhere, and stays
}

// linkOf is the entry of git's own list of work trees for the one in dir, "" where there
// is none. One of its name that says nothing of where its tree is was cut off by a loss of
// power while git made it.
func (r *Repo) linkOf(dir string) string {
	links, err := os.ReadDir(filepath.Join(r.common, "worktrees"))
	if err != nil {
		return ""
	}
	for _, l := range links {
		link := filepath.Join(r.common, "worktrees", l.Name())
		text, err := plainfile.Read(filepath.Join(link, "gitdir"))
		tree := strings.TrimRight(string(text), "\n")
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
		case filepath.Dir(tree) == dir, tree == "" && l.Name() == filepath.Base(dir):
			return link
		}
	}
	return ""
}

// HasWorkTree reports whether a linked work tree is there, or git has it in its list.
func (r *Repo) HasWorkTree(dir string) bool {
	_, err := os.Lstat(dir)
	return !errors.Is(err, fs.ErrNotExist) || r.linkOf(dir) != ""
}
