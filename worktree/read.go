package worktree

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/plan-engine/plan/worktree/git"
)

// maxRead bounds a file that is read out of a tree. What is larger is no source
// that a person wrote. Lock files are written by tools, and may be larger.
const (
	maxRead     = 1 << 20
	maxReadLock = 32 << 20
)

// Files are the files of a git tree. A symbolic link is a file that holds its
// target; submodules are left out.
type Files struct {
	repo  *Repo
	ids   map[string]string // by path
	sizes map[string]int    // in bytes
}

// FilesOf lists the files of a tree or commit.
func (r *Repo) FilesOf(ctx context.Context, tree string) (*Files, error) {
	if err := areNames(tree); err != nil {
		return nil, fmt.Errorf("list the files of a tree of %q: %w", r.root, err)
	}
	out, err := r.git.Run(ctx, git.Call{Dir: r.root, Args: []string{"ls-tree", "-r", "-l", "-z", "--full-tree", tree}})
	if err != nil {
		return nil, fmt.Errorf("list the files of tree %s of %q: %w", tree, r.root, err)
	}
	f := &Files{
		repo:  r,
		ids:   map[string]string{},
		sizes: map[string]int{},
	}
	for _, line := range splitNUL(out) { // MODE TYPE ID SIZE<tab>PATH
		head, path, ok := strings.Cut(line, "\t")
		fields := strings.Fields(head)
		if !ok || len(fields) != 4 {
			return nil, fmt.Errorf(
				"list the files of tree %s of %q: git printed %q, which is not an entry",
				tree,
				r.root,
				line,
			)
		}
		if fields[1] != "blob" {
			continue
		}
		f.ids[path] = fields[2]
		if f.sizes[path], err = strconv.Atoi(fields[3]); err != nil {
			f.sizes[path] = math.MaxInt
		}
	}
	return f, nil
}

// IDs gives the id of each file's content by its path, which is relative to the
// root with slashes. It must not be changed.
func (f *Files) IDs() map[string]string { return f.ids }

// Read returns the contents of files by path. Those that are not in the tree
// or hold more than 1 MiB are left out.
func (f *Files) Read(ctx context.Context, paths ...string) (map[string]string, error) {
	return f.read(ctx, maxRead, paths)
}

// ReadLocks is [Files.Read] for lock files, of which only those are left out that
// hold more than 32 MiB.
func (f *Files) ReadLocks(ctx context.Context, paths ...string) (map[string]string, error) {
	return f.read(ctx, maxReadLock, paths)
}

func (f *Files) read(ctx context.Context, most int, paths []string) (map[string]string, error) {
	var existing []string
	var ask strings.Builder
	for _, path := range paths {
		if id := f.ids[path]; id != "" && f.sizes[path] <= most {
			existing = append(existing, path)
			ask.WriteString(id + "\n")
		}
	}
	out := make(map[string]string, len(existing))
	if len(existing) == 0 {
		return out, nil
	}
	text, err := f.repo.git.Run(ctx, git.Call{
		Dir:   f.repo.root,
		Stdin: ask.String(),
		Args:  []string{"cat-file", "--batch"},
	})
	if err != nil {
		return nil, fmt.Errorf("read files of a tree of %q: %w", f.repo.root, err)
	}
	for _, path := range existing { // ID TYPE SIZE<newline>CONTENT<newline>
		head, rest, _ := strings.Cut(text, "\n")
		fields := strings.Fields(head)
		if len(fields) != 3 {
			return nil, fmt.Errorf("read files of a tree of %q: git says %q of %s", f.repo.root, head, path)
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil || size >= len(rest) {
			return nil, fmt.Errorf(
				"read files of a tree of %q: git says %q of %s, and less follows",
				f.repo.root,
				head,
				path,
			)
		}
		out[path], text = rest[:size], rest[size+1:]
	}
	return out, nil
}
