package terminal

import "golang.org/x/sys/unix"

// flush throws away what a terminal has and no process has read, half a line
// included.
func flush(fd int) {
	_ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) // a terminal that is gone has nothing
}
