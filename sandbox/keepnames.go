package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/scratch"
)

// savedNames are the names in a directory, as they were when a wall was planned.
type savedNames struct {
	CodeDir
	Root  string // the directory that may be written
	ID    uint64 // of the directory, 0 where there was none
	Names []string
	// Reach is what commands could write, but for what is hidden from them.
	Reach, Hidden []string
}

// saveNames notes the policy's CodeIn, as far as the level does not keep them.
func saveNames(l Level, p Policy) ([]savedNames, error) {
	var out []savedNames
	for _, in := range p.CodeIn {
		i := slices.IndexFunc(p.writable(), func(dir string) bool { return within(in.Dir, dir) })
		if i < 0 || p.keeps(l, in.Dir) {
			continue
		}
		k := savedNames{
			CodeDir: in,
			Root:    p.writable()[i],
			Reach:   append(p.writable(), p.uppers()...),
			Hidden:  p.Hidden,
		}
		root, dir, err := k.open()
		if err == nil {
			k.ID, k.Names, err = listed(dir)
			err = errors.Join(err, dir.Close(), root.Close())
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("sandbox: note what is in %s: %w", in.Dir, err)
		}
		out = append(out, k)
	}
	return out, nil
}

func listed(dir *os.File) (id uint64, names []string, err error) {
	info, err := dir.Stat()
	if err != nil {
		return 0, nil, err //nolint:wrapcheck // names the path
	}
	names, err = dir.Readdirnames(-1)
	id, _ = identityOf(info)
	return id, names, err //nolint:wrapcheck // names the path
}

// open opens the directory, without following links out of the root.
func (k savedNames) open() (*os.Root, *os.File, error) {
	root, err := os.OpenRoot(k.Root)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // names the path
	}
	name, err := filepath.Rel(k.Root, k.Dir)
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
	if k.ID == 0 && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.Close(), root.Close()) }()
	id, names, err := listed(dir)
	if err != nil {
		return nil, err
	}
	if k.ID != 0 && id != k.ID {
		return nil, errors.New("another directory is there")
	}
	below, err := filepath.Rel(k.Root, k.Dir)
	if err != nil {
		return nil, err //nolint:wrapcheck // cannot happen in the root
	}
	for _, name := range names {
		path := filepath.Join(k.Dir, name)
		if slices.Contains(k.Names, name) || k.isData(name) || k.Linked && k.isOfOthers(path) {
			continue
		}
		removed = append(removed, path)
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

// isOfOthers reports whether a folder of git's belongs to a work tree that commands
// could not have made, since it lies where they cannot write and leads back.
func (k savedNames) isOfOthers(path string) bool {
	var link string
	if text, err := readSmall(filepath.Join(path, "gitdir")); err == nil {
		link = strings.TrimSpace(text)
	} else if text, err := readSmall(filepath.Join(path, "config")); err == nil { // a submodule's
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(line, "=")
			if strings.TrimSpace(name) == "worktree" {
				link = filepath.Join(path, strings.TrimSpace(value), ".git")
			}
		}
	}
	link, err := filepath.EvalSymlinks(link)
	if err != nil || !filepath.IsAbs(link) || strings.Contains(link, "/"+scratch.Wall) {
		return false
	}
	if deepest(link, k.Reach) > deepest(link, k.Hidden) {
		return false
	}
	text, err := readSmall(link)
	back, ok := strings.CutPrefix(strings.TrimSpace(text), "gitdir: ")
	if err != nil || !ok {
		return false
	}
	if !filepath.IsAbs(back) {
		back = filepath.Join(filepath.Dir(link), back)
	}
	is, err := os.Stat(back)
	ours, oursErr := os.Lstat(path)
	return err == nil && oursErr == nil && os.SameFile(is, ours)
}

// deepest is how long the path is of the innermost directory that a path lies in, 0
// for none.
func deepest(path string, dirs []string) int {
	most := 0
	for _, dir := range dirs {
		if within(path, dir) {
			most = max(most, len(dir))
		}
	}
	return most
}

// readSmall reads a file that is one, and not large.
func readSmall(path string) (string, error) {
	const most = 1 << 20
	info, err := os.Lstat(path)
	if err != nil {
		return "", err //nolint:wrapcheck // names the path
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return "", fmt.Errorf("%s is no small file", path)
	}
	text, err := os.ReadFile(path)
	return string(text), err
}
