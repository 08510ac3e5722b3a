package worktree

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plan-engine/plan/worktree/git"
)

// Unlike lists which of some files are not what they were in a tree. One that the tree
// does not hold, such as an ignored one, is what it was if it was there unchanged before
// a moment. Paths are relative to the root, with slashes. A file of which nothing can
// be told counts as another one.
func (r *Repo) Unlike(ctx context.Context, tree string, before time.Time, paths []string) []string {
	then, err := r.idsIn(ctx, tree, paths)
	var out []string
	for _, path := range paths {
		id, there := then[path]
		switch {
		case err == nil && there && r.hasContent(ctx, path, id):
		case err == nil && !there && r.isOlder(path, before):
		default:
			out = append(out, path)
		}
	}
	return out
}

// idsIn are the ids of the contents of files in a tree.
func (r *Repo) idsIn(ctx context.Context, tree string, paths []string) (map[string]string, error) {
	out, err := r.git.Run(ctx, git.Call{
		Dir:  r.root,
		Args: append([]string{"ls-tree", "-z", "--full-tree", "--end-of-options", tree, "--"}, paths...),
	})
	if err != nil {
		return nil, fmt.Errorf("look up files of tree %s of %q: %w", tree, r.root, err)
	}
	ids := map[string]string{}
	for _, line := range splitNUL(out) { // MODE TYPE ID<tab>PATH
		head, path, _ := strings.Cut(line, "\t")
		if fields := strings.Fields(head); len(fields) == 3 {
			ids[path] = fields[2]
		}
	}
	return ids, nil
}

// hasContent reports whether a file holds what git knows by an id. A link is compared
// by where it leads.
func (r *Repo) hasContent(ctx context.Context, path, id string) bool {
	call := git.Call{Dir: r.root, Args: []string{"hash-object", "--", path}}
	if to, err := os.Readlink(filepath.Join(r.root, path)); err == nil {
		call.Args, call.Stdin = []string{"hash-object", "--stdin"}, to
	}
	now, err := r.git.Run(ctx, call)
	return err == nil && strings.TrimSpace(now) == id
}

// isOlder reports whether a file, and what it leads to, was last changed before a moment.
func (r *Repo) isOlder(path string, before time.Time) bool {
	for _, look := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} {
		info, err := look(filepath.Join(r.root, path))
		if err != nil || !changeTime(info).Before(before) {
			return false
		}
	}
	return true
}
