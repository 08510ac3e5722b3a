package memory_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

func TestSecondProcessIsRefusedUntilTheFirstIsKilled(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	db := open(t, dir)
	if held, ok := db.Holder("R1"); ok {
		t.Fatalf("held before anybody owned it: %v", held)
	}
	p := spawn(t, dir, "hold", "R1")
	p.line(t)
	var held *memory.HeldError
	if _, err := db.Own(ctx, "R1"); !errors.As(err, &held) {
		t.Fatalf("got %v, want a HeldError", err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if held.Run != "R1" || held.PID != p.cmd.Process.Pid || held.Host != host || !held.Since.Equal(start) {
		t.Errorf("held by %+v", held)
	}
	if !strings.Contains(held.Error(), strconv.Itoa(held.PID)) {
		t.Errorf("%q does not say which process", held)
	}
	if held, ok := db.Holder("R1"); !ok || held.PID != p.cmd.Process.Pid {
		t.Errorf("Holder says %v, %t", held, ok)
	}
	own(t, db, "R2") // another run is free
	p.kill(t)
	own(t, db, "R1")
	if held, ok := db.Holder("R1"); !ok || held.PID != os.Getpid() {
		t.Errorf("Holder says %v, %t", held, ok)
	}
	if _, err := open(t, dir).Own(ctx, "R1"); !errors.As(err, &held) || held.PID != os.Getpid() {
		t.Errorf("a second Writer of one process: %v", err)
	}
}

func TestKilledBetweenAppendsLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := open(t, dir)
	for i := range 3 {
		run := plan.RunID("R" + strconv.Itoa(i))
		p := spawn(t, dir, "forever", run)
		var last string
		for range 5 + i {
			last = p.line(t)
		}
		if later := p.kill(t); later != "" {
			last = later
		}
		returned, err := strconv.Atoi(last)
		if err != nil {
			t.Fatal(err)
		}
		w := own(t, db, run)
		got := lines(t, db, run)
		wantSeqs(t, got, len(got))
		if len(got) < returned || len(got)%2 != 1 {
			t.Errorf("%d events are stored; %d were returned, and they come in pairs", len(got), returned)
		}
		if err := db.VerifyChain(context.Background(), run); err != nil {
			t.Error(err)
		}
		if out := appendAll(t, w, report(run, "go on")); out[0].Seq != int64(len(got)+1) {
			t.Errorf("went on at %d after %d", out[0].Seq, len(got))
		}
	}
}

// Asking who holds a run takes its lock for an instant. That must not look like
// an owner to others who ask, and must not make Own fail.
func TestAskingDisturbsNobody(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := open(t, dir)
	if err := own(t, db, "R1").Close(); err != nil {
		t.Fatal(err)
	}
	asking := flock.New(filepath.Join(dir, "locks", "R1.lock"))
	if err := asking.RLock(); err != nil {
		t.Fatal(err)
	}
	if held, ok := db.Holder("R1"); ok {
		t.Errorf("nobody owns the run, and yet: %v", held)
	}
	released := make(chan error, 1)
	time.AfterFunc(2*time.Millisecond, func() { released <- asking.Unlock() })
	own(t, db, "R1")
	if err := <-released; err != nil {
		t.Error(err)
	}
}

func TestOwnRefusesIDsThatAreNotFileNames(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	for _, run := range []plan.RunID{"", "../x", "a/b", "a\x00", "a b", "-x", plan.RunID(strings.Repeat("x", 200))} {
		if _, err := db.Own(context.Background(), run); err == nil || !strings.Contains(err.Error(), "run id") {
			t.Errorf("%q: %v", run, err)
		}
		if _, ok := db.Holder(run); ok {
			t.Errorf("%q is held", run)
		}
	}
}

func TestOwnWithEndedContext(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := db.Own(ctx, "R1"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	own(t, db, "R1")
}
