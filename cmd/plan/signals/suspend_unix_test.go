//go:build unix

package signals

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// TestMain also is a process that commits as fast as it can.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SUSPEND_TEST_DIR"); dir != "" {
		fmt.Println(commitAlways(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func commitAlways(dir string) error {
	ctx := context.Background()
	db, err := memory.Open(ctx, memory.Config{Path: filepath.Join(dir, "plan.db")})
	if err != nil {
		return err
	}
	Suspend(db.Away)
	w, err := db.Own(ctx, "R1")
	if err != nil {
		return err
	}
	next := plan.Event{Run: "R1", Time: time.Now(), Body: plan.RunStart{Repo: "/src", Config: []byte("{}")}}
	for n := 0; ; n++ {
		if _, err := w.Append(ctx, next); err != nil {
			return err
		}
		if next.Body = (plan.Report{Text: strings.Repeat("x", 5000)}); n == 0 {
			fmt.Println("goes")
		}
	}
}

// TestSuspend: a process that commits as fast as it can is stopped again and again, and
// never where others wait for it.
func TestSuspend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SUSPEND_TEST_DIR="+dir)
	cmd.Stderr = os.Stderr
	// A group of its own that is no orphan, as a shell would make it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	if said, err := bufio.NewReader(out).ReadString('\n'); err != nil || said != "goes\n" {
		t.Fatalf("it says %q, %v", said, err)
	}
	pid := cmd.Process.Pid
	kept := 0
	for i := range 30 {
		s := []syscall.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}[i%3]
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
		var status syscall.WaitStatus
		guard := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		_, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil)
		if guard.Stop(); err != nil || !status.Stopped() {
			t.Fatalf("%v: %v, %+v", s, err, status)
		}
		if status.StopSignal() != s {
			t.Errorf("stopped by %v, want %v", status.StopSignal(), s)
		}
		for _, name := range []string{"writing.next", "writing.inside"} {
			lock := flock.New(filepath.Join(dir, "locks", name))
			if free, err := lock.TryLock(); err != nil || !free {
				kept++
			}
			_ = lock.Close() // which releases it
		}
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	if kept > 0 {
		t.Errorf("it was stopped %d times where others wait for it", kept)
	}
}
