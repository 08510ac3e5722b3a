package memory_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

func openBatches(t *testing.T, most int, jobs ...memory.Job) (*memory.DB, memory.Batch) {
	t.Helper()
	ctx := t.Context()
	db, err := memory.Open(ctx, memory.Config{Path: filepath.Join(t.TempDir(), "plan.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.AddBatch(ctx, memory.Batch{ID: "01AB", Digest: "d", MaxStarts: most}, jobs); err != nil {
		t.Fatal(err)
	}
	b, err := db.Batch(ctx, "01a")
	if err != nil {
		t.Fatal(err)
	}
	return db, b
}

func claimAll(t *testing.T, db *memory.DB) []string {
	t.Helper()
	var ids []string
	for n := 0; ; n++ {
		j, ok, err := db.ClaimJob(t.Context(), "01AB", plan.RunID(fmt.Sprintf("R%d", n)), "")
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return ids
		}
		ids = append(ids, j.ID)
	}
}

func TestClaimGoesByPriorityAndThenByTurn(t *testing.T) {
	t.Parallel()
	db, _ := openBatches(
		t, 0,
		memory.Job{ID: "a1", Place: 0, Turn: 0}, memory.Job{ID: "a2", Place: 1, Turn: 1}, memory.Job{ID: "a3", Place: 2, Turn: 2},
		memory.Job{ID: "b1", Place: 3, Turn: 0}, memory.Job{ID: "urgent", Place: 4, Turn: 3, Priority: 1},
	)
	if got, want := claimAll(t, db), []string{"urgent", "a1", "b1", "a2", "a3"}; !slices.Equal(got, want) {
		t.Errorf("claimed %v, want %v", got, want)
	}
}

func TestClaimNeverGivesAJobTwice(t *testing.T) {
	t.Parallel()
	var jobs []memory.Job
	for i := range 60 {
		jobs = append(jobs, memory.Job{ID: fmt.Sprint("j", i), Place: i})
	}
	db, _ := openBatches(t, 0, jobs...)
	var mu sync.Mutex
	seen := map[string]int{}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				j, ok, err := db.ClaimJob(context.Background(), "01AB", plan.RunID(fmt.Sprintf("R%d-%d", w, n)), "")
				if err != nil || !ok {
					if err != nil {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				seen[j.ID]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != 60 {
		t.Errorf("%d jobs were claimed, want 60", len(seen))
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s was claimed %d times", id, n)
		}
	}
}

func TestAJobThatWasStartedKeepsItsRunAndItsPlace(t *testing.T) {
	t.Parallel()
	db, _ := openBatches(t, 1, memory.Job{ID: "a", Place: 0}, memory.Job{ID: "b", Place: 1})
	ctx := t.Context()
	first, ok, err := db.ClaimJob(ctx, "01AB", "R1", "")
	if err != nil || !ok || first.ID != "a" || first.Run != "R1" {
		t.Fatalf("claimed %+v, %v, %v", first, ok, err)
	}
	if _, ok, _ := db.ClaimJob(ctx, "01AB", "R2", ""); ok {
		t.Error("a second job was started although one may be")
	}
	// The process dies; the next one takes back what was running.
	if n, err := db.SetJobStates(ctx, "01AB", memory.JobQueued, []memory.JobState{memory.JobRunning}, nil, false); err != nil ||
		n != 1 {
		t.Fatalf("%d jobs moved, %v", n, err)
	}
	again, ok, err := db.ClaimJob(ctx, "01AB", "R3", "")
	if err != nil || !ok || again.Run != "R1" {
		t.Errorf("claimed again %+v, %v, %v: want the run R1", again, ok, err)
	}
	if err := db.RecordJobResult(ctx, "01AB", "a", memory.JobFailed, []byte(`{"why":"x"}`)); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := db.ClaimJob(ctx, "01AB", "R4", ""); ok {
		t.Error("another job was started although one may be")
	}
	if n, err := db.SetJobStates(ctx, "01AB", memory.JobQueued, []memory.JobState{memory.JobFailed}, []string{"a"}, true); err != nil ||
		n != 1 {
		t.Fatalf("%d jobs moved, %v", n, err)
	}
	anew, ok, err := db.ClaimJob(ctx, "01AB", "R5", "")
	if err != nil || !ok || anew.Run != "R5" || anew.Result != nil {
		t.Errorf("claimed anew %+v, %v, %v: want a new run", anew, ok, err)
	}
}

func TestACancelledJobIsNotSettled(t *testing.T) {
	t.Parallel()
	db, _ := openBatches(t, 0, memory.Job{ID: "a"})
	ctx := t.Context()
	if got := claimAll(t, db); len(got) != 1 {
		t.Fatal(got)
	}
	if _, err := db.SetJobStates(ctx, "01AB", memory.JobCancelled, []memory.JobState{memory.JobRunning}, nil, false); err != nil {
		t.Fatal(err)
	}
	if err := db.RecordJobResult(ctx, "01AB", "a", memory.JobDone, nil); err != nil {
		t.Fatal(err)
	}
	b, err := db.Batch(ctx, "")
	if err != nil || b.Jobs[memory.JobCancelled] != 1 {
		t.Errorf("the batch stands at %v, %v: want one cancelled job", b.Jobs, err)
	}
}

func TestOneProcessOwnsABatch(t *testing.T) {
	t.Parallel()
	db, _ := openBatches(t, 0)
	release, err := db.OwnBatch(t.Context(), "01AB")
	if err != nil {
		t.Fatal(err)
	}
	var held *memory.HeldError
	if _, err := db.OwnBatch(t.Context(), "01AB"); !errors.As(err, &held) {
		t.Errorf("owning it twice: %v", err)
	}
	if _, ok := db.BatchHolder("01AB"); !ok {
		t.Error("nobody is said to hold it")
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Batch(t.Context(), "nope"); !errors.Is(err, memory.ErrNoBatch) {
		t.Errorf("an unknown batch: %v", err)
	}
}

func TestWhatWasPublishedStaysUntilTheJobBeginsAnew(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, _ := openBatches(t, 0, memory.Job{ID: "a"})
	claimAll(t, db)
	published := func() string {
		jobs, err := db.Jobs(ctx, "01AB")
		if err != nil || len(jobs) != 1 {
			t.Fatalf("%v, %v", jobs, err)
		}
		return string(jobs[0].Published)
	}
	if got := published(); got != "" {
		t.Errorf("before: %q", got)
	}
	if err := errors.Join(db.RecordPublished(ctx, "01AB", "a", []byte(`{"state":"published"}`)), db.RecordJobResult(ctx, "01AB", "a", memory.JobFailed, nil)); err != nil {
		t.Fatal(err)
	}
	if got := published(); got != `{"state":"published"}` {
		t.Errorf("after: %q", got)
	}
	if _, err := db.SetJobStates(ctx, "01AB", memory.JobQueued, []memory.JobState{memory.JobFailed}, nil, true); err != nil {
		t.Fatal(err)
	}
	if got := published(); got != "" {
		t.Errorf("anew: %q", got)
	}
}
