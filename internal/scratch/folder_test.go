package scratch_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/plan-engine/plan/internal/scratch"
)

// TestSweepRemovesWhatTheKilledLeft makes a folder of each kind in a process that
// is then killed. Those of a living process stay, and so does what is not ours.
func TestSweepRemovesWhatTheKilledLeft(t *testing.T) {
	if in := os.Getenv("PLAN_SWEEP_CHILD"); in != "" {
		for _, prefix := range scratch.Temporary() {
			if _, err := scratch.New(in, prefix); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = os.Stdout.WriteString("made\n")
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
		return
	}
	t.Parallel()
	in := t.TempDir()
	others := map[string]os.FileMode{
		"plan-view-1":     0o755, // a person's own
		"plan-view-notes": 0o700,
		"plan-index-":     0o700,
	}
	for name, mode := range others {
		if err := os.Mkdir(filepath.Join(in, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(in, "plan-view-2")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSweepRemovesWhatTheKilledLeft$")
	cmd.Env = append(os.Environ(), "PLAN_SWEEP_CHILD="+in)
	stdin, err := cmd.StdinPipe()
	stdout, outErr := cmd.StdoutPipe()
	if err := errors.Join(err, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	count := func() int {
		entries, err := os.ReadDir(in)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries) - len(others) - 1
	}
	scratch.Sweep(in, scratch.Temporary()...)
	if got, want := count(), len(scratch.Temporary()); got != want {
		t.Errorf("%d folders of a living process are there, want %d", got, want)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	scratch.Sweep(in, scratch.Temporary()...)
	if count() != 0 {
		t.Errorf("%d folders more than those that are not ours", count())
	}
}

// TestFoldersAndSweeps makes folders while others sweep: none is taken from the one
// that made it.
func TestFoldersAndSweeps(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	done := make(chan struct{})
	var sweeps sync.WaitGroup
	for range 2 {
		sweeps.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					scratch.Sweep(in, scratch.Index)
				}
			}
		})
	}
	for range 300 {
		f, err := scratch.New(in, scratch.Index)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(f.Dir, "file"), nil, 0o600); err != nil {
			t.Fatal("the folder was swept away:", err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	sweeps.Wait()
}
