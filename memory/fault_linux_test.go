package memory_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plan-engine/plan/memory"
)

// faultProcess runs one of the faults below in a process of its own: with a
// mount table of its own where the machine allows that, and so with a disk that
// is really full or really read-only.
func faultProcess(t *testing.T, mode, dir string, namespace bool) (string, error) {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "MEMORY_TEST_HELPER="+mode, "MEMORY_TEST_DIR="+dir, "MEMORY_TEST_RUN=R1")
	if namespace {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestDiskFaults: an append that cannot be written fails, says why and what to
// do, and leaves nothing behind; and the run goes on once the cause is gone.
func TestDiskFaults(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"full", "index", "read-only", "limit"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			out, err := faultProcess(t, mode, t.TempDir(), mode != "limit")
			if mode != "limit" && (errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || strings.Contains(out, "mount:")) {
				t.Logf("this machine gives no mount table of one's own (%v, %s): a limit on file sizes stands for the disk", err, out)
				out, err = faultProcess(t, "limit", t.TempDir(), false)
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// faults are what the other process does, by mode.
var faults = map[string]func(dir string) error{
	"full": func(dir string) error {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
			return fmt.Errorf("mount: %w", err)
		}
		ballast := filepath.Join(dir, "ballast")
		if err := os.WriteFile(ballast, make([]byte, 400<<10), 0o600); err != nil {
			return err
		}
		return appendUntil(dir, "free some space", func() error { return os.Remove(ballast) })
	},
	"index": func(dir string) error { // there is no room for that of the log
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
			return fmt.Errorf("mount: %w", err)
		}
		if err := appendSome(dir, true, 3); err != nil {
			return err
		}
		ballast := filepath.Join(dir, "ballast")
		if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("the disk is not full: %w", err)
		}
		db, err := memory.Open(context.Background(), config(dir))
		if err == nil {
			err = db.Close()
		}
		return errors.Join(wantHint(err, "free some space"), os.Remove(ballast), appendSome(dir, false, 3))
	},
	"limit": func(dir string) error { // the kernel refuses what would make a file longer
		var was unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
			return err
		}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 300 << 10, Max: was.Max}); err != nil {
			return err
		}
		return appendUntil(dir, "check the disk", func() error { return unix.Setrlimit(unix.RLIMIT_FSIZE, &was) })
	},
	"read-only": func(dir string) error {
		ctx := context.Background()
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
			return fmt.Errorf("mount: %w", err)
		}
		if err := appendSome(dir, true, 3); err != nil {
			return err
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			return fmt.Errorf("remount: %w", err)
		}
		db, err := memory.Open(ctx, config(dir))
		if err == nil {
			_, err = db.Own(ctx, "R1")
			err = errors.Join(err, db.Close())
		}
		if err := wantHint(err, "make it and its directory writable"); err != nil {
			return err
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=4m"); err != nil {
			return fmt.Errorf("remount: %w", err)
		}
		return appendSome(dir, false, 3)
	},
}

func wantHint(err error, hint string) error {
	var e *memory.Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, hint) || !strings.HasPrefix(e.Path, os.Getenv("MEMORY_TEST_DIR")) {
		return fmt.Errorf("got %w, want a hint with %q", err, hint)
	}
	return nil
}

// appendSome appends n events to R1 with a database of its own.
func appendSome(dir string, fresh bool, n int) error {
	ctx := context.Background()
	db, err := memory.Open(ctx, config(dir))
	if err != nil {
		return err
	}
	defer db.Close()
	w, err := db.Own(ctx, "R1")
	if err != nil {
		return err
	}
	defer w.Close()
	if fresh {
		if _, err := w.Append(ctx, runStart("R1")); err != nil {
			return err
		}
	}
	for i := range n {
		if _, err := w.Append(ctx, report("R1", strconv.Itoa(i))); err != nil {
			return err
		}
	}
	return db.VerifyChain(ctx, "R1")
}

// appendUntil appends until it fails, mends the cause, and goes on.
func appendUntil(dir, hint string, mend func() error) error {
	ctx := context.Background()
	db, err := memory.Open(ctx, config(dir))
	if err != nil {
		return err
	}
	defer db.Close()
	w, err := db.Own(ctx, "R1")
	if err != nil {
		return err
	}
	stored := int64(0)
	for next := runStart("R1"); ; next = report("R1", strings.Repeat("x", 5000)) {
		out, err := w.Append(ctx, next)
		if err != nil {
			if err := wantHint(err, hint); err != nil {
				return err
			}
			break
		}
		if stored = out[0].Seq; stored > 1000 {
			return errors.New("it never fails")
		}
	}
	if _, err := w.Append(ctx, report("R1", "y")); err == nil {
		return errors.New("the writer goes on after a failure")
	}
	if err := errors.Join(w.Close(), mend()); err != nil {
		return err
	}
	if w, err = db.Own(ctx, "R1"); err != nil {
		return err
	}
	defer w.Close()
	out, err := w.Append(ctx, report("R1", strings.Repeat("z", 5000)))
	if err != nil {
		return fmt.Errorf("after the cause is gone: %w", err)
	}
	if out[0].Seq != stored+1 {
		return fmt.Errorf("it goes on at event %d after %d", out[0].Seq, stored)
	}
	return db.VerifyChain(ctx, "R1")
}

// TestNetworkFileSystems: by the numbers that the kernel gives them.
func TestNetworkFileSystems(t *testing.T) {
	t.Parallel()
	for magic, want := range map[uint32]string{
		0x6969: "nfs true", 0xFF534D42: "cifs true", 0xFE534D42: "smb2 true", 0x01021997: "9p true",
		0x65735546: "fuse true", 0xEF53: "ext4 false", 0x01021994: "tmpfs false", 0x1234: "type 0x1234 false",
	} {
		name, network := memory.OfMagic(magic)
		if got := fmt.Sprint(name, " ", network); got != want {
			t.Errorf("%#x is %s, want %s", magic, got, want)
		}
	}
	if name, _ := open(t, t.TempDir()).FileSystem(); name == "" {
		t.Error("nothing is known of the test's own directory")
	}
}
