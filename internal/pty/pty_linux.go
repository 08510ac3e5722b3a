package pty

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Open makes a pseudo-terminal, which is closed with the test: what is written to
// keys is typed on it, and what is read from keys is what stands on the screen.
func Open(t *testing.T) (keys, tty *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keys.Close() })
	conn, err := keys.SyscallConn() // Fd would let no Close end a Read, and no terminal hang up
	if err != nil {
		t.Fatal(err)
	}
	var n int
	unlock := func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
			n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	}
	if failed := conn.Control(unlock); failed != nil || err != nil {
		t.Fatal(failed, err)
	}
	if tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return keys, tty
}

// Typed is how many bytes were typed on a terminal that no process has read, in
// lines that were ended.
func Typed(t *testing.T, tty *os.File) int {
	t.Helper()
	n, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCINQ)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
