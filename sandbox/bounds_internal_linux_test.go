package sandbox

import (
	"bufio"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWhatATaskHasStartedIsBounded: a task runs before it is bounded, and may have started others.
func TestWhatATaskHasStartedIsBounded(t *testing.T) {
	t.Parallel()
	const most = 96 << 20
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "sleep 60 & echo $!; wait")
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		_ = cmd.Wait() // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	started, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	boundMemory(cmd.Process.Pid, cmd.Process.Pid, most)
	for _, pid := range []int{cmd.Process.Pid, started} {
		var has unix.Rlimit
		if err := unix.Prlimit(pid, unix.RLIMIT_DATA, nil, &has); err != nil || has.Max != most {
			t.Errorf("process %d may reserve %d: %v", pid, has.Max, err)
		}
	}
}
