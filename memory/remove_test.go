package memory_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

func TestRemove(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	db := open(t, dir)
	for _, run := range []plan.RunID{"R1", "R2"} {
		both, alone := report(run, "x"), report(run, noiseText(50_000))
		both.Blobs = []plan.Blob{plan.NewBlob([]byte("of both"))}
		alone.Blobs = []plan.Blob{plan.NewBlob(append(noise(80_000), string(run)...))}
		w := own(t, db, run)
		appendAll(t, w, runStart(run), both, alone)
		_, err := db.Post(ctx, run, "steer", nil)
		must(t, err)
		appendAll(t, w, runEnd(run))
		must(t, w.Close())
	}
	story(t, db, "PARKED", false)
	for _, run := range []plan.RunID{"R1", "R2"} { // both have been counted
		_, err := db.Streak(ctx, "parser-tidy", run, true, 3)
		must(t, err)
		_, err = db.RecordSkill(ctx, run, plan.Plan, "x", func(r plan.SkillRecord) plan.SkillRecord { return r })
		must(t, err)
	}
	before, err := db.UsedBytes(ctx)
	must(t, err)
	sizes, err := db.Sizes(ctx)
	must(t, err)
	if n := sizes["R1"]; n < 130_000 || n > 133_000 {
		t.Errorf("R1 has %d bytes, want about 131,000", n)
	}
	must(t, db.Remove(ctx, "R1"))
	after, err := db.UsedBytes(ctx)
	must(t, err)
	if freed := before - after; freed < 120_000 || freed > 145_000 {
		t.Errorf("%d bytes are free, want about 131,000", freed)
	}
	if _, err := db.Run(ctx, "R1"); !errors.Is(err, memory.ErrNoRun) {
		t.Errorf("got %v, want ErrNoRun", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "locks", "R1.lock")); err == nil {
		t.Error("its lock is still there")
	}
	notes, err := db.Count(ctx, "SELECT (SELECT count(*) FROM streak_runs) + (SELECT count(*) FROM skill_outcomes)")
	must(t, err)
	if notes != 2 {
		t.Errorf("%d notes that a run was counted are left, want those of R2", notes)
	}
	audit, err := db.Audit(ctx, nil)
	must(t, err)
	if len(audit.Faults) > 0 || audit.Runs != 2 || audit.Blobs != 4 {
		t.Errorf("%+v", audit)
	}
	must(t, db.Shrink(ctx, nil))
	if info, err := os.Stat(filepath.Join(dir, "plan.db")); err != nil || info.Size() > after+8192 {
		t.Errorf("the file has %d bytes, %d are used (%v)", info.Size(), after, err)
	}
	if err := db.Remove(ctx, "R1"); !errors.Is(err, memory.ErrNoRun) {
		t.Errorf("got %v, want ErrNoRun", err)
	}
	if err := db.Remove(ctx, "PARKED"); !errors.Is(err, memory.ErrUnfinished) {
		t.Errorf("got %v, want ErrUnfinished", err)
	}
	own(t, db, "R2") // another process works with it
	var held *memory.HeldError
	if err := open(t, dir).Remove(ctx, "R2"); !errors.As(err, &held) {
		t.Errorf("got %v, want a HeldError", err)
	}
}

// Who is stopped while it hides thousands of runs says so once, not of each of them.
func TestHideStopsAtOnce(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	hidden, err := db.Hide(ctx, make([]plan.RunID, 1000)...)
	if len(hidden) > 0 || !errors.Is(err, stopped) || err.Error() != stopped.Error() {
		t.Errorf("%d hidden, %.200q", len(hidden), err)
	}
}
