package worktree_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/plan-engine/plan/worktree"
)

// TestSweepRemovesWhatTheKilledLeft makes a view in a process that is then
// killed. The view of a living process stays.
func TestSweepRemovesWhatTheKilledLeft(t *testing.T) {
	if dir := os.Getenv("PLAN_SWEEP_CHILD"); dir != "" {
		repo, err := worktree.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		v := view(t, repo)
		fmt.Println("view:" + v.Dir)
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
		return
	}
	t.Setenv("TMPDIR", t.TempDir())
	_, dir := start(t, map[string]string{"a": "1\n"})
	cmd := exec.Command(os.Args[0], "-test.run=^TestSweepRemovesWhatTheKilledLeft$")
	cmd.Env = append(os.Environ(), "PLAN_SWEEP_CHILD="+dir)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	left := ""
	for lines := bufio.NewScanner(stdout); left == "" && lines.Scan(); {
		left, _ = strings.CutPrefix(lines.Text(), "view:")
		if left == lines.Text() {
			left = ""
		}
	}
	exists := func() bool { _, err := os.Stat(left); return err == nil }
	worktree.Sweep()
	if left == "" || !exists() {
		t.Fatalf("the view %q of a living process is gone", left)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	worktree.Sweep()
	if exists() {
		t.Errorf("%s is still there", left)
	}
}
