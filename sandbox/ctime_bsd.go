//go:build darwin || freebsd || netbsd

package sandbox

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime is when anything about a file was last changed, which no program
// can set.
func changeTime(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctimespec.Unix())
	}
	return info.ModTime()
}
