package git

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// noFileOf is the pipe that a process, or one that it started, is just opening, or a device
// that it has open; nil for neither. To open a pipe takes no time unless it waits for the
// other end. The kernel is asked, and not the places where git reads settings and rules:
// they are more than anyone can list. Devices are git's own alone, which has them open for
// what it takes for files: what it starts may draw random bytes there.
func noFileOf(pid int) *NoFileError { return noFileBelow(pid, programOf(pid)) }

// programOf is the program that a process runs, "" where it has ended.
func programOf(pid int) string {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)) // "" where it cannot be told
	return path
}

func noFileBelow(pid int, program string) *NoFileError {
	if device := deviceOf(pid); device != "" && programOf(pid) == program {
		return &NoFileError{
			Path:   device,
			Device: true,
		}
	}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, task := range tasks {
		if path := opening(task); path != "" {
			if info, err := os.Stat(path); err == nil && info.Mode().Type() == fs.ModeNamedPipe {
				return &NoFileError{Path: path}
			}
		}
		children, _ := os.ReadFile(filepath.Join(task, "children")) // the last may have ended
		for _, child := range strings.Fields(string(children)) {
			if pid, err := strconv.Atoi(child); err == nil {
				if at := noFileBelow(pid, program); at != nil {
					return at
				}
			}
		}
	}
	return nil
}

// endless are the devices that can be read for ever, by their minor numbers among those of
// memory. Of others, git itself opens null and the terminal.
var endless = map[uint32]bool{
	5: true, // zero
	7: true, // full
	8: true, // random
	9: true, // urandom
}

// deviceOf is the endless device that a process has open, "" for none.
func deviceOf(pid int) string {
	const memory = 1 // their major number
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, link := range open {
		var at unix.Stat_t
		if unix.Stat(link, &at) != nil || at.Mode&unix.S_IFMT != unix.S_IFCHR ||
			unix.Major(at.Rdev) != memory || !endless[unix.Minor(at.Rdev)] {
			continue
		}
		if path, err := os.Readlink(link); err == nil {
			return path
		}
	}
	return ""
}

// opening is the path that a thread is in the middle of opening, "" if it does something
// else.
func opening(task string) string {
	call, _ := os.ReadFile(filepath.Join(task, "syscall")) // one that has ended does nothing
	fields := strings.Fields(string(call))
	if len(fields) < 3 {
		return ""
	}
	at, name := strconv.Itoa(unix.AT_FDCWD), ""
	switch {
	case fields[0] == strconv.Itoa(unix.SYS_OPENAT):
		at, name = fields[1], fields[2]
	case fields[0] == "2" && runtime.GOARCH == "amd64": // open, which others do not have
		name = fields[1]
	default:
		return ""
	}
	path := textAt(task, name)
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	link := filepath.Join(task, "cwd")
	if fd, err := strconv.ParseUint(at, 0, 32); err == nil && int32(fd) >= 0 {
		link = filepath.Join(task, "fd", strconv.FormatUint(fd, 10))
	}
	dir, err := os.Readlink(link)
	if err != nil {
		return ""
	}
	return filepath.Join(dir, path)
}

// textAt is the text in the memory of a thread that ends with a zero byte.
func textAt(task, address string) string {
	from, err := strconv.ParseInt(address, 0, 64)
	if err != nil {
		return ""
	}
	memory, err := os.Open(filepath.Join(task, "mem"))
	if err != nil {
		return ""
	}
	defer func() { _ = memory.Close() }() // it was only read
	text := make([]byte, unix.PathMax)
	n, _ := memory.ReadAt(text, from) // less where the memory ends
	text, _, _ = bytes.Cut(text[:n], []byte{0})
	return string(text)
}
