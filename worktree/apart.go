package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/plan-engine/plan/internal/plainfile"
	"github.com/plan-engine/plan/worktree/git"
)

// CommonDir is where the data is that the work trees of the repository share.
func (r *Repo) CommonDir() string { return r.common }

// CheckOutApart writes the files of a tree into the empty folder dir, where git finds the
// repository as it does in the work tree: the same HEAD, branches, remotes and settings.
// Its index is one of its own, in the empty folder data, and locked, so that no commit is
// made there by mistake: it would put back all that differs from the tree. What git
// ignores is not there, nor are the files of submodules. Common is where the data of the
// repository is found from there.
func (r *Repo) CheckOutApart(ctx context.Context, tree, dir, data, common string) error {
	if err := areNames(tree); err != nil {
		return fmt.Errorf("write files: %w", err)
	}
	call := git.Call{
		Dir: r.root,
		Env: []string{
			"GIT_DIR=" + r.gitDir,
			"GIT_WORK_TREE=" + dir,
			"GIT_INDEX_FILE=" + filepath.Join(data, "index"),
		},
		Writes: []string{dir, data},
		Args:   []string{"read-tree", "--reset", "-u", tree},
	}
	if _, err := r.filled(ctx, call); err != nil {
		return fmt.Errorf("write the files of %s: %w", tree, err)
	}
	if _, err := os.Lstat(filepath.Join(r.common, "reftable")); err == nil {
		return nil // its HEAD is in no file of its own, and git finds no repository there
	}
	for _, name := range []string{"HEAD", "config.worktree"} {
		text, err := plainfile.Read(filepath.Join(r.gitDir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = write(data, name, string(text))
		}
		if err != nil {
			return fmt.Errorf("show the repository: %w", err)
		}
	}
	return errors.Join(
		os.Mkdir(filepath.Join(data, "index.lock"), 0o700),
		write(data, "commondir", common+"\n"),
		write(dir, ".git", "gitdir: "+data+"\n"),
	)
}

// filled runs a command that writes files. Where large ones cannot be had, it leaves
// their pointers, and says so.
func (r *Repo) filled(ctx context.Context, call git.Call) ([]string, error) {
	_, err := r.git.Run(ctx, call)
	var ge *git.Error
	if !errors.As(err, &ge) || !strings.Contains(ge.Stderr, "lfs") {
		return nil, err
	}
	call.Env = append(call.Env, "GIT_LFS_SKIP_SMUDGE=1")
	if _, again := r.git.Run(ctx, call); again != nil {
		return nil, err
	}
	return []string{"large files (Git LFS) are there as pointers only: " + ge.Error()}, nil
}
