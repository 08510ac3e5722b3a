package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// layer is what lies over the tree and takes the writes.
type layer struct {
	upper, lower string
	puts         map[string]Put  // by path in it
	laid         map[string]mark // how those stand in upper, but for what is gone
	folders      map[string]bool // that lead to those
	gone         map[string]bool // paths at which nothing stood when the layer was made
	skip         map[string]bool // directories that are not looked at
}

// newLayer notes how a layer stands that puts were written into.
func newLayer(upper, lower string, puts []namedPut, skip map[string]bool) (layer, error) {
	l := layer{
		upper:   upper,
		lower:   lower,
		skip:    skip,
		puts:    map[string]Put{},
		laid:    map[string]mark{},
		folders: map[string]bool{},
		gone:    map[string]bool{},
	}
	for _, p := range puts {
		l.puts[p.name] = p.put
	}
	for name, put := range l.puts {
		if put.Gone {
			l.gone[name] = true
			l.noteFolders(filepath.Dir(name), l.gone, l.marked)
			continue
		}
		info, err := os.Lstat(filepath.Join(upper, name))
		if err != nil {
			return l, err //nolint:wrapcheck // names the path
		}
		l.laid[name] = markOf(info)
		l.noteFolders(filepath.Dir(name), l.folders, func(string) bool { return true })
	}
	return l, nil
}

// noteFolders notes the folders that lead to a path, those that are fit.
func (l layer) noteFolders(name string, in map[string]bool, fit func(string) bool) {
	for ; name != "."; name = filepath.Dir(name) {
		if fit(name) {
			in[name] = true
		}
	}
}

// marked reports whether a path is marked as gone.
func (l layer) marked(name string) bool {
	info, err := os.Lstat(filepath.Join(l.upper, name))
	return err == nil && isWhiteout(info)
}

// compare notes how the layer stands against how it was made.
func (l layer) compare(n *notes) error {
	upper, err := os.OpenRoot(l.upper)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	defer func() { _ = upper.Close() }()
	lower, err := os.OpenRoot(l.lower)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	defer func() { _ = lower.Close() }()
	c := &comparison{
		layer: l,
		notes: n,
		over:  upper,
		under: lower,
	}
	if err := c.folder(".", false); err != nil {
		return err
	}
	for name := range l.laid { // what was put and has nothing below leaves no mark
		if _, err := upper.Lstat(name); err != nil && !l.skipped(name) {
			n.alter(name)
		}
	}
	return nil
}

// skipped reports whether a path lies in a directory that is not looked at.
func (l layer) skipped(name string) bool {
	for ; name != "."; name = filepath.Dir(name) {
		if l.skip[name] {
			return true
		}
	}
	return false
}

// comparison is one look at a layer.
type comparison struct {
	layer
	*notes
	over, under *os.Root
}

// folder looks at a folder that stands in the layer and stood before. It hides
// what is below if one above it does.
func (c *comparison) folder(name string, hides bool) error {
	names, err := readNames(c.over, name)
	if errors.Is(err, fs.ErrPermission) {
		return c.lose(name) // it is not known what is in it
	}
	if err != nil {
		return passing(err)
	}
	hides = hides || name != "." && isOpaque(filepath.Join(c.upper, name))
	if hides {
		if err := c.loseOthers(name, names); err != nil {
			return err
		}
	}
	for _, entry := range names {
		if err := errors.Join(c.ended(), c.entry(filepath.Join(name, entry), hides)); err != nil {
			return err
		}
	}
	return nil
}

// entry looks at one path of the layer.
func (c *comparison) entry(name string, hides bool) error {
	if c.skip[name] {
		return nil
	}
	info, err := c.over.Lstat(name)
	if err != nil {
		return passing(err)
	}
	before, was, err := c.before(name)
	if err != nil {
		return err
	}
	switch {
	case isWhiteout(info):
		if was {
			return c.lose(name)
		}
		return nil
	case info.IsDir() && was && before.mode.IsDir():
		return c.folder(name, hides)
	case info.IsDir():
		if was {
			c.alter(name)
		}
		return c.gain(name)
	case !was:
		c.add(name)
		return nil
	case before.mode.IsDir():
		c.add(name)
		return c.lose(name)
	}
	return c.file(name, info, before)
}

// file looks at a file of the layer that was one before, too.
func (c *comparison) file(name string, info fs.FileInfo, before standing) error {
	if laid, put := c.laid[name]; put && laid == markOf(info) {
		return nil
	}
	c.write(name)
	now, err := standingIn(c.over, name, info)
	if err != nil {
		return passing(err)
	}
	if !now.same(before) {
		c.alter(name)
	}
	return nil
}

// before is what stood at a path when the layer was made.
func (c *comparison) before(name string) (s standing, was bool, err error) {
	if put, ok := c.puts[name]; ok && !put.Gone {
		s, err = standingPut(put)
		return s, true, err
	}
	if c.folders[name] {
		return standing{mode: fs.ModeDir}, true, nil
	}
	for at := name; at != "."; at = filepath.Dir(at) {
		if c.gone[at] {
			return s, false, nil
		}
		if _, put := c.laid[at]; put && at != name { // a file stood in the place of a folder
			return s, false, nil
		}
	}
	info, err := c.under.Lstat(name)
	if err != nil {
		return s, false, nil //nolint:nilerr // nothing is there, or a file in the place of a folder
	}
	if info.IsDir() {
		return standing{mode: fs.ModeDir}, true, nil
	}
	s, err = standingIn(c.under, name, info)
	return s, true, passing(err)
}

// laidBelow lists what was put below a path.
func (c *comparison) laidBelow(name string) []string {
	if !c.folders[name] {
		return nil
	}
	var out []string
	for put := range c.laid {
		if strings.HasPrefix(put, name+string(filepath.Separator)) {
			out = append(out, put)
		}
	}
	return out
}

// lose notes that all files which stood at or below a path are gone.
func (c *comparison) lose(name string) error {
	if c.skip[name] {
		return nil
	}
	before, was, err := c.before(name)
	if err != nil || !was {
		return err
	}
	if !before.mode.IsDir() {
		c.alter(name)
		return nil
	}
	for _, put := range c.laidBelow(name) {
		c.alter(put)
	}
	names, err := readNames(c.under, name)
	if err != nil {
		return passing(err)
	}
	for _, entry := range names {
		if err := errors.Join(c.ended(), c.lose(filepath.Join(name, entry))); err != nil {
			return err
		}
	}
	return nil
}

// loseOthers notes what stood in a folder and is hidden there now.
func (c *comparison) loseOthers(name string, kept []string) error {
	there := map[string]bool{}
	for _, entry := range kept {
		there[entry] = true
	}
	names, err := readNames(c.under, name)
	if err != nil {
		return passing(err)
	}
	for _, entry := range names {
		if !there[entry] {
			if err := c.lose(filepath.Join(name, entry)); err != nil {
				return err
			}
		}
	}
	return nil
}

// gain notes that all files at or below a path of the layer are new.
func (c *comparison) gain(name string) error {
	info, err := c.over.Lstat(name)
	if err != nil || isWhiteout(info) || c.skip[name] {
		return passing(err)
	}
	if !info.IsDir() {
		c.add(name)
		return nil
	}
	names, err := readNames(c.over, name)
	if err != nil {
		return passing(err)
	}
	for _, entry := range names {
		if err := errors.Join(c.ended(), c.gain(filepath.Join(name, entry))); err != nil {
			return err
		}
	}
	return nil
}
