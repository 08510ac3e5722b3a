// Package plainfile reads files of which others may have made something else. A pipe
// would be waited for until a process writes into it, and a device has no end.
package plainfile

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// TypeError says that a path is no file, where one was to be read.
type TypeError struct{ Path string }

// Error implements error.
func (e *TypeError) Error() string { return e.Path + " is no regular file" }

// Most is how many bytes a file has at most that [Read] reads: none that is part of a
// repository's data or settings comes near.
const Most = 64 << 20

// Open is [os.Open] for what is a file.
func Open(path string) (*os.File, error) { return open(os.OpenFile, path) }

// OpenIn is [os.Root.Open] for what is a file.
func OpenIn(root *os.Root, name string) (*os.File, error) { return open(root.OpenFile, name) }

func open(by func(name string, flag int, perm os.FileMode) (*os.File, error), path string) (*os.File, error) {
	f, err := by(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = &os.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	case !info.Mode().IsRegular():
		err = &TypeError{Path: path}
	default:
		return f, nil
	}
	_ = f.Close() // nothing was read
	return nil, err
}

// Read is [os.ReadFile] for what is a file and has no more than [Most] bytes.
func Read(path string) ([]byte, error) { return UpTo(path, Most) }

// UpTo is [Read] with a limit of the caller's.
func UpTo(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	var data []byte
	info, err := f.Stat()
	size := int64(0)
	if err == nil {
		if size = info.Size(); size <= most {
			data, err = io.ReadAll(io.LimitReader(f, most+1)) // it may grow meanwhile
		}
	}
	if err == nil && max(size, int64(len(data))) > most {
		err = fmt.Errorf("%s is larger than %d KiB", path, most>>10)
	}
	return data, err
}
