package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// keepsake is a file, a folder or nothing, as it was when a wall was planned. It
// is put back when the wall falls, for levels that can only grant.
type keepsake struct {
	root string // the directory that may be written
	name string // in it
	was  map[string]kept
}

// kept is how one path was.
type kept struct {
	mode fs.FileMode
	text string // of a file; where a symbolic link leads
}

// keepsakes notes the policy's Code, as far as the level cannot keep it.
func keepsakes(l Level, p Policy) ([]keepsake, error) {
	var out []keepsake
	for _, path := range loose(l, p, p.Code) {
		i := slices.IndexFunc(p.writable(), func(dir string) bool { return within(path, dir) })
		root := p.writable()[i]
		name, err := filepath.Rel(root, path)
		if err == nil {
			k := keepsake{root: root, name: name}
			if k.was, err = k.look(); err == nil {
				out = append(out, k)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("sandbox: note how %s is: %w", path, err)
		}
	}
	return out, nil
}

// Unkept lists what is fixed by the policy and can be written all the same,
// because a level can only grant whole directories.
func (p Policy) Unkept(l Level) []string { return loose(l, p, p.Fixed) }

func loose(l Level, p Policy, paths []string) []string {
	if l != LevelLandlock {
		return nil
	}
	var out []string
	for _, path := range paths {
		if slices.ContainsFunc(p.writable(), func(dir string) bool { return within(path, dir) }) {
			out = append(out, path)
		}
	}
	return out
}

// look reads what is there now, without following links out of the root.
func (k keepsake) look() (map[string]kept, error) {
	root, err := os.OpenRoot(k.root)
	if err != nil {
		return nil, err //nolint:wrapcheck // names the path
	}
	defer func() { _ = root.Close() }()
	out := map[string]kept{}
	return out, lookAt(root, k.name, out)
}

func lookAt(root *os.Root, name string, out map[string]kept) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	is := kept{mode: info.Mode()}
	switch {
	case info.Mode().IsRegular():
		data, err := root.ReadFile(name)
		if err != nil {
			return err //nolint:wrapcheck // names the path
		}
		is.text = string(data)
	case info.Mode()&fs.ModeSymlink != 0:
		if is.text, err = root.Readlink(name); err != nil {
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
			if err := lookAt(root, filepath.Join(name, below), out); err != nil {
				return err
			}
		}
	}
	out[name] = is
	return nil
}

// putBack makes what was noted so again. It reports whether anything was not.
// Nothing that could interfere may be running any more.
func (k keepsake) putBack() (changed bool, err error) {
	now, err := k.look()
	if err == nil && len(now) == len(k.was) {
		same := true
		for name, was := range k.was {
			same = same && now[name] == was
		}
		if same {
			return false, nil
		}
	}
	root, err := os.OpenRoot(k.root)
	if err != nil {
		return true, err //nolint:wrapcheck // names the path
	}
	defer func() { _ = root.Close() }()
	if err := root.RemoveAll(k.name); err != nil {
		return true, err //nolint:wrapcheck // names the path
	}
	names := make([]string, 0, len(k.was))
	for name := range k.was {
		names = append(names, name)
	}
	slices.Sort(names) // folders before what is in them
	for _, name := range names {
		if err := k.was[name].write(root, name); err != nil {
			return true, err
		}
	}
	return true, nil
}

func (is kept) write(root *os.Root, name string) error {
	var err error
	switch {
	case is.mode.IsDir():
		err = root.MkdirAll(name, 0o755)
	case is.mode&fs.ModeSymlink != 0:
		return root.Symlink(is.text, name) //nolint:wrapcheck // names the path
	case is.mode.IsRegular():
		err = errors.Join(root.MkdirAll(filepath.Dir(name), 0o755), root.WriteFile(name, []byte(is.text), 0o600))
	}
	return errors.Join(err, root.Chmod(name, is.mode.Perm()))
}
