package worktree

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/plan-engine/plan/worktree/git"
)

// lendSubmodules checks out in tree the submodules that are checked out here. Written
// says that a model wrote the tree.
func (r *Repo) lendSubmodules(ctx context.Context, tree *Repo, written bool) ([]string, error) {
	links, err := tree.gitlinks(ctx)
	if err != nil {
		return nil, err
	}
	var notes []string
	for _, path := range links {
		module, err := r.git.Run(ctx, git.Call{
			Dir:  filepath.Join(r.root, path),
			Args: []string{"rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir"},
		})
		top, dir, ok := strings.Cut(strings.TrimSuffix(module, "\n"), "\n")
		if err != nil || !ok || top != filepath.Join(r.root, path) {
			continue // it is not checked out here either
		}
		if !r.quiet(ctx, path) {
			notes = append(notes, fmt.Sprintf("submodule %s is empty there: it has settings of its own that name "+
				"commands or other places", path))
			continue
		}
		name, err := tree.run(ctx, "config", "-z", "-f", ".gitmodules", "--get-regexp", `^submodule\..*\.path$`)
		if err == nil {
			name = moduleName(name, path)
			_, err = tree.git.Run(ctx, git.Call{
				Dir:   tree.root,
				File:  true,
				Open:  !written,
				Reads: []string{dir},
				Env:   []string{"PLAN_SUBMODULE=" + dir},
				Args: []string{ // a name may hold "=", behind which -c would begin the value
					"--config-env=submodule." + name + ".url=PLAN_SUBMODULE",
					"submodule", "--quiet", "update", "--init", "--checkout", "--", path,
				},
			})
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			notes = append(notes, fmt.Sprintf("submodule %s is empty there: %v", path, err))
		}
	}
	return notes, nil
}

// gitlinks lists the submodules in the index.
func (r *Repo) gitlinks(ctx context.Context) ([]string, error) {
	out, err := r.run(ctx, "ls-files", "-s", "-z")
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, line := range splitNUL(out) {
		if head, path, ok := strings.Cut(line, "\t"); ok && strings.HasPrefix(head, "160000 ") {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// moduleName finds the name under which .gitmodules has a path, in entries of
// key, newline and value.
func moduleName(out, path string) string {
	for _, entry := range splitNUL(out) {
		if key, value, ok := strings.Cut(entry, "\n"); ok && value == path {
			return strings.TrimSuffix(strings.TrimPrefix(key, "submodule."), ".path")
		}
	}
	return path
}

// DirtySubmodules lists the submodules whose files differ from the commit they
// stand at, and those into which it would not be safe to look. Nothing of that is
// in snapshots and diffs.
func (r *Repo) DirtySubmodules(ctx context.Context) ([]string, error) {
	links, err := r.gitlinks(ctx)
	if err != nil {
		return nil, fmt.Errorf("look into submodules: %w", err)
	}
	var paths []string
	for _, path := range links {
		if !exists(r.root, path+"/.git") {
			continue // it is not checked out
		}
		dirty := true
		if r.quiet(ctx, path) {
			out, err := r.git.Run(ctx, git.Call{
				Dir: filepath.Join(r.root, path),
				Args: []string{
					"--work-tree=.", "status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=normal",
					"--ignore-submodules=dirty",
				},
			})
			if err != nil {
				return nil, fmt.Errorf("look into submodule %q: %w", path, err)
			}
			dirty = out != ""
		}
		if dirty {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// quiet reports whether git can be asked about the files of a submodule without
// running what its settings name: a process that may write the tree
// may put any repository there. Remotes are harmless, for nothing is fetched,
// unless they promise objects that are not there.
func (r *Repo) quiet(ctx context.Context, path string) bool {
	out, err := r.git.Run(ctx, git.Call{
		Dir:  filepath.Join(r.root, path),
		Args: []string{"config", "--show-scope", "--includes", "--name-only", "-z", "--list"},
	})
	if err != nil {
		return false
	}
	words := splitNUL(out) // scope, name, scope, name, …
	for i := 0; i+1 < len(words); i += 2 {
		scope, name := words[i], words[i+1]
		if (scope == "local" || scope == "worktree") && !git.Harmless(name) {
			return false
		}
	}
	return true
}

// InSubmodules describes what differs inside submodules from the commits they
// stand at, as text for a reader of a diff; "" where nothing does.
func (r *Repo) InSubmodules(ctx context.Context) (string, error) {
	paths, err := r.DirtySubmodules(ctx)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, path := range paths {
		if !r.quiet(ctx, path) {
			fmt.Fprintf(
				&text,
				"Submodule %s has settings of its own that name commands or other places, so git was not asked "+
					"what differs in it.\n",
				path,
			)
			continue
		}
		dir := filepath.Join(r.root, path)
		diff, err := r.git.Run(ctx, git.Call{
			Dir: dir,
			Args: []string{
				"--work-tree=.", "diff-index", "-p", "--ignore-submodules=dirty", "-M", "--no-color",
				"--no-ext-diff", "--no-textconv",
				"--src-prefix=a/" + path + "/", "--dst-prefix=b/" + path + "/", "HEAD", "--",
			},
		})
		if err != nil {
			return "", fmt.Errorf("look into submodule %q: %w", path, err)
		}
		fresh, err := r.git.Run(ctx, git.Call{
			Dir:  dir,
			Args: []string{"--work-tree=.", "ls-files", "-o", "--exclude-standard", "-z"},
		})
		if err != nil {
			return "", fmt.Errorf("look into submodule %q: %w", path, err)
		}
		fmt.Fprintf(
			&text,
			"Submodule %s has changes that are not committed in it, and no commit of this repository can hold "+
				"them:\n%s",
			path,
			diff,
		)
		for _, name := range splitNUL(fresh) {
			fmt.Fprintf(&text, "untracked file %s/%s\n", path, name)
		}
	}
	return text.String(), nil
}
