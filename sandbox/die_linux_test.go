package sandbox_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestShellDiesWithItsParent(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), helperLine+"=echo $$; exec sleep 1000")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid = strings.TrimSpace(pid)
	if !alive(t, pid) {
		t.Fatal("the command did not run")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	awaitGone(t, pid)
}
