package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/plan-engine/plan/internal/subpath"
)

// Changes is how a tree stands behind a wall against how the wall was built.
// The paths are relative to the tree, with slashes, sorted. Directories are not
// among them, nor is what the policy calls Unwatched.
type Changes struct {
	// Altered are files and links that are gone or stand otherwise: in their
	// content, their type, or whether they may be executed.
	Altered []string
	// Written are those that were written to at all, even if they stand as before:
	// Altered are among them.
	Written []string
	// Added are files and links that were not there.
	Added []string
}

// errUntracked says that a wall was not planned for the question.
var errUntracked = errors.New("sandbox: the wall does not follow what changes behind it")

// Changes looks at what the commands have left so far. It costs as much as they
// have written; with a copy, as much as there are files. Commands may go on
// meanwhile. The policy must be Tracked.
func (w *Wall) Changes(ctx context.Context) (Changes, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.policy.Tracked || !w.policy.Discard:
		return Changes{}, errUntracked
	case w.cleared:
		return Changes{}, errClosed
	}
	n := &changeRecorder{
		ctx:     ctx,
		altered: map[string]bool{},
		written: map[string]bool{},
		added:   map[string]bool{},
	}
	var err error
	switch {
	case w.level.NeedsCopy():
		err = w.copied.compare(n)
	case w.layer.upper != "":
		err = w.layer.compare(n)
	}
	if err != nil {
		return Changes{}, fmt.Errorf("sandbox: look at what changed: %w", err)
	}
	return n.changes(), nil
}

// changeRecorder collects changes.
type changeRecorder struct {
	ctx                     context.Context
	altered, written, added map[string]bool
}

func (n *changeRecorder) recordAltered(name string) { n.altered[name], n.written[name] = true, true }
func (n *changeRecorder) recordWritten(name string) { n.written[name] = true }
func (n *changeRecorder) recordAdded(name string)   { n.added[name] = true }

// cancelled reports whether no caller waits for the answer any more.
func (n *changeRecorder) cancelled() error { return context.Cause(n.ctx) }

func (n *changeRecorder) changes() Changes {
	return Changes{
		Altered: sortedPaths(n.altered),
		Written: sortedPaths(n.written),
		Added:   sortedPaths(n.added),
	}
}

func sortedPaths(paths map[string]bool) []string {
	var out []string
	for path := range paths {
		out = append(out, filepath.ToSlash(path))
	}
	slices.Sort(out)
	return out
}

// fileState is a file or a link as it stands, or stood.
type fileState struct {
	mode fs.FileMode
	size int64
	link string // where it leads
	open func() (io.ReadCloser, error)
}

// stateIn looks at a path in a root without following it.
func stateIn(root *os.Root, name string, info fs.FileInfo) (fileState, error) {
	s := fileState{mode: info.Mode(), size: info.Size()}
	if info.Mode()&fs.ModeSymlink != 0 {
		var err error
		s.link, err = root.Readlink(name)
		return s, err //nolint:wrapcheck // names the path
	}
	s.open = func() (io.ReadCloser, error) { return openRegular(root, name) }
	return s, nil
}

// stateOfPut is what a put makes of its path.
func stateOfPut(p Put) (fileState, error) {
	if p.Mode&fs.ModeSymlink != 0 {
		return fileState{mode: fs.ModeSymlink, link: string(p.Data)}, nil
	}
	size, err := p.size()
	return fileState{
		mode: p.Mode.Perm(),
		size: size,
		open: p.open,
	}, err
}

// equal reports whether two stand alike. What cannot be read does not.
func (s fileState) equal(other fileState) bool {
	if s.mode.Type() != other.mode.Type() {
		return false
	}
	if s.mode&fs.ModeSymlink != 0 {
		return s.link == other.link
	}
	const owners = 0o100
	if !s.mode.IsRegular() || s.mode&owners != other.mode&owners || s.size != other.size {
		return false
	}
	a, err := s.open()
	if err != nil {
		return false
	}
	defer func() { _ = a.Close() }()
	b, err := other.open()
	if err != nil {
		return false
	}
	defer func() { _ = b.Close() }()
	return sameContent(a, b)
}

// sameContent compares what is left to read of two files.
func sameContent(a, b io.Reader) bool {
	const piece = 32 << 10
	left, right := make([]byte, piece), make([]byte, piece)
	for {
		n, errA := io.ReadFull(a, left)
		m, errB := io.ReadFull(b, right)
		if !bytes.Equal(left[:n], right[:m]) {
			return false
		}
		if errA != nil || errB != nil {
			return isEOF(errA) && isEOF(errB)
		}
	}
}

// isEOF reports whether io.ReadFull came to the end of its file.
func isEOF(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// openRegular opens a regular file in a root that commands may have written to:
// no link is followed out of it, nor at its end, and nothing waits at a pipe.
func openRegular(root *os.Root, name string) (*os.File, error) {
	is, err := root.Lstat(name)
	if err != nil {
		return nil, err //nolint:wrapcheck // names the path
	}
	if !is.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err //nolint:wrapcheck // names the path
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(is, info) { // it was something else a moment ago
		err = fmt.Errorf("%s is being replaced", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readNames lists a directory in a root, sorted.
func readNames(root *os.Root, name string) ([]string, error) {
	dir, err := root.Open(name)
	if err != nil {
		return nil, err //nolint:wrapcheck // names the path
	}
	names, err := dir.Readdirnames(-1)
	slices.Sort(names)
	return names, errors.Join(err, dir.Close())
}

// unwatchedIn are the paths of a directory's Unwatched places in it.
func (p Policy) unwatchedIn(dir string) map[string]bool {
	out := map[string]bool{}
	for _, path := range p.Unwatched {
		if rel, ok := subpath.Of(dir, path); ok {
			out[rel] = true
		}
	}
	return out
}

// fileStamp tells whether a file was written since it was taken.
type fileStamp struct {
	inode uint64
	ctime time.Time
}

func stampOf(info fs.FileInfo) fileStamp {
	inode, _ := identityOf(info)
	return fileStamp{inode, changeTime(info)}
}

// ignoreConcurrentChange leaves out the errors that come of commands which go on
// meanwhile, and of files that they have made unreadable.
func ignoreConcurrentChange(err error) error {
	for _, kind := range []error{fs.ErrNotExist, fs.ErrPermission, syscall.ENOTDIR, syscall.ELOOP} {
		if errors.Is(err, kind) {
			return nil
		}
	}
	return err
}
