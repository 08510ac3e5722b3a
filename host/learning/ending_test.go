package learning

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/memory"
)

// TestARunThatEndsHasSeenWhatItTaught: what was read when it was resumed, what
// was recorded since, and what is recorded with its end.
func TestARunThatEndsHasSeenWhatItTaught(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	db, w := newOwnedRun(t, "R1")
	l, err := New(Config{
		Settings:   config.Config{Skills: config.SkillsConfig{NoDraft: true}},
		DB:         db,
		Repository: "/repo",
		Home:       t.TempDir(),
		Trust:      trust.Open(filepath.Join(t.TempDir(), "trust.json"), time.Now),
		Now:        func() time.Time { return at },
	})
	if err != nil {
		t.Fatal(err)
	}
	call := func(id, tool string) []plan.Body {
		return []plan.Body{
			plan.ToolStart{Call: id, Name: tool, Args: []byte(`{"name":"tests/of.md"}`)},
			plan.ToolEnd{Call: id, Name: tool, Output: "long"},
		}
	}
	gap := func(id, text string, s plan.GapStatus) plan.Body {
		return plan.GapChange{Gap: plan.Gap{ID: id, Gap: text, Severity: plan.SeverityMust, Status: s}}
	}
	past := slices.Concat(
		[]plan.Body{plan.RunStart{Request: "the request"}, plan.Steering{Text: "shorter"}},
		call("c1", "skill"),
		call("c2", "read"),
	)
	since := []plan.Body{
		plan.FollowUp{Text: "and faster"},
		plan.Report{Text: "r"},
		plan.VerdictGiven{},
		gap("G1", "no test", plan.GapOpened), gap("G1", "no test", plan.GapClosed),
	}
	for _, b := range past {
		if _, err := w.Append(ctx, plan.Event{Run: "R1", Time: at, Phase: plan.Explore, Body: b}); err != nil {
			t.Fatal(err)
		}
	}
	read, err := db.ReadAll(ctx, "R1")
	if err != nil {
		t.Fatal(err)
	}
	l.StartRun("R1", read, 0)
	for _, b := range since {
		stored, err := w.Append(ctx, plan.Event{Run: "R1", Time: at, Phase: plan.Review, Body: b})
		if err != nil {
			t.Fatal(err)
		}
		l.Observe(stored...)
	}
	last := []plan.Body{plan.VerdictGiven{}, gap("G2", "no docs", plan.GapClosed)}

	h := l.history(last)
	if h.request != "the request" || !slices.Equal(h.messages, []string{"shorter", "and faster"}) ||
		h.reviews != 2 || !h.loaded[plan.Explore]["tests"] {
		t.Errorf("history %+v", h)
	}
	if len(l.seen) != 8 {
		t.Errorf("%d events are kept: %+v", len(l.seen), l.seen)
	}
	for range 2 { // a commit that failed is tried again
		if out := l.Closing(3)(ctx, plan.Approved, last); len(out) != 0 {
			t.Errorf("closing says %+v", out)
		}
	}
	facts, err := db.Facts(ctx, "/repo", 10)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, f := range facts {
		texts = append(texts, f.Text)
	}
	slices.Sort(texts)
	want := []string{
		"A review found missing, and it was then done: no docs",
		"A review found missing, and it was then done: no test",
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("lessons (-want +got):\n%s", diff)
	}
}

// newOwnedRun opens an empty database and takes hold of a run in it.
func newOwnedRun(t *testing.T, id plan.RunID) (*memory.DB, *memory.Writer) {
	t.Helper()
	db, err := memory.Open(t.Context(), memory.Config{Path: filepath.Join(t.TempDir(), "plan.db")})
	if err != nil {
		t.Fatal(err)
	}
	w, err := db.Own(t.Context(), id)
	if err != nil {
		t.Fatal(errors.Join(err, db.Close()))
	}
	t.Cleanup(func() {
		if err := errors.Join(w.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	return db, w
}
