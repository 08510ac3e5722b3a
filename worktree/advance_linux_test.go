package worktree_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plan-engine/plan/internal/sampling"
	"github.com/plan-engine/plan/worktree"
)

// TestKilledCommits kills a process that commits, and all of its gits, at any moment. Who
// next holds the tree finds nothing in the way, and what is committed is the change alone.
func TestKilledCommits(t *testing.T) {
	t.Parallel()
	random := sampling.New(t)
	r, dir := start(t, map[string]string{"a": "x", "b": "x"})
	base := tree(t, r)
	put(t, dir, map[string]string{"a": "y", "new": "y"})
	theirs := tree(t, r)
	first := git(t, dir, "rev-parse", "HEAD")
	file := filepath.Join(t.TempDir(), "intent")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var whole time.Duration
	kills := 6
	if sampling.All() {
		kills = 24
	}
	for n := range 1 + kills {
		git(t, dir, "reset", "-q", "--hard", first)
		git(t, dir, "clean", "-qfd")
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), committing+"="+strings.Join([]string{dir, base, theirs, file}, ":"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		began := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if n > 0 { // the last part of the time is that of the commit
			<-time.After(whole/3 + time.Duration(random.Int64N(int64(whole*2/3))))
			killSession(t, cmd.Process.Pid)
		}
		err := cmd.Wait()
		if n == 0 {
			whole = time.Since(began)
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := r.Finish(t.Context(), file); err != nil {
			t.Fatalf("kill %d: %v", n, err)
		}
		_, _, err = r.MergeCommit(t.Context(), base, theirs, "y", worktree.Options{Intent: file})
		if err != nil && !strings.Contains(err.Error(), worktree.ErrNothing.Error()) {
			t.Errorf("kill %d: %v", n, err)
		}
		got := git(t, dir, "status", "--porcelain") + git(t, dir, "diff", "--name-only", first, "HEAD")
		if got != "a\nnew" {
			t.Errorf("kill %d: %q", n, got)
		}
	}
}

// killSession kills all processes of a session, in one pass over them while they stand still.
func killSession(t *testing.T, session int) {
	t.Helper()
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		stats, err := filepath.Glob("/proc/[0-9]*/stat")
		if err != nil {
			t.Fatal(err)
		}
		for _, stat := range stats {
			text, err := os.ReadFile(stat)
			if err != nil {
				continue // it has ended
			}
			fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
			if err == nil && fields[3] == strconv.Itoa(session) {
				_ = syscall.Kill(pid, sig) // it may have ended
			}
		}
	}
}
