package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// treeSnapshot is how the files of a tree look from outside: enough to see any
// write, chmod, chown or touch.
type treeSnapshot map[string]fileSnapshot

type fileSnapshot struct {
	mode  fs.FileMode
	size  int64
	mtime time.Time
	owner [2]uint32
	inode uint64
}

// snapshotTree looks at every path in a directory but those in unwatched ones.
func snapshotTree(dir string, unwatched []string) (treeSnapshot, error) {
	out := treeSnapshot{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && slices.Contains(unwatched, path) {
			return fs.SkipDir
		}
		if os.IsNotExist(err) || os.IsPermission(err) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look at %s: %w", path, err)
		}
		p := fileSnapshot{
			mode:  info.Mode(),
			size:  info.Size(),
			mtime: info.ModTime(),
		}
		p.inode, p.owner = identityOf(info)
		out[path] = p
		return nil
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // names the path
	}
	return out, nil
}

// changed lists what is not the same any more, sorted.
func (p treeSnapshot) changed(now treeSnapshot) []string {
	var out []string
	for path, before := range p {
		if is, ok := now[path]; !ok || !is.equal(before) {
			out = append(out, path)
		}
	}
	for path := range now {
		if _, ok := p[path]; !ok {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

func (p fileSnapshot) equal(q fileSnapshot) bool {
	return p.mode == q.mode && p.size == q.size && p.mtime.Equal(q.mtime) && p.owner == q.owner && p.inode == q.inode
}
