//go:build unix

package scratch

import (
	"os"
	"syscall"
)

// own reports whether a folder is this user's, and closed to others as New makes it.
func own(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().Perm() == 0o700 && int64(st.Uid) == int64(os.Getuid())
}
