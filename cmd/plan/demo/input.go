package demo

import (
	"io"
	"os"
)

// heldInput is standard input where another program holds its other end, else nil. A
// terminal would stop a process in the background that reads from it, and /dev/null,
// which is what such a process gets from a shell, ends at once.
func heldInput(in io.Reader) io.Reader {
	f, ok := in.(*os.File)
	if !ok {
		return in
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return nil
	}
	return in
}
