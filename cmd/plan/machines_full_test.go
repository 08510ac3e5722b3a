package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAQueueWhoseDiskIsFull: a queue that has no room serves nothing, and serves again what
// it had acknowledged once there is some. Where no disk can be made for it, that is said.
func TestAQueueWhoseDiskIsFull(t *testing.T) {
	t.Parallel()
	const inside = "PLAN_TEST_FULL_QUEUE"
	if os.Getenv(inside) != "" {
		fullQueue(t)
		return
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "-rm", os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=1")
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil && strings.Contains(string(out), "the disk was full"):
	case errors.Is(err, exec.ErrNotFound), strings.HasPrefix(string(out), "unshare:"), strings.Contains(string(out), "no disk"):
		t.Logf("no disk can be made here, so a full one is not tried: %v\n%s", err, out)
	default:
		t.Errorf("%v\n%s", err, out)
	}
}

func fullQueue(t *testing.T) {
	m := newFleet(t)
	disk := filepath.Join(m.dir, "home")
	if err := os.MkdirAll(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=64m"); err != nil {
		t.Fatalf("no disk: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	m.serve("127.0.0.1:0")
	add := func(id string) error {
		job := `{"id":"` + id + `","repo":"https://example.org/shop.git","request":"x"}`
		_, err := m.run("submitter", "batch", "run", m.jobs(id+".jsonl", job))
		return err
	}
	if err := add("first"); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 64<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if add("second") == nil {
		t.Error("a job was acknowledged that there is no room for")
	}
	t.Log("the disk was full")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); add("second") != nil; <-tick.C {
		if time.Now().After(end) {
			t.Fatal("it is not served again")
		}
	}
	text := m.must("submitter", "batch", "list", "--json")
	if n := strings.Count(text, `"state":"open"`); n != 2 {
		t.Errorf("%d of two batches are there:\n%s", n, text)
	}
}
