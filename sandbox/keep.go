package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// savedPath is a file, a folder or nothing, as it was when a wall was planned. It
// is put back when the wall falls, for levels that can only grant.
type savedPath struct {
	Root    string // the directory that may be written
	Name    string // in it
	Entries map[string]savedEntry
}

func (k savedPath) path() string { return filepath.Join(k.Root, k.Name) }

// savedEntry is how one path was.
type savedEntry struct {
	Mode fs.FileMode
	Text string // of a file; where a symbolic link leads
}

// savePaths notes the policy's Code, as far as the level does not keep it.
func savePaths(l Level, p Policy) ([]savedPath, error) {
	var out []savedPath
	for _, path := range p.Code {
		if p.keeps(l, path) {
			continue
		}
		i := slices.IndexFunc(p.writable(), func(dir string) bool { return within(path, dir) })
		if i < 0 {
			continue
		}
		root := p.writable()[i]
		name, err := filepath.Rel(root, path)
		if err == nil {
			k := savedPath{Root: root, Name: name}
			if k.Entries, err = k.read(); err == nil {
				out = append(out, k)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("sandbox: note how %s is: %w", path, err)
		}
	}
	return out, nil
}

// keeps reports whether a level has a path stay as it is. Walls of mounts can do so
// with what is there, and with what lies in a directory that is fixed as a whole.
func (p Policy) keeps(l Level, path string) bool {
	switch l {
	case LevelNamespaces, LevelBubblewrap:
		return slices.ContainsFunc(p.Fixed, func(dir string) bool {
			_, err := os.Stat(dir)
			return err == nil && within(path, dir)
		})
	case LevelSeatbelt:
		return slices.ContainsFunc(p.Fixed, func(dir string) bool { return within(path, dir) })
	}
	return false
}

// Unenforced lists what is fixed by the policy and can be written all the same,
// because a level can only grant whole directories.
func (p Policy) Unenforced(l Level) []string {
	if l != LevelLandlock {
		return nil
	}
	var out []string
	for _, path := range p.Fixed {
		if slices.ContainsFunc(p.writable(), func(dir string) bool { return within(path, dir) }) {
			out = append(out, path)
		}
	}
	return out
}

// read reads what is there now, without following links out of the root.
func (k savedPath) read() (map[string]savedEntry, error) {
	root, err := os.OpenRoot(k.Root)
	if err != nil {
		return nil, err //nolint:wrapcheck // names the path
	}
	defer func() { _ = root.Close() }()
	out := map[string]savedEntry{}
	return out, readEntries(root, k.Name, out)
}

func readEntries(root *os.Root, name string, out map[string]savedEntry) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	is := savedEntry{Mode: info.Mode()}
	switch {
	case info.Mode().IsRegular():
		data, err := root.ReadFile(name)
		if err != nil {
			return err //nolint:wrapcheck // names the path
		}
		is.Text = string(data)
	case info.Mode()&fs.ModeSymlink != 0:
		if is.Text, err = root.Readlink(name); err != nil {
			return err //nolint:wrapcheck // names the path
		}
	case info.IsDir():
		dir, err := root.Open(name)
		if err != nil {
			return err //nolint:wrapcheck // names the path
		}
		names, err := dir.Readdirnames(-1)
		if err = errors.Join(err, dir.Close()); err != nil {
			return err
		}
		for _, below := range names {
			if err := readEntries(root, filepath.Join(name, below), out); err != nil {
				return err
			}
		}
	}
	out[name] = is
	return nil
}

// is reports whether what was read now is what was noted.
func (k savedPath) is(now map[string]savedEntry) bool { return maps.Equal(now, k.Entries) }

// putBack makes what was noted so again. It reports whether anything was not.
// Nothing that could interfere may be running any more.
func (k savedPath) putBack() (changed bool, err error) {
	if now, err := k.read(); err == nil && k.is(now) {
		return false, nil
	}
	root, err := os.OpenRoot(k.Root)
	if err != nil {
		return true, err //nolint:wrapcheck // names the path
	}
	defer func() { _ = root.Close() }()
	if err := root.RemoveAll(k.Name); err != nil {
		return true, err //nolint:wrapcheck // names the path
	}
	names := make([]string, 0, len(k.Entries))
	for name := range k.Entries {
		names = append(names, name)
	}
	slices.Sort(names) // folders before what is in them
	for _, name := range names {
		if err := k.Entries[name].write(root, name); err != nil {
			return true, err
		}
	}
	return true, nil
}

func (is savedEntry) write(root *os.Root, name string) error {
	var err error
	switch {
	case is.Mode.IsDir():
		err = root.MkdirAll(name, 0o755)
	case is.Mode&fs.ModeSymlink != 0:
		return root.Symlink(is.Text, name) //nolint:wrapcheck // names the path
	case is.Mode.IsRegular():
		err = errors.Join(root.MkdirAll(filepath.Dir(name), 0o755), root.WriteFile(name, []byte(is.Text), 0o600))
	}
	return errors.Join(err, root.Chmod(name, is.Mode.Perm()))
}
