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
	puts         map[string]Put       // by path in it
	putStamps    map[string]fileStamp // how those stand in upper, but for what is gone
	putDirs      map[string]bool      // that lead to those
	deleted      map[string]bool      // paths at which nothing stood when the layer was made
	unwatched    map[string]bool      // directories that are not looked at
}

// newLayer notes how a layer stands that puts were written into.
func newLayer(upper, lower string, puts []namedPut, skip map[string]bool) (layer, error) {
	l := layer{
		upper:     upper,
		lower:     lower,
		unwatched: skip,
		puts:      map[string]Put{},
		putStamps: map[string]fileStamp{},
		putDirs:   map[string]bool{},
		deleted:   map[string]bool{},
	}
	for _, p := range puts {
		l.puts[p.name] = p.put
	}
	for name, put := range l.puts {
		if put.Deleted {
			l.deleted[name] = true
			l.addParents(filepath.Dir(name), l.deleted, l.isDeleted)
			continue
		}
		info, err := os.Lstat(filepath.Join(upper, name))
		if err != nil {
			return l, err //nolint:wrapcheck // names the path
		}
		l.putStamps[name] = stampOf(info)
		l.addParents(filepath.Dir(name), l.putDirs, func(string) bool { return true })
	}
	return l, nil
}

// addParents notes the folders that lead to a path, those that are fit.
func (l layer) addParents(name string, in map[string]bool, fit func(string) bool) {
	for ; name != "."; name = filepath.Dir(name) {
		if fit(name) {
			in[name] = true
		}
	}
}

// isDeleted reports whether a path is marked as gone.
func (l layer) isDeleted(name string) bool {
	info, err := os.Lstat(filepath.Join(l.upper, name))
	return err == nil && isWhiteout(info)
}

// compare notes how the layer stands against how it was made.
func (l layer) compare(n *changeRecorder) error {
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
	c := &layerComparison{
		layer:          l,
		changeRecorder: n,
		upperRoot:      upper,
		lowerRoot:      lower,
	}
	if err := c.compareDir(".", false); err != nil {
		return err
	}
	for name := range l.putStamps { // what was put and has nothing below leaves no mark
		if _, err := upper.Lstat(name); err != nil && !l.inUnwatched(name) {
			n.recordAltered(name)
		}
	}
	return nil
}

// inUnwatched reports whether a path lies in a directory that is not looked at.
func (l layer) inUnwatched(name string) bool {
	for ; name != "."; name = filepath.Dir(name) {
		if l.unwatched[name] {
			return true
		}
	}
	return false
}

// layerComparison is one look at a layer.
type layerComparison struct {
	layer
	*changeRecorder
	upperRoot, lowerRoot *os.Root
}

// compareDir looks at a folder that stands in the layer and stood before. It hides
// what is below if one above it does.
func (c *layerComparison) compareDir(name string, hides bool) error {
	names, err := readNames(c.upperRoot, name)
	if errors.Is(err, fs.ErrPermission) {
		return c.recordTreeRemoved(name) // it is not known what is in it
	}
	if err != nil {
		return ignoreConcurrentChange(err)
	}
	hides = hides || name != "." && isOpaque(filepath.Join(c.upper, name))
	if hides {
		if err := c.recordHiddenRemoved(name, names); err != nil {
			return err
		}
	}
	for _, entry := range names {
		if err := errors.Join(c.cancelled(), c.compareEntry(filepath.Join(name, entry), hides)); err != nil {
			return err
		}
	}
	return nil
}

// compareEntry looks at one path of the layer.
func (c *layerComparison) compareEntry(name string, hides bool) error {
	if c.unwatched[name] {
		return nil
	}
	info, err := c.upperRoot.Lstat(name)
	if err != nil {
		return ignoreConcurrentChange(err)
	}
	before, existed, err := c.stateBefore(name)
	if err != nil {
		return err
	}
	switch {
	case isWhiteout(info):
		if existed {
			return c.recordTreeRemoved(name)
		}
		return nil
	case info.IsDir() && existed && before.mode.IsDir():
		return c.compareDir(name, hides)
	case info.IsDir():
		if existed {
			c.recordAltered(name)
		}
		return c.recordTreeAdded(name)
	case !existed:
		c.recordAdded(name)
		return nil
	case before.mode.IsDir():
		c.recordAdded(name)
		return c.recordTreeRemoved(name)
	}
	return c.compareFile(name, info, before)
}

