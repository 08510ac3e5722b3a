//go:build !linux

package worktree

import (
	"io/fs"
	"time"
)

// changeTime is when a file was last written to, as far as it says itself.
func changeTime(info fs.FileInfo) time.Time { return info.ModTime() }
