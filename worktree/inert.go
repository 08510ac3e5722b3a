package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/patch"
	"github.com/plan-engine/plan/internal/sanitize"
	"github.com/plan-engine/plan/internal/scratch"
	"github.com/plan-engine/plan/worktree/git"
)

// Inert is a patch of the change between two trees that a terminal can be given:
// files with characters that act on one, or are not seen, are in it as git writes
// binary files, which git apply takes as well. Text is what [Repo.Diff] or
// [Repo.Patch] says of the change.
func (r *Repo) Inert(ctx context.Context, from, to, text string) (string, error) {
	if sanitize.IsInert(text) {
		return text, nil
	}
	binary, err := r.binaryPatch(ctx, from, to)
	if err != nil {
		return "", err
	}
	texts, binaries := patch.Files(text), patch.Files(binary)
	if len(texts) != len(binaries) {
		return binary, nil // what counts as renamed depends on how files are read
	}
	for i, file := range texts {
		if !sanitize.IsInert(file) {
			texts[i] = binaries[i]
		}
	}
	return strings.Join(texts, ""), nil
}

// binaryPatch is the change as a patch in which every file counts as binary and
// names are quoted.
func (r *Repo) binaryPatch(ctx context.Context, from, to string) (string, error) {
	return r.diffApart(ctx, from, to, "* -diff\n", "-p", "-M", "-l1000", "--binary", "--full-index",
		"--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")
}

// diffApart compares two trees or commits with these attributes, and with none of the
// repository's. Git takes them from a repository alone, so it is given one that is
// empty but for the settings, and has the objects of this one.
func (r *Repo) diffApart(ctx context.Context, from, to, attributes string, flags ...string) (out string, err error) {
	output, err := r.git.Run(ctx, git.Call{
		Dir:  r.root,
		Args: []string{"rev-parse", "--git-path", "objects", from + "^{tree}", to + "^{tree}"},
	})
	if err != nil {
		return "", fmt.Errorf("find the objects of %q: %w", r.root, err)
	}
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if len(lines) < 3 {
		return "", fmt.Errorf("find the objects of %q: git printed %q", r.root, output)
	}
	last := len(lines) - 2 // a folder's name may have lines
	objects, trees := strings.Join(lines[:last], "\n"), lines[last:]
	if !filepath.IsAbs(objects) {
		objects = filepath.Join(r.root, objects)
	}
	room, err := scratch.New("", scratch.Patch)
	if err != nil {
		return "", fmt.Errorf("make a folder for a patch: %w", err)
	}
	defer func() { err = errors.Join(err, room.Close()) }()
	dir := room.Dir
	config := "[core]\n\trepositoryformatversion = 1\n\tbare = true\n"
	if len(trees[0]) == 64 {
		config += "[extensions]\n\tobjectFormat = sha256\n"
	}
	for name, text := range map[string]string{
		"HEAD":            "ref: refs/heads/none\n",
		"config":          config,
		"info/attributes": attributes,
		"refs/none":       "",
		"objects/none":    "",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
		if err != nil {
			return "", fmt.Errorf("write the settings for a patch: %w", err)
		}
	}
	out, err = r.git.Run(ctx, git.Call{
		Dir: dir,
		Env: []string{"GIT_DIR=" + dir, "GIT_OBJECT_DIRECTORY=" + objects},
		Args: slices.Concat(
			[]string{"-c", "core.quotePath=true", "diff-tree", "-r", "--ignore-submodules=none"},
			flags,
			trees,
			[]string{"--"},
		),
	})
	if err != nil {
		return "", fmt.Errorf("compare trees of %q: %w", r.root, err)
	}
	return out, nil
}
