package tools

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// errTooLarge and errBinary are reasons not to look into a file.
var (
	errTooLarge = errors.New("it is too large")
	errBinary   = errors.New("it is binary")
)

// reader loads one file after another. It keeps its buffers and the directory
// that it is in, because finding a file from the root again costs more than
// reading it.
type reader struct {
	root    *os.Root
	dir     string
	sub     *os.Root
	buf     []byte
	scratch []byte // for whoever works on what was loaded
}

func (r *reader) close() {
	if r.sub != nil {
		_ = r.sub.Close() // only read from
		r.sub = nil
	}
}

// load reads a text file of at most maxSize bytes. What it returns is valid
// until the next call. A file that was named may be a symbolic link; one of a
// listing is not followed, because its target, if it is inside, is listed too.
func (r *reader) load(name string, named bool, maxSize int64) ([]byte, error) {
	open := r.openListed
	if named {
		open = r.openNamed
	}
	f, info, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read from
	if info.Size() > maxSize {
		return nil, errTooLarge
	}
	return r.text(f, int(info.Size()))
}

func (r *reader) openNamed(name string) (*os.File, fs.FileInfo, error) {
	return openRegular(r.root, name)
}

func (r *reader) openListed(name string) (*os.File, fs.FileInfo, error) {
	dir, base := path.Split(name)
	if r.sub == nil || dir != r.dir {
		r.close()
		sub, err := r.root.OpenRoot(path.Clean(dir))
		if err != nil {
			return nil, nil, err //nolint:wrapcheck // explain words it for the model
		}
		r.dir, r.sub = dir, sub
	}
	return openLooked(r.sub, base, r.sub.Lstat)
}

// text reads the first size bytes of f, if they are text.
func (r *reader) text(f io.Reader, size int) ([]byte, error) {
	if cap(r.buf) < size {
		r.buf = make([]byte, size+size/4)
	}
	buf := r.buf[:size]
	n, err := io.ReadFull(f, buf[:min(size, sniffBytes)])
	if binary(buf[:n]) {
		return nil, errBinary
	}
	if err == nil && n < size {
		var more int
		more, err = io.ReadFull(f, buf[n:])
		n += more
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // the file got shorter
	}
	return buf[:n], err
}
