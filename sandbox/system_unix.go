//go:build unix

package sandbox

import (
	"io/fs"
	"os"
	"syscall"
)

// identityOf is which file it is and whose.
func identityOf(info fs.FileInfo) (inode uint64, owner [2]uint32) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino, [2]uint32{st.Uid, st.Gid}
	}
	return 0, owner
}

// lockFile takes the lock of an open file without waiting.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) //nolint:wrapcheck // the callers say what for
}

// waitForLock is lockFile, and waits until it is free.
func waitForLock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err != syscall.EINTR {
			return err //nolint:wrapcheck // the callers say what for
		}
	}
}
