package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// savedNames are the names in a directory, as they were when a wall was planned.
type savedNames struct {
	CodeDir
	root  string // the directory that may be written
	info  fs.FileInfo
	names []string
}

// saveNames notes the policy's CodeIn, as far as the level does not keep them.
func saveNames(l Level, p Policy) ([]savedNames, error) {
	var out []savedNames
	for _, in := range p.CodeIn {
		i := slices.IndexFunc(p.writable(), func(dir string) bool { return within(in.Dir, dir) })
		if i < 0 || p.keeps(l, in.Dir) {
			continue
		}
		k := savedNames{CodeDir: in, root: p.writable()[i]}
		root, dir, err := k.open()
		if err == nil {
			k.info, err = dir.Stat()
			names, readErr := dir.Readdirnames(-1)
			k.names = names
			err = errors.Join(err, readErr, dir.Close(), root.Close())
		}
		if err != nil {
			return nil, fmt.Errorf("sandbox: note what is in %s: %w", in.Dir, err)
		}
		out = append(out, k)
	}
	return out, nil
}

// open opens the directory, without following links out of the root.
func (k savedNames) open() (*os.Root, *os.File, error) {
	root, err := os.OpenRoot(k.root)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // names the path
	}
	name, err := filepath.Rel(k.root, k.Dir)
	if err != nil {
		return nil, nil, errors.Join(err, root.Close())
	}
	dir, err := root.Open(name)
	if err != nil {
		return nil, nil, errors.Join(err, root.Close())
	}
	return root, dir, nil
}

// removeNew removes what was made in the directory and holds no data, and returns
// the paths. Another directory in its place is an error, and is left alone.
func (k savedNames) removeNew() (removed []string, err error) {
	root, dir, err := k.open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.Close(), root.Close()) }()
	info, err := dir.Stat()
	if err != nil {
		return nil, err //nolint:wrapcheck // names the path
	}
	if !os.SameFile(info, k.info) {
		return nil, errors.New("another directory is there")
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err //nolint:wrapcheck // names the path
	}
	below, err := filepath.Rel(k.root, k.Dir)
	if err != nil {
		return nil, err //nolint:wrapcheck // cannot happen in the root
	}
	for _, name := range names {
		if slices.Contains(k.names, name) || k.isData(name) {
			continue
		}
		removed = append(removed, filepath.Join(k.Dir, name))
		err = errors.Join(err, root.RemoveAll(filepath.Join(below, name)))
	}
	return removed, err
}

func (k savedNames) isData(name string) bool {
	return slices.ContainsFunc(k.Data, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}
