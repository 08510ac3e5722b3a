package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// clockTick is the unit of processor time in /proc, on every architecture that
// Go knows.
const clockTick = 10 * time.Millisecond

// processes lists what runs, as far as /proc shows it.
func processes() ([]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	var out []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended
		}
		if p, ok := readStat(pid, stat); ok {
			out = append(out, p)
		}
	}
	return out, nil
}

// readStat reads what the kernel says of a process. Its name stands in brackets
// and may hold anything, brackets too.
func readStat(pid int, stat []byte) (process, bool) {
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 15 {
		return process{}, false
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(fields[i]) // the kernel writes numbers
		return n
	}
	return process{
		PID:    pid,
		Zombie: fields[0] == "Z" || fields[0] == "X",
		Parent: number(1),
		Group:  number(2),
		Used:   time.Duration(number(11)+number(12)+number(13)+number(14)) * clockTick,
	}, true
}

// rawCommandLine is the command line of a process, "" if it has ended.
func rawCommandLine(p process) string {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/cmdline")
	if err != nil {
		return ""
	}
	return string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
}

// leaveNoCore keeps a process from leaving a core file when SIGQUIT ends it. A
// limit of one byte, unlike none, also holds where cores go to a program.
func leaveNoCore(pid int) {
	var limit unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &limit) == nil {
		limit.Cur = min(limit.Max, 1)
		_ = unix.Prlimit(pid, unix.RLIMIT_CORE, &limit, nil) // it may have ended
	}
}
