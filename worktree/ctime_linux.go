package worktree

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime is when a file was last written to, renamed or given other rights,
// which no program can set.
func changeTime(info fs.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Ctim.Unix())
	}
	return info.ModTime()
}