// compareFile looks at a file of the layer that was one before, too.
func (c *layerComparison) compareFile(name string, info fs.FileInfo, before fileState) error {
	if laid, put := c.putStamps[name]; put && laid == stampOf(info) {
		return nil
	}
	c.recordWritten(name)
	now, err := stateIn(c.upperRoot, name, info)
	if err != nil {
		return ignoreConcurrentChange(err)
	}
	if !now.equal(before) {
		c.recordAltered(name)
	}
	return nil
}

// stateBefore is what stood at a path when the layer was made.
func (c *layerComparison) stateBefore(name string) (s fileState, existed bool, err error) {
	if put, ok := c.puts[name]; ok && !put.Deleted {
		s, err = stateOfPut(put)
		return s, true, err
	}
	if c.putDirs[name] {
		return fileState{mode: fs.ModeDir}, true, nil
	}
	for at := name; at != "."; at = filepath.Dir(at) {
		if c.deleted[at] {
			return s, false, nil
		}
		if _, put := c.putStamps[at]; put && at != name { // a file stood in the place of a folder
			return s, false, nil
		}
	}
	info, err := c.lowerRoot.Lstat(name)
	if err != nil {
		return s, false, nil //nolint:nilerr // nothing is there, or a file in the place of a folder
	}
	if info.IsDir() {
		return fileState{mode: fs.ModeDir}, true, nil
	}
	s, err = stateIn(c.lowerRoot, name, info)
	return s, true, ignoreConcurrentChange(err)
}

// putsBelow lists what was put below a path.
func (c *layerComparison) putsBelow(name string) []string {
	if !c.putDirs[name] {
		return nil
	}
	var out []string
	for put := range c.putStamps {
		if strings.HasPrefix(put, name+string(filepath.Separator)) {
			out = append(out, put)
		}
	}
	return out
}

// recordTreeRemoved notes that all files which stood at or below a path are gone.
func (c *layerComparison) recordTreeRemoved(name string) error {
	if c.unwatched[name] {
		return nil
	}
	before, existed, err := c.stateBefore(name)
	if err != nil || !existed {
		return err
	}
	if !before.mode.IsDir() {
		c.recordAltered(name)
		return nil
	}
	for _, put := range c.putsBelow(name) {
		c.recordAltered(put)
	}
	names, err := readNames(c.lowerRoot, name)
	if err != nil {
		return ignoreConcurrentChange(err)
	}
	for _, entry := range names {
		if err := errors.Join(c.cancelled(), c.recordTreeRemoved(filepath.Join(name, entry))); err != nil {
			return err
		}
	}
	return nil
}

// recordHiddenRemoved notes what stood in a folder and is hidden there now.
func (c *layerComparison) recordHiddenRemoved(name string, kept []string) error {
	keeps := map[string]bool{}
	for _, entry := range kept {
		keeps[entry] = true
	}
	names, err := readNames(c.lowerRoot, name)
	if err != nil {
		return ignoreConcurrentChange(err)
	}
	for _, entry := range names {
		if !keeps[entry] {
			if err := c.recordTreeRemoved(filepath.Join(name, entry)); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordTreeAdded notes that all files at or below a path of the layer are new.
func (c *layerComparison) recordTreeAdded(name string) error {
	info, err := c.upperRoot.Lstat(name)
	if err != nil || isWhiteout(info) || c.unwatched[name] {
		return ignoreConcurrentChange(err)
	}
	if !info.IsDir() {
		c.recordAdded(name)
		return nil
	}
	names, err := readNames(c.upperRoot, name)
	if err != nil {
		return ignoreConcurrentChange(err)
	}
	for _, entry := range names {
		if err := errors.Join(c.cancelled(), c.recordTreeAdded(filepath.Join(name, entry))); err != nil {
			return err
		}
	}
	return nil
}
