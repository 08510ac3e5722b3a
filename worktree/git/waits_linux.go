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

// pipeOf is the pipe that a process, or one that it started, is just opening, "" for
// none. That takes no time unless it waits for the other end. The kernel is asked, and not
// the places where git reads settings and rules: they are more than anyone can list.
func pipeOf(pid int) string {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, task := range tasks {
		if path := opening(task); path != "" {
			if info, err := os.Stat(path); err == nil && info.Mode().Type() == fs.ModeNamedPipe {
				return path
			}
		}
		children, _ := os.ReadFile(filepath.Join(task, "children")) // the last may have ended
		for _, child := range strings.Fields(string(children)) {
			if pid, err := strconv.Atoi(child); err == nil {
				if path := pipeOf(pid); path != "" {
					return path
				}
			}
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
