package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// dropFromCache drops what the kernel keeps of a file, so that it is read from the disk
// the next time. What the linker has just written lies in the page cache in
// larger pieces than what is read, and a process is charged for whole pieces.
func dropFromCache(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	return errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close())
}
