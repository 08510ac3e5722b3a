package worktree

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// lendSubmodules checks out in tree the submodules that are checked out here.
func (r *Repo) lendSubmodules(ctx context.Context, tree *Repo) ([]string, error) {
	links, err := tree.gitlinks(ctx)
	if err != nil {
		return nil, err
	}
	var notes []string
	for _, path := range links {
		module, err := r.git.run(ctx, call{dir: filepath.Join(r.root, path), args: []string{"rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir"}})
		top, dir, ok := strings.Cut(strings.TrimSuffix(module, "\n"), "\n")
		if err != nil || !ok || top != filepath.Join(r.root, path) {
			continue // it is not checked out here either
		}
		name, err := tree.run(ctx, "config", "-z", "-f", ".gitmodules", "--get-regexp", `^submodule\..*\.path$`)
		if err == nil {
			name = moduleName(name, path)
			_, err = tree.run(ctx, "-c", "protocol.file.allow=always", "-c", "submodule."+name+".url="+dir,
				"submodule", "--quiet", "update", "--init", "--checkout", "--", path)
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
// stand at. Nothing of that is in snapshots and diffs.
func (r *Repo) DirtySubmodules(ctx context.Context) ([]string, error) {
	out, err := r.run(ctx, "status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=none")
	if err != nil {
		return nil, fmt.Errorf("look into submodules: %w", err)
	}
	var paths []string
	for _, entry := range splitNUL(out) {
		fields := strings.SplitN(entry, " ", 9) // 1 XY SUB MODE MODE MODE ID ID PATH
		if len(fields) == 9 && fields[0] == "1" && strings.HasPrefix(fields[2], "S") && strings.ContainsAny(fields[2][2:], "MU") {
			paths = append(paths, fields[8])
		}
	}
	return paths, nil
}

// InSubmodules describes what differs inside submodules from the commits they
// stand at, as text for somebody who reads a diff; "" where nothing does.
func (r *Repo) InSubmodules(ctx context.Context) (string, error) {
	paths, err := r.DirtySubmodules(ctx)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, path := range paths {
		dir := filepath.Join(r.root, path)
		diff, err := r.git.run(ctx, call{dir: dir, args: []string{
			"diff-index", "-p", "-M", "--no-color", "--no-ext-diff", "--no-textconv",
			"--src-prefix=a/" + path + "/", "--dst-prefix=b/" + path + "/", "HEAD", "--",
		}})
		if err != nil {
			return "", fmt.Errorf("look into submodule %q: %w", path, err)
		}
		fresh, err := r.git.run(ctx, call{dir: dir, args: []string{"ls-files", "-o", "--exclude-standard", "-z"}})
		if err != nil {
			return "", fmt.Errorf("look into submodule %q: %w", path, err)
		}
		fmt.Fprintf(&text, "Submodule %s has changes that are not committed in it, and no commit of this repository can hold them:\n%s", path, diff)
		for _, name := range splitNUL(fresh) {
			fmt.Fprintf(&text, "untracked file %s/%s\n", path, name)
		}
	}
	return text.String(), nil
}
