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

// copied is a copy of the tree as it was when its wall was planned.
type copied struct {
	dir, tree string
	files     map[string]copiedFile // and folders, by path in it
	puts      map[string]Put
	besides   []string        // what was put there by the last reset
	skip      map[string]bool // directories that are not compared, but made anew
	keep      string          // a folder for what the tree does not have like this
}

// copiedFile is one path of a copy.
type copiedFile struct {
	mark
	mode  fs.FileMode
	size  int64
	mtime time.Time
	link  string // where it leads
	kept  string // the file that its content is kept in, "" for the tree's or a put's
}

// newCopied notes how a copy stands. What could not be had again from the tree
// or from the puts is kept in a folder.
func newCopied(p Policy, keep string) (*copied, error) {
	c := &copied{
		dir:  p.Copy,
		tree: p.Tree,
		puts: map[string]Put{},
		skip: p.unwatchedIn(p.Tree),
		keep: keep,
	}
	for _, put := range p.putsIn(p.Tree) {
		c.puts[put.name] = put.put
	}
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return nil, err //nolint:wrapcheck // names the path
	}
	defer func() { _ = root.Close() }()
	c.files, err = c.look(root)
	if err != nil {
		return nil, err
	}
	for name, file := range c.files {
		if file.mode.IsRegular() && !c.again(name, file) {
			file.kept = filepath.Join(keep, strconv.Itoa(int(file.inode)))
			if err := keepFile(root, name, file.kept); err != nil {
				return nil, err
			}
			c.files[name] = file
		}
	}
	return c, nil
}

// look notes every path at and below one of the copy.
func (c *copied) look(root *os.Root) (map[string]copiedFile, error) {
	out := map[string]copiedFile{}
	err := walk(root, ".", func(name string, info fs.FileInfo) error {
		file, err := copiedNow(root, name, info)
		out[name] = file
		return err
	})
	return out, err
}

// copiedNow is how a path of the copy stands.
func copiedNow(root *os.Root, name string, info fs.FileInfo) (copiedFile, error) {
	file := copiedFile{
		mark:  markOf(info),
		mode:  info.Mode(),
		size:  info.Size(),
		mtime: info.ModTime(),
	}
	var err error
	if info.Mode()&fs.ModeSymlink != 0 {
		file.link, err = root.Readlink(name)
	}
	return file, passing(err)
}

// walk visits what is below a directory, folders before what is in them. What
// vanishes meanwhile, or cannot be read, is left out.
func walk(root *os.Root, dir string, visit func(name string, info fs.FileInfo) error) error {
	names, err := readNames(root, dir)
	if err != nil {
		return passing(err)
	}
	for _, entry := range names {
		name := filepath.Join(dir, entry)
		info, err := root.Lstat(name)
		if passing(err) != nil {
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

// again reports whether the content of a file can be had again.
func (c *copied) again(name string, file copiedFile) bool {
	if _, put := c.puts[name]; put {
		return true
	}
	if c.skipped(name) { // others may write there meanwhile
		return false
	}
	info, err := os.Lstat(filepath.Join(c.tree, name))
	return err == nil && info.Mode().IsRegular() && info.Size() == file.size && info.ModTime().Equal(file.mtime)
}

func (c *copied) skipped(name string) bool {
	for ; name != "."; name = filepath.Dir(name) {
		if c.skip[name] {
			return true
		}
	}
	return false
}

// keepFile keeps the content of a file.
func keepFile(root *os.Root, name, to string) error {
	from, err := openPlain(root, name)
	if err != nil {
		return passing(err)
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

// source is where the content of a file can be had again.
func (c *copied) source(name string) (Put, error) {
	file := c.files[name]
	switch put, laid := c.puts[name]; {
	case laid:
		return put, nil
	case file.kept != "":
		return Put{From: file.kept}, nil
	case !c.again(name, file):
		return Put{}, fmt.Errorf("%s is not what it was any more", filepath.Join(c.tree, name))
	}
	return Put{From: filepath.Join(c.tree, name)}, nil
}

// compare notes how the copy stands against how it was.
func (c *copied) compare(n *notes) error {
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	defer func() { _ = root.Close() }()
	now, err := c.look(root)
	if err != nil {
		return err
	}
	for name, is := range now {
		if err := n.ended(); err != nil {
			return err
		}
		was, there := c.files[name]
		switch {
		case c.skipped(name) || is.mode.IsDir() && (!there || was.mode.IsDir()):
		case is.mode.IsDir():
			n.alter(name)
		case !there || was.mode.IsDir():
			n.add(name)
		case is.mark != was.mark:
			n.write(name)
			if !c.sameFile(root, name, was, is) {
				n.alter(name)
			}
		}
	}
	for name, was := range c.files {
		if _, there := now[name]; !there && !was.mode.IsDir() && !c.skipped(name) {
			n.alter(name)
		}
	}
	return nil
}

// sameFile reports whether a file that was written stands as before.
func (c *copied) sameFile(root *os.Root, name string, was, is copiedFile) bool {
	from, err := c.source(name)
	if err != nil && was.mode.IsRegular() {
		return false
	}
	before := standing{
		mode: was.mode,
		size: was.size,
		link: was.link,
		open: from.open,
	}
	now := standing{
		mode: is.mode,
		size: is.size,
		link: is.link,
	}
	now.open = func() (io.ReadCloser, error) { return openPlain(root, name) }
	return now.same(before)
}
