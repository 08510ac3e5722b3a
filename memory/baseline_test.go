package memory_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// TestBaselinesOutliveTheProcess: what one process kept, the next one knows, the
// later word counts, and a key that nothing was kept under is no error.
func TestBaselinesOutliveTheProcess(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	want := plan.CheckResult{Check: plan.Check{Command: "go test", Paths: []string{"**/*.go"}}, ExitCode: 3, Output: "said", Blob: "hash", Baseline: true}
	open := func() *memory.DB {
		db, err := memory.Open(ctx, config(dir))
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := open()
	for _, res := range []plan.CheckResult{{ExitCode: 1}, want} {
		if err := db.KeepBaseline(ctx, "key", res); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open()
	defer func() { _ = db.Close() }()
	got, ok, err := db.Baseline(ctx, "key")
	if err != nil || !ok || !cmp.Equal(want, got) {
		t.Errorf("%v, %v:\n%s", ok, err, cmp.Diff(want, got))
	}
	if _, ok, err := db.Baseline(ctx, "other"); ok || err != nil {
		t.Errorf("nothing was kept, and there is %v, %v", ok, err)
	}
}
