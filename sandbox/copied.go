package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// treeCopy is a copy of the tree as it was when its wall was planned.
type treeCopy struct {
	dir, tree string
	files     map[string]copyEntry // and folders, by path in it
	puts      map[string]Put
	extraPuts []string        // what was put there by the last reset
	unwatched map[string]bool // directories that are not compared, but made anew
	savedDir  string          // a folder for contents that the tree does not have
}

// copyEntry is one path of a copy.
type copyEntry struct {
	fileStamp
	mode    fs.FileMode
	size    int64
	mtime   time.Time
	link    string // where it leads
	savedTo string // the file that its content is kept in, "" for the tree's or a put's
}

// newTreeCopy notes how a copy stands. What could not be had again from the tree
// or from the puts is kept in a folder.
func newTreeCopy(p Policy, keep string) (*treeCopy, error) {
	c := &treeCopy{
		dir:       p.Copy,
		tree:      p.Tree,
		puts:      map[string]Put{},
		unwatched: p.unwatchedIn(p.Tree),
		savedDir:  keep,
	}
	for _, put := range p.putsIn(p.Tree) {
		c.puts[put.name] = put.put
	}
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return nil, err //nolint:wrapcheck // names the path
	}
	defer func() { _ = root.Close() }()
	c.files, err = c.scan(root)
	if err != nil {
		return nil, err
	}
	for name, file := range c.files {
		if file.mode.IsRegular() && !c.recoverable(name, file) {
			file.savedTo = filepath.Join(keep, strconv.Itoa(int(file.inode)))
			if err := saveContent(root, name, file.savedTo); err != nil {
				return nil, err
			}
			c.files[name] = file
		}
	}
	return c, nil
}

// scan notes every path at and below one of the copy.
func (c *treeCopy) scan(root *os.Root) (map[string]copyEntry, error) {
	out := map[string]copyEntry{}
	err := walk(root, ".", func(name string, info fs.FileInfo) error {
		file, err := readCopyEntry(root, name, info)
		out[name] = file
		return err
	})
	return out, err
}

// readCopyEntry is how a path of the copy stands.
func readCopyEntry(root *os.Root, name string, info fs.FileInfo) (copyEntry, error) {
	file := copyEntry{
		fileStamp: stampOf(info),
		mode:      info.Mode(),
		size:      info.Size(),
		mtime:     info.ModTime(),
	}
	var err error
	if info.Mode()&fs.ModeSymlink != 0 {
		file.link, err = root.Readlink(name)
	}
	return file, ignoreConcurrentChange(err)
}

// walk visits what is below a directory, folders before what is in them. What
// vanishes meanwhile, or cannot be read, is left out.
func walk(root *os.Root, dir string, visit func(name string, info fs.FileInfo) error) error {
	names, err := readNames(root, dir)
	if err != nil {
		return ignoreConcurrentChange(err)
	}
	for _, entry := range names {
		name := filepath.Join(dir, entry)
		info, err := root.Lstat(name)
		if ignoreConcurrentChange(err) != nil {
			return err //nolint:wrapcheck // names the path
		}
		if err != nil {
			continue
		}
		if err := visit(name, info); err != nil {
			return err
		}
		if info.IsDir() {
			if err := walk(root, name, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// recoverable reports whether the content of a file can be had again.
func (c *treeCopy) recoverable(name string, file copyEntry) bool {
	if _, put := c.puts[name]; put {
		return true
	}
	if c.inUnwatched(name) { // others may write there meanwhile
		return false
	}
	info, err := os.Lstat(filepath.Join(c.tree, name))
	return err == nil && info.Mode().IsRegular() && info.Size() == file.size && info.ModTime().Equal(file.mtime)
}

func (c *treeCopy) inUnwatched(name string) bool {
	for ; name != "."; name = filepath.Dir(name) {
		if c.unwatched[name] {
			return true
		}
	}
	return false
}

// saveContent keeps the content of a file.
func saveContent(root *os.Root, name, to string) error {
	from, err := openRegular(root, name)
	if err != nil {
		return ignoreConcurrentChange(err)
	}
	defer func() { _ = from.Close() }()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err //nolint:wrapcheck // names the path
	}
	out, err := os.Create(to)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	_, err = out.ReadFrom(from)
	return errors.Join(err, out.Close())
}

// contentSource is where the content of a file can be had again.
func (c *treeCopy) contentSource(name string) (Put, error) {
	file := c.files[name]
	switch put, laid := c.puts[name]; {
	case laid:
		return put, nil
	case file.savedTo != "":
		return Put{From: file.savedTo}, nil
	case !c.recoverable(name, file):
		return Put{}, fmt.Errorf("%s is not what it was any more", filepath.Join(c.tree, name))
	}
	return Put{From: filepath.Join(c.tree, name)}, nil
}

// compare notes how the copy stands against how it was.
func (c *treeCopy) compare(n *changeRecorder) error {
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	defer func() { _ = root.Close() }()
	now, err := c.scan(root)
	if err != nil {
		return err
	}
	for name, is := range now {
		if err := n.cancelled(); err != nil {
			return err
		}
		before, there := c.files[name]
		switch {
		case c.inUnwatched(name) || is.mode.IsDir() && (!there || before.mode.IsDir()):
		case is.mode.IsDir():
			n.recordAltered(name)
		case !there || before.mode.IsDir():
			n.recordAdded(name)
		case is.fileStamp != before.fileStamp:
			n.recordWritten(name)
			if !c.sameAsBefore(root, name, before, is) {
				n.recordAltered(name)
			}
		}
	}
	for name, before := range c.files {
		if _, there := now[name]; !there && !before.mode.IsDir() && !c.inUnwatched(name) {
			n.recordAltered(name)
		}
	}
	return nil
}

// sameAsBefore reports whether a file that was written stands as before.
func (c *treeCopy) sameAsBefore(root *os.Root, name string, stored, is copyEntry) bool {
	from, err := c.contentSource(name)
	if err != nil && stored.mode.IsRegular() {
		return false
	}
	before := fileState{
		mode: stored.mode,
		size: stored.size,
		link: stored.link,
		open: from.open,
	}
	now := fileState{
		mode: is.mode,
		size: is.size,
		link: is.link,
	}
	now.open = func() (io.ReadCloser, error) { return openRegular(root, name) }
	return now.equal(before)
}
