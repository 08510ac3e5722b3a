package sandbox

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Put is a file that stands otherwise behind a wall than in the tree that the
// wall is built around. What is in its way there goes.
type Put struct {
	// Path is absolute, in Tree or ExtraDirs, or below /tmp, which is the wall's own.
	// Where commands see no file system of their own, what is put below /tmp
	// stands in their TMPDIR: a line that names /tmp itself does not find it.
	// [LevelNone] has no such folder and leaves those out.
	Path string
	// Mode is the permissions of a file, or fs.ModeSymlink for a link.
	Mode fs.FileMode
	Data []byte    // the content, or where a link leads
	From string    // the file that has the content, in place of Data
	Time time.Time // of its last change; zero is now
	// Deleted says that nothing is there. Folders that have become empty go too.
	Deleted bool
}

// open opens the content of a file.
func (p Put) open() (io.ReadCloser, error) {
	if p.From == "" {
		return io.NopCloser(bytes.NewReader(p.Data)), nil
	}
	return os.Open(p.From) //nolint:wrapcheck // names the path
}

// size is how long the content is.
func (p Put) size() (int64, error) {
	if p.From == "" {
		return int64(len(p.Data)), nil
	}
	info, err := os.Stat(p.From)
	if err != nil {
		return 0, err //nolint:wrapcheck // names the path
	}
	return info.Size(), nil
}

// temporaryRoot is the folder that every wall with a place of its own replaces.
const temporaryRoot = "/tmp"

// putsIn are the puts of a directory by their path in it, files that go first:
// a folder may come in the place of one, and one in the place of a folder.
func (p Policy) putsIn(dir string) []namedPut {
	var out []namedPut
	for _, put := range p.Put {
		rel, err := filepath.Rel(dir, put.Path)
		if err == nil && rel != "." && filepath.IsLocal(rel) && p.dirOfPut(put.Path) == dir {
			out = append(out, namedPut{rel, put})
		}
	}
	slices.SortStableFunc(out, func(a, b namedPut) int {
		if a.put.Deleted != b.put.Deleted {
			if a.put.Deleted {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.name, b.name)
	})
	return out
}

// dirOfPut is the directory that a put belongs to: the innermost of Tree and ExtraDirs
// that it lies in, or the temporary folder.
func (p Policy) dirOfPut(path string) string {
	best := ""
	for _, dir := range p.layered() {
		if within(path, dir) && len(dir) > len(best) {
			best = dir
		}
	}
	if best == "" && within(path, temporaryRoot) {
		return temporaryRoot
	}
	return best
}

// namedPut is a put with its path in the directory that it is written to.
type namedPut struct {
	name string
	put  Put
}

// putWriter writes puts into a directory that no command can reach yet: a copy,
// a temporary folder, or the upper directory of a layer.
type putWriter struct {
	root  string
	lower string // what the layer lies over; "" where there is none
	owner fs.FileInfo
}

// write writes all of them.
func (w putWriter) write(puts []namedPut) error {
	for _, p := range puts {
		var err error
		switch {
		case p.put.Deleted:
			err = w.remove(p.name)
		default:
			err = w.add(p.name, p.put)
		}
		if err != nil {
			return fmt.Errorf("put %s behind the wall: %w", p.put.Path, err)
		}
	}
	return nil
}

// add writes a file or a link.
func (w putWriter) add(name string, p Put) error {
	if err := w.makeFolders(filepath.Dir(name)); err != nil {
		return err
	}
	at := filepath.Join(w.root, name)
	if err := os.RemoveAll(at); err != nil {
		return err //nolint:wrapcheck // names the path
	}
	if p.Mode&fs.ModeSymlink != 0 {
		return errors.Join(os.Symlink(string(p.Data), at), w.chownLike(at, w.owner), setTime(at, p.Time))
	}
	from, err := p.open()
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close(), w.chownLike(at, w.owner), os.Chmod(at, p.Mode.Perm()), setTime(at, p.Time))
}

// remove makes a path nothing, and the folders that it leaves empty.
func (w putWriter) remove(name string) error {
	at := filepath.Join(w.root, name)
	if !w.parentsExist(name) {
		return nil
	}
	if err := os.RemoveAll(at); err != nil {
		return err //nolint:wrapcheck // names the path
	}
	if w.lower != "" {
		return w.whiteOut(name)
	}
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if os.Remove(filepath.Join(w.root, dir)) != nil {
			break
		}
	}
	return nil
}

