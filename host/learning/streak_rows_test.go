package learning

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/skills/auto"
)

// TestStreakRowsInTheDatabase drives the table of streaks through the database
// that counts them. Each step is a process of its own as far as the file can
// tell, because runs that follow each other are.
func TestStreakRowsInTheDatabase(t *testing.T) {
	t.Parallel()
	f, err := os.Open("../../skills/auto/testdata/wayland_streak.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	n := 0
	for in := bufio.NewScanner(f); in.Scan(); n++ {
		var row struct {
			Name  string
			Input struct {
				Threshold int
				Steps     []struct{ Text, Outcome string }
			}
			Expected struct {
				After []int `json:"trigger_after_step"`
			}
		}
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "plan.db")
		got := []int{}
		for i, s := range row.Input.Steps {
			outcome := plan.Approved
			if s.Outcome != "success" {
				outcome = plan.Exhausted
			}
			db, err := memory.Open(t.Context(), memory.Config{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			bucketer := auto.Bucketer{Streaks: db, Threshold: row.Input.Threshold}
			_, runs, err := bucketer.Observe(t.Context(), plan.RunID(fmt.Sprint(i)), s.Text, outcome)
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			if err != nil {
				t.Fatalf("%s: %v", row.Name, err)
			}
			if len(runs) > 0 {
				got = append(got, i+1)
			}
		}
		if !slices.Equal(got, row.Expected.After) {
			t.Errorf("%s: triggered after %v, want %v", row.Name, got, row.Expected.After)
		}
	}
	if n < 5 {
		t.Fatalf("%d rows", n)
	}
}

// TestARunWithoutAReviewEndsNoStreak: a run that failed before its first
// review, as for a wrong key, says nothing about tasks of its kind; one that
// failed after it does.
func TestARunWithoutAReviewEndsNoStreak(t *testing.T) {
	t.Parallel()
	for reviews, want := range map[int][]plan.RunID{0: {"r1", "r2", "r4"}, 1: nil} {
		db, err := memory.Open(t.Context(), memory.Config{Path: filepath.Join(t.TempDir(), "plan.db")})
		if err != nil {
			t.Fatal(err)
		}
		for run, end := range []plan.State{plan.Approved, plan.Approved, plan.Failed} {
			l := newLearning(t, db, t.TempDir())
			l.StartRun(plan.RunID(fmt.Sprint("r", run+1)), nil, 0)
			if d := l.draftSkill(t.Context(), &history{request: "tidy the parser", reviews: reviews}, end, nil); d != nil {
				t.Errorf("%+v", d)
			}
		}
		got, err := db.Streak(t.Context(), "parser-tidy", "r4", true, auto.Threshold)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d reviews: %v, %v; want %v", reviews, got, err, want)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestADraftOfRunsThatWereRemoved: what is left of a row of successes makes the
// draft, as long as there is something to compare.
func TestADraftOfRunsThatWereRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := memory.Open(t.Context(), memory.Config{Path: filepath.Join(dir, "plan.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, run := range []plan.RunID{"r2", "r3"} {
		w, err := db.Own(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		start := plan.RunStart{Request: "tidy the parser", Config: []byte("{}")}
		if _, err := w.Append(t.Context(), plan.Event{Run: run, Time: time.Unix(1, 0), Body: start}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	l := newLearning(t, db, dir)
	l.StartRun("r3", nil, 0)
	d, err := l.draftFromRuns(t.Context(), "parser-tidy", []plan.RunID{"gone", "also gone", "r3"}, nil)
	if d != nil || err != nil {
		t.Errorf("of one run: %+v, %v", d, err)
	}
	d, err = l.draftFromRuns(t.Context(), "parser-tidy", []plan.RunID{"gone", "r2", "r3"}, nil)
	if err != nil || d == nil || !slices.Equal(d.Runs, []plan.RunID{"r2", "r3"}) {
		t.Errorf("of two runs: %+v, %v", d, err)
	}
}

// newLearning makes a Learning about no repository.
func newLearning(t *testing.T, db *memory.DB, home string) *Learning {
	t.Helper()
	l, err := New(Config{DB: db, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	return l
}
