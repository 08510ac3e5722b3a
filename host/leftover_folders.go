package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/plan-engine/plan/internal/scratch"
	"github.com/plan-engine/plan/internal/subpath"
	"github.com/plan-engine/plan/worktree"
)

// temporary are private folders: in the system's temporary folder, or in the git
// directory of a work tree that holds this one.
func (l *leftovers) temporary(ctx context.Context) ([]Leftover, error) {
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		temp = os.TempDir()
	}
	out := folders(temp, "temporary folder", scratch.Temporary()...)
	seen := map[string]bool{}
	for _, r := range l.runs {
		if seen[r.Repo] || !subpath.Within(r.Repo, temp) {
			continue
		}
		seen[r.Repo] = true
		if repo, err := worktree.Open(ctx, r.Repo, l.avoid); err == nil {
			out = append(out, folders(repo.GitDirs()[0], "temporary folder", scratch.View, scratch.Index)...)
		}
	}
	return out, nil
}

func (l *leftovers) clones(context.Context) ([]Leftover, error) {
	return folders(filepath.Join(l.paths.Home, clones), "clone", scratch.Clone), nil
}

func (l *leftovers) drafts(context.Context) ([]Leftover, error) {
	return folders(filepath.Join(l.paths.Skills, "auto"), "draft", scratch.Draft), nil
}

func (l *leftovers) layers(context.Context) ([]Leftover, error) {
	return folders(filepath.Join(l.paths.Home, "caches"), "layer of a build cache", scratch.Layer, scratch.Probe), nil
}

// folders are those of some prefixes that no process uses.
func folders(in, kind string, prefixes ...string) (out []Leftover) {
	for _, prefix := range prefixes {
		for _, dir := range scratch.Left(in, prefix) {
			out = append(out, Leftover{
				Kind:  kind,
				Name:  dir,
				Bytes: sizeOf(dir),
				remove: func(context.Context) error {
					if !scratch.RemoveLeft(dir) {
						return errors.New("it could not be removed, or a process uses it again")
					}
					return nil
				},
			})
		}
	}
	return out
}

// moves are the folders in work trees in which new contents waited for their names when
// a process died. One whose files had begun to move is not: the next command that works
// in that tree finishes it.
func (l *leftovers) moves(ctx context.Context) (out []Leftover, err error) {
	seen := map[string]bool{}
	look := func(root string) {
		if seen[root] || root == "" {
			return
		}
		seen[root] = true
		for _, dir := range worktree.LeftMoves(root) {
			left := Leftover{
				Kind:   "folder of a move",
				Name:   dir,
				Bytes:  sizeOf(dir),
				remove: func(ctx context.Context) error { return l.dropMove(ctx, root, dir) },
			}
			if hold, err := l.holdOf(ctx, root); err == nil {
				_, begun := os.Lstat(hold.Intent())
				if hold.Close() == nil && begun != nil {
					out = append(out, left)
				}
			}
		}
	}
	for _, r := range l.runs {
		look(r.Repo)
		look(filepath.Join(l.paths.Worktrees, string(r.ID)))
	}
	return out, nil
}

// holdOf holds a work tree, without a look at its repository.
func (l *leftovers) holdOf(ctx context.Context, root string) (*worktree.Hold, error) {
	return worktree.HoldPlace(ctx, root, l.paths.Locks, worktree.Holder{PID: os.Getpid()})
}

// dropMove removes such a folder while no other process works in the tree.
func (l *leftovers) dropMove(ctx context.Context, root, dir string) (err error) {
	hold, err := l.holdOf(ctx, root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hold.Close()) }()
	if _, begun := os.Lstat(hold.Intent()); begun == nil {
		return errors.New("a move in this tree has begun; the next command that works in it finishes that")
	}
	return worktree.DropMove(dir)
}
