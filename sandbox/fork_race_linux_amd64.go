//go:build race

package sandbox

import "golang.org/x/sys/unix"

// lightFork keeps the race detector's memory out of the copies of this process. One that
// starts in a user namespace of its own begins as a copy, and to copy that memory takes a
// third of the time of tests that build walls. What runs in a copy before it becomes another
// program is raw system calls, which the detector does not watch. Where the memory is not,
// nothing is changed.
func lightFork() {
	for _, area := range [][2]uintptr{{0x2000_0000_0000, 0x21c0_0000_0000}, {0x3000_0000_0000, 0x4000_0000_0000}} {
		_, _, _ = unix.RawSyscall(unix.SYS_MADVISE, area[0], area[1]-area[0], unix.MADV_DONTFORK)
	}
}
