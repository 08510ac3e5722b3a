package caches_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/plan-engine/plan/host/caches"
)

// helperVar names the folders of a process that is to be killed, and what it does first.
const helperVar = "CACHES_TEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperVar) != "" {
		if err := help(os.Args[1], os.Args[2], os.Getenv(helperVar)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// help uses layers as a run does, up to a point, and then waits to be killed.
func help(dir, repository, upTo string) error {
	l := caches.New(caches.Config{
		Dir:        dir,
		Repository: repository,
		Mounted:    func() bool { return true },
		Now:        time.Now,
	})
	lease, err := l.Start(true)
	if err != nil {
		return err
	}
	tool := filepath.Join(lease.Upper, "tool")
	if err := errors.Join(os.MkdirAll(tool, 0o700), os.WriteFile(filepath.Join(tool, "kept"), nil, 0o600)); err != nil {
		return err
	}
	if upTo == "sealed" {
		lease.Close()
		if lease, err = l.Work(); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(lease.Upper, "tool"), 0o700); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	_, err = os.Stdin.Read(make([]byte, 1)) // the other end is never written to
	return err
}

// A run that is killed while it writes the layer of a repository, or when it has sealed
// it, leaves nothing locked, and what it wrote is there for the next one alone.
func TestAKilledRun(t *testing.T) {
	t.Parallel()
	for _, upTo := range []string{"writing", "sealed"} {
		t.Run(upTo, func(t *testing.T) {
			t.Parallel()
			dir, repository := t.TempDir(), t.TempDir()
			cmd := exec.CommandContext(t.Context(), os.Args[0], dir, repository)
			cmd.Env = append(os.Environ(), helperVar+"="+upTo)
			cmd.Stderr = os.Stderr
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = in.Close() }()
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
				t.Fatal(line, err)
			}
			beside := newRun(t, dir, repository, true)
			want := map[string]string{"writing": "", "sealed": "kept"}[upTo]
			if got := beside.wall(beside.Start(true))("beside"); got != want {
				t.Errorf("a run beside it sees %q, want %q", got, want)
			}
			if got, err := caches.Collect(dir, time.Nanosecond, time.Now().Add(time.Hour), false); err != nil || got.Removed != 0 {
				t.Errorf("while it lives %+v, %v", got, err)
			}
			if err := errors.Join(beside.Close(), cmd.Process.Kill()); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it says that it was killed
			next := newRun(t, dir, repository, true)
			if got := next.wall(next.Start(true))("next"); got != "kept" {
				t.Errorf("the next run sees %q", got)
			}
			if got := next.wall(next.Work())("work"); got != "kept next" {
				t.Errorf("its work sees %q", got)
			}
			if err := next.Close(); err != nil {
				t.Error(err)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "run-*")); len(left) > 0 || err != nil {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// While a run seals its layer, it holds the lock of writers alone: no other one writes
// to the layer then, nor is it collected.
func TestWhileALayerIsSealed(t *testing.T) {
	t.Parallel()
	dir, repository := t.TempDir(), t.TempDir()
	first := newRun(t, dir, repository, true)
	first.wall(first.Start(true))("kept")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*", "writer.lock"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	lock := flock.New(names[0])
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer func() { _ = lock.Close() }()
	if got, err := caches.Collect(dir, time.Nanosecond, time.Unix(2_000_000, 0), false); err != nil || got.Removed != 0 {
		t.Errorf("collected: %+v, %v", got, err)
	}
	other := newRun(t, dir, repository, true)
	lease, err := other.Start(true)
	if err != nil || filepath.Dir(lease.Upper) == filepath.Dir(names[0]) || len(lease.Below) != 1 {
		t.Errorf("another one has %+v, %v", lease, err)
	}
	lease.Close()
}

// Runs at once on one repository, with a collection beside them: who reads the layer
// sees none who writes to it, and it does not go while it is read.
func TestRunsAtOnce(t *testing.T) {
	t.Parallel()
	dir, repository := t.TempDir(), t.TempDir()
	const rounds = 30
	var runs sync.WaitGroup
	for n := range 3 {
		runs.Go(func() {
			for round := range rounds {
				if err := oneRun(dir, repository, fmt.Sprintf("%d-%d", n, round)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	ended := make(chan struct{})
	var collection sync.WaitGroup
	collection.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
			}
			if _, err := caches.Collect(dir, time.Nanosecond, time.Now().Add(time.Hour), false); err != nil {
				t.Error(err)
			}
		}
	})
	runs.Wait()
	close(ended)
	collection.Wait()
}

// oneRun is a run from its setup to a check. While it may write to the layer that is
// kept, it says so in it.
func oneRun(dir, repository, name string) (err error) {
	l := caches.New(caches.Config{
		Dir:        dir,
		Repository: repository,
		Mounted:    func() bool { return true },
		Now:        time.Now,
	})
	defer func() { err = errors.Join(err, l.Close()) }()
	start, err := l.Start(true)
	if err != nil {
		return err
	}
	mark := filepath.Join(start.Upper, "written")
	own := filepath.Join(start.Upper, name)
	if err := errors.Join(os.MkdirAll(start.Upper, 0o700), os.WriteFile(mark, nil, 0o600), os.WriteFile(own, nil, 0o600)); err != nil {
		return err
	}
	if err := os.Remove(mark); err != nil {
		return fmt.Errorf("%s: another one has written to the same layer: %w", name, err)
	}
	start.Close()
	check, err := l.Reviewed("w", "w")
	if err != nil {
		return err
	}
	defer check.Close()
	seen := 0
	for range 20 {
		there := 0
		for _, below := range check.Below {
			if _, err := os.Stat(filepath.Join(below, "written")); err == nil {
				return fmt.Errorf("%s reads a layer that is written to", name)
			}
			if _, err := os.Stat(filepath.Join(below, name)); err == nil {
				there++
			}
		}
		if seen = max(seen, there); there < seen || seen != 1 {
			return fmt.Errorf("%s: its own layer is there %d times, in %v", name, there, check.Below)
		}
	}
	return nil
}
