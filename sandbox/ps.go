package sandbox

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// psPatience is how long ps may take.
const psPatience = 5 * time.Second

// processesByPS lists what runs where there is no /proc.
func processesByPS() ([]process, error) {
	ctx, cancel := context.WithTimeout(context.Background(), psPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/ps", "-A", "-o", "pid=,ppid=,pgid=,stat=,time=,args=")
	cmd.Env = []string{"LC_ALL=C"}
	list, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	var out []process
	for line := range strings.Lines(string(list)) {
		if p, ok := readPS(line); ok {
			out = append(out, p)
		}
	}
	return out, nil
}

// readPS reads one line of ps.
func readPS(line string) (process, bool) {
	fields := strings.Fields(line)
	if len(fields) < 5 {
		return process{}, false
	}
	var ids [3]int
	for i := range ids {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			return process{}, false
		}
		ids[i] = n
	}
	return process{
		PID:    ids[0],
		Parent: ids[1],
		Group:  ids[2],
		Zombie: strings.HasPrefix(fields[3], "Z"),
		Used:   psTime(fields[4]),
		Line:   strings.Join(fields[5:], " "),
	}, true
}

// psTime reads a time as ps writes one: [[days-]hours:]minutes:seconds, with
// hundredths on macOS.
func psTime(text string) time.Duration {
	days, rest, ok := strings.Cut(text, "-")
	if !ok {
		days, rest = "0", text
	}
	n, _ := strconv.Atoi(days) // ps writes numbers
	seconds := 0.0
	for part := range strings.SplitSeq(rest, ":") {
		x, _ := strconv.ParseFloat(part, 64)
		seconds = seconds*60 + x
	}
	return time.Duration(n)*24*time.Hour + time.Duration(seconds*float64(time.Second))
}