// parentsExist reports whether the folders that lead to a path are folders. Where one
// is not, nothing stands at the path.
func (w putWriter) parentsExist(name string) bool {
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		info, err := os.Lstat(filepath.Join(w.root, dir))
		if w.lower != "" && errors.Is(err, fs.ErrNotExist) {
			info, err = os.Lstat(filepath.Join(w.lower, dir))
		}
		if err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// makeFolders makes the folders that lead to a file, like those of the tree.
func (w putWriter) makeFolders(name string) error {
	at := "."
	for _, part := range strings.Split(name, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		path := filepath.Join(w.root, at)
		info, err := os.Lstat(path)
		if err == nil && info.IsDir() {
			continue
		}
		hid := err == nil
		if hid { // a file, or the mark of what is gone
			if err := os.Remove(path); err != nil {
				return err //nolint:wrapcheck // names the path
			}
		}
		if err := w.makeFolder(at, hid); err != nil {
			return err
		}
	}
	return nil
}

// makeFolder makes one folder. Where something hid one that the tree has, it
// begins empty.
func (w putWriter) makeFolder(name string, hid bool) error {
	path := filepath.Join(w.root, name)
	if err := os.Mkdir(path, 0o755); err != nil {
		return err //nolint:wrapcheck // names the path
	}
	if w.lower == "" {
		return w.chownLike(path, w.owner)
	}
	below, err := os.Lstat(filepath.Join(w.lower, name))
	if err != nil || !below.IsDir() {
		return w.chownLike(path, w.owner)
	}
	if hid {
		err = makeOpaque(path)
	}
	return errors.Join(err, w.chownLike(path, below), os.Chmod(path, below.Mode().Perm()))
}

// chownLike gives a path the owner of another.
func (w putWriter) chownLike(path string, like fs.FileInfo) error {
	st, ok := like.Sys().(*syscall.Stat_t)
	if !ok || os.Getuid() != 0 {
		return nil
	}
	return os.Lchown(path, int(st.Uid), int(st.Gid)) //nolint:wrapcheck // names the path
}

// setTime sets when a path was last changed, a link's own; zero leaves it.
func setTime(path string, at time.Time) error {
	if at.IsZero() {
		return nil
	}
	stamp, err := unix.TimeToTimespec(at)
	if err != nil {
		return fmt.Errorf("set the time of %s: %w", path, err)
	}
	stamps := []unix.Timespec{stamp, stamp}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, path, stamps, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("set the time of %s: %w", path, err)
	}
	return nil
}

// putInCopy writes the puts into the copy of the tree.
func (p Policy) putInCopy() error {
	owner, err := os.Stat(p.Copy)
	if err != nil {
		return fmt.Errorf("put files into the copy: %w", err)
	}
	return putWriter{root: p.Copy, owner: owner}.write(p.putsIn(p.Tree))
}

// putInTemporary writes the puts of the temporary folder.
func (p Policy) putInTemporary(dir string) error {
	puts := p.putsIn(temporaryRoot)
	if len(puts) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make a folder for the sandbox: %w", err)
	}
	owner, err := os.Stat(p.Tree)
	if err != nil {
		return fmt.Errorf("put files into the temporary folder: %w", err)
	}
	return putWriter{root: dir, owner: owner}.write(puts)
}

// prepareCopy puts files into the copy and notes how it stands then.
func (w *Wall) prepareCopy() error {
	if err := w.policy.putInCopy(); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	if !w.policy.Tracked {
		return nil
	}
	if err := w.makeScratch(); err != nil {
		return err
	}
	var err error
	if w.copied, err = newTreeCopy(w.policy, filepath.Join(w.scratch, savedDirName)); err != nil {
		return fmt.Errorf("sandbox: note how the copy looks: %w", err)
	}
	return nil
}

// putInTemporary makes the temporary folder with what the policy puts there,
// once.
func (w *Wall) putInTemporary() error {
	if w.putsWritten {
		return nil
	}
	return w.policy.putInTemporary(filepath.Join(w.scratch, "tmp0"))
}
