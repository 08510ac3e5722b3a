package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// prints is how the files of a tree look from outside: enough to see any
// write, chmod, chown or touch.
type prints map[string]print

type print struct {
	mode  fs.FileMode
	size  int64
	mtime time.Time
	owner [2]uint32
	inode uint64
}

// printsOf looks at every path in a directory but those in unwatched ones.
func printsOf(dir string, unwatched []string) (prints, error) {
	out := prints{}
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
		p := print{
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
func (p prints) changed(now prints) []string {
	var out []string
	for path, was := range p {
		if is, ok := now[path]; !ok || !is.same(was) {
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

func (p print) same(q print) bool {
	return p.mode == q.mode && p.size == q.size && p.mtime.Equal(q.mtime) && p.owner == q.owner && p.inode == q.inode
}
