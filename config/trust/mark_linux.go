package trust

import (
	"fmt"
	"io/fs"
	"syscall"
)

// mark is which file it is, and when it was last changed.
func mark(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprint(st.Dev, st.Ino, st.Ctim)
}
