package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrReplaced says that the file that is open is not the one under its name.
var ErrReplaced = errors.New("the file was deleted or replaced while it was in use")

// files are the files of an open database, as they were found.
type files struct{ known map[string]os.FileInfo }

// remember notes which files there are. The log comes and goes with the
// connections, so while one is open it stays the same file.
func (f *files) remember(path string) error {
	f.known = map[string]os.FileInfo{}
	for _, name := range []string{path, path + "-wal"} {
		info, err := os.Stat(name)
		switch {
		case err == nil:
			f.known[name] = info
		case name == path || !errors.Is(err, fs.ErrNotExist):
			return err //nolint:wrapcheck // it names the file
		}
	}
	return nil
}

// check fails when a file was taken away. SQLite goes on writing to a file that
// has no name any more, without an error, and no process will ever read it.
func (f *files) check() error {
	for name, info := range f.known {
		now, err := os.Stat(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err //nolint:wrapcheck // it names the file
		}
		if err != nil || !os.SameFile(info, now) {
			return fmt.Errorf("%w (%s)", ErrReplaced, name)
		}
	}
	return nil
}
