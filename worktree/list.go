package worktree

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/worktree/git"
)

// area is a directory that git treats as a work tree: the repository's own, or
// one nested in it that has a .git directory and is looked at as if it had not.
type area struct {
	dir    string
	prefix string // of its paths in the repository, "" or ending in a slash
	index  string // index file in place of the work tree's own

	leftOut []string // untracked files in it that are too large, once its tree is written
}

// call makes a git command that works in the area.
func (r *Repo) call(a area, stdin string, args ...string) git.Call {
	c := git.Call{
		Dir:   a.dir,
		Stdin: stdin,
		Args:  args,
	}
	if a.index != "" {
		c.Env = append(c.Env, "GIT_INDEX_FILE="+a.index)
	}
	if a.prefix != "" {
		c.Env = append(c.Env, "GIT_DIR="+r.gitDir, "GIT_WORK_TREE="+a.dir)
	}
	return c
}

// nested is the area of a directory within a.
func (a area) nested(path, index string) area {
	return area{
		dir:    filepath.Join(a.dir, path),
		prefix: a.prefix + path,
		index:  index,
	}
}

// entry is one path that git lists.
type entry struct {
	path string // relative to the area; a nested repository ends in a slash
	// H tracked, M unmerged, S tracked but not checked out, R gone, C changed, ? untracked, P tracked where there is
	// a pipe, a socket or a device now, L untracked and too large, G listed once more: changed, and too large if it
	// is untracked, T listed once more: changed, and a link now
	tag     byte
	assumed bool // git was told to assume that the file does not change
	gitlink bool
}

// listing are the tracked and the untracked files of an area; a tracked file
// that is gone is listed twice, and an unmerged one up to three times.
type listing struct {
	entries  []entry
	upToDate bool // the index is what the files are
	mark     [sha256.Size]byte
}

func (r *Repo) list(ctx context.Context, a area) (l listing, err error) {
	out, err := r.git.Run(ctx, r.call(a, "", "ls-files", "-s", "-v", "-c", "-o", "-m", "--exclude-standard", "-z"))
	if err != nil {
		return l, fmt.Errorf("list files: %w", err)
	}
	entries, err := parseEntries(out)
	if err != nil {
		return l, err
	}
	l.upToDate = !slices.ContainsFunc(entries, func(e entry) bool { return e.tag != 'H' || e.assumed })
	l.mark = r.markOf(out)
	r.markLarge(a.dir, entries)
	l.entries = r.withoutUnchanged(a.dir, entries)
	return l, nil
}

// withoutUnchanged looks at the files that git calls changed, which come on top
// of the tracked ones. They are gone, or replaced by a directory, which git
// does not list if it is a repository; or there is nothing to say.
func (r *Repo) withoutUnchanged(dir string, entries []entry) []entry {
	out := entries[:0:0]
	for _, e := range entries {
		if e.tag != 'C' {
			out = append(out, e)
			continue
		}
		info, err := os.Lstat(filepath.Join(dir, e.path))
		if err == nil && !e.gitlink {
			switch info.Mode().Type() {
			case 0, fs.ModeDir:
			case fs.ModeSymlink:
				out = append(out, entry{path: e.path, tag: 'T'})
			default:
				out = append(out, entry{path: e.path, tag: 'P'})
			}
		}
		if err == nil && !info.IsDir() || e.gitlink {
			if !e.gitlink && r.tooLarge(dir, e.path) {
				out = append(out, entry{path: e.path, tag: 'G'})
			}
			continue
		}
		out = append(out, entry{path: e.path, tag: 'R'})
		if err == nil && exists(dir, e.path+"/.git") {
			out = append(out, entry{path: e.path + "/", tag: '?'})
		}
	}
	return out
}

// parseEntries reads "T MODE ID STAGE<tab>PATH" and "? PATH" entries.
func parseEntries(out string) ([]entry, error) {
	lines := splitNUL(out)
	entries := make([]entry, 0, len(lines))
	for _, line := range lines {
		if len(line) < 3 || line[1] != ' ' {
			return nil, fmt.Errorf("list files: git printed %q, which is not an entry", line)
		}
		e := entry{tag: line[0], path: line[2:]}
		if e.tag >= 'a' && e.tag <= 'z' {
			e.tag, e.assumed = e.tag-'a'+'A', true
		}
		if e.tag != '?' {
			stage, path, ok := strings.Cut(line[2:], "\t")
			if !ok || path == "" {
				return nil, fmt.Errorf("list files: git printed %q, which has no path", line)
			}
			e.path, e.gitlink = path, strings.HasPrefix(stage, "160000 ")
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// isNested reports whether git lists the path as a repository in its own right.
func isNested(path string) bool { return strings.HasSuffix(path, "/") }

// ownGitDir reports whether a nested repository carries its .git directory
// with it, unlike a linked worktree.
func ownGitDir(dir, path string) bool {
	info, err := os.Lstat(filepath.Join(dir, path, ".git"))
	return err == nil && info.IsDir()
}

// Files lists the files of the work tree that are there, relative to the root
// with slashes, sorted, each once. Submodules are left out.
func (r *Repo) Files(ctx context.Context) ([]string, error) {
	files, err := r.files(ctx, area{dir: r.root})
	if err != nil {
		return nil, err
	}
	return sortedUnique(files), nil
}

// sortedUnique sorts files and drops those that come twice.
func sortedUnique(files []string) []string {
	slices.Sort(files)
	return slices.Compact(files)
}

func (r *Repo) files(ctx context.Context, a area) ([]string, error) {
	l, err := r.list(ctx, a)
	if err != nil {
		return nil, err
	}
	return r.filesOf(ctx, a, l.entries)
}

// filesOf are the files among the entries of an area that are there.
func (r *Repo) filesOf(ctx context.Context, a area, entries []entry) ([]string, error) {
	deleted := map[string]bool{}
	for _, e := range entries {
		if e.tag == 'R' || e.tag == 'P' || e.tag == 'S' && !exists(a.dir, e.path) {
			deleted[e.path] = true
		}
	}
	var files []string
	for _, e := range entries {
		switch {
		case deleted[e.path] || e.gitlink || strings.IndexByte("LGT", e.tag) >= 0:
		case !isNested(e.path):
			files = append(files, a.prefix+e.path)
		case ownGitDir(a.dir, e.path):
			// An index file that is not there is an empty index.
			more, err := r.files(ctx, a.nested(e.path, filepath.Join(r.gitDir, "plan-no-index")))
			if err != nil {
				return nil, err
			}
			files = append(files, more...)
		}
	}
	return files, nil
}

func exists(dir, path string) bool {
	_, err := os.Lstat(filepath.Join(dir, path))
	return err == nil
}
