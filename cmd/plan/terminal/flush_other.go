//go:build !linux

package terminal

import "golang.org/x/sys/unix"

// flush reads away the lines that a terminal has and no process has read.
func flush(fd int) {
	rest := make([]byte, 4096)
	for {
		ready, err := readable(fd, 0)
		if err != nil || !ready {
			return
		}
		if n, err := unix.Read(fd, rest); n <= 0 || err != nil {
			return
		}
	}
}
