package worktree

import (
	"errors"
	"os"
	"path/filepath"
)

// Large says how untracked files are treated that take long to read and much room to
// keep. They are what builds, downloads and recordings leave where .gitignore does not
// name them. A tracked file counts however large it is.
type Large struct {
	// Most is the size from which an untracked file is left out, as an ignored one is:
	// 0 for none.
	Most int64
	// Slow is the size from which one takes so long to read that people wonder: 0 for none.
	Slow int64
	// Tell hears of files that are left out, and of slow ones before they are read. It
	// may be nil, and be called often, from several goroutines.
	Tell func(paths []string, as Treatment)
}

// Treatment is what becomes of files that are told of.
type Treatment int

// What becomes of them.
const (
	SlowRead Treatment = iota // they are read, which takes long
	TooLarge                  // they are left out, being larger than [Large.Most]
	Refused                   // they are left out: git takes no file of that name and kind
)

// WithLarge is the repository with another way to treat large untracked files.
func (r *Repo) WithLarge(l Large) *Repo {
	other := *r
	other.large = l
	return &other
}

// errGrown says that a private index that was kept has a file which has become too large
// since: it is untracked, or the user's own index would have it.
var errGrown = errors.New("a file has grown")

// markLarge marks the untracked files of an area that are too large.
func (r *Repo) markLarge(dir string, entries []entry) {
	if r.large.Most <= 0 {
		return
	}
	for i, e := range entries {
		if e.tag == '?' && !isNested(e.path) && r.tooLarge(dir, e.path) {
			entries[i].tag = 'L'
		}
	}
}

func (r *Repo) tooLarge(dir, path string) bool {
	return r.large.Most > 0 && sizeFrom(dir, path, r.large.Most+1)
}

// sizeFrom reports whether a path is a regular file of so many bytes or more.
func sizeFrom(dir, path string, size int64) bool {
	info, err := os.Lstat(filepath.Join(dir, path))
	return err == nil && info.Mode().IsRegular() && info.Size() >= size
}

// tooLarge are the untracked files of an area that are left out, as the repository has
// their names.
func (l listing) tooLarge(a area) (paths []string) {
	for _, e := range l.entries {
		if e.tag == 'L' {
			paths = append(paths, a.prefix+e.path)
		}
	}
	return paths
}

// tellLarge tells of what is left out of an area, and of what takes long to read.
func (r *Repo) tellLarge(a area, l listing) {
	if r.large.Tell == nil {
		return
	}
	var read []string
	for _, e := range l.entries {
		if r.large.Slow > 0 && e.tag == '?' && !isNested(e.path) && sizeFrom(a.dir, e.path, r.large.Slow) {
			read = append(read, a.prefix+e.path)
		}
	}
	if out := l.tooLarge(a); len(out) > 0 {
		r.large.Tell(out, TooLarge)
	}
	if len(read) > 0 {
		r.large.Tell(read, SlowRead)
	}
}
