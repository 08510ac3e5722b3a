package tools

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	sys "golang.org/x/sys/unix"
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
	in      *os.File // that directory
	buf     []byte
	scratch []byte // for callers that work on what was loaded
}

func (r *reader) close() {
	if r.in != nil {
		_ = r.in.Close() // only read from
		r.in = nil
	}
}

// load reads a text file of at most maxSize bytes. What it returns is valid
// until the next call. A file that was named may be a symbolic link; one of a
// listing is not followed, because its target, if it is inside, is listed too.
func (r *reader) load(name string, named bool, maxSize int64) ([]byte, error) {
	if !named {
		return r.loadListed(name, maxSize)
	}
	f, info, err := openRegular(r.root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read from
	if info.Size() > maxSize {
		return nil, errTooLarge
	}
	return r.text(f, int(info.Size()))
}

// loadListed reads a file by its directory and with as few calls of the system
// as there can be: a search is made of them. The name has no slash and is not
// followed, so it cannot lead outside; what is no file is not waited for.
func (r *reader) loadListed(name string, maxSize int64) ([]byte, error) {
	base, err := r.enter(name)
	if err != nil {
		return nil, err
	}
	const flags = sys.O_RDONLY | sys.O_NONBLOCK | sys.O_NOFOLLOW | sys.O_CLOEXEC
	fd, err := retryInterrupted(func() (int, error) { return sys.Openat(int(r.in.Fd()), base, flags, 0) })
	if errors.Is(err, sys.ELOOP) {
		err = notRegular{fs.ModeSymlink}
	}
	if err != nil {
		return nil, err
	}
	defer sys.Close(fd) //nolint:errcheck // only read from
	var info sys.Stat_t
	if _, err := retryInterrupted(func() (int, error) { return 0, sys.Fstat(fd, &info) }); err != nil {
		return nil, err
	}
	switch {
	case info.Mode&sys.S_IFMT != sys.S_IFREG:
		return nil, notRegular{fs.ModeIrregular}
	case info.Size > maxSize:
		return nil, errTooLarge
	}
	return r.text(descriptor(fd), int(info.Size))
}

// enter opens the directory of a file, and returns what the file is called there.
func (r *reader) enter(name string) (string, error) {
	dir, base := path.Split(name)
	if r.in == nil || dir != r.dir {
		r.close()
		in, err := r.root.Open(path.Clean(dir))
		if err != nil {
			return "", err //nolint:wrapcheck // explain words it for the model
		}
		r.dir, r.in = dir, in
	}
	return base, nil
}

// descriptor reads from an open file.
type descriptor int

// Read implements io.Reader.
func (d descriptor) Read(into []byte) (int, error) {
	n, err := retryInterrupted(func() (int, error) { return sys.Read(int(d), into) })
	switch {
	case err != nil:
		return 0, err
	case n == 0 && len(into) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// retryInterrupted makes a call of the system until no signal comes between.
func retryInterrupted(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, sys.EINTR) {
			return n, err
		}
	}
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
