package host_test

import (
	"context"
	"errors"
	"testing"

	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/memory"
)

// A collection that was killed once runs were gone, and before their snapshots were, is
// finished by the next one. A run that is seen has its snapshots.
func TestAKilledCollectionIsFinished(t *testing.T) {
	t.Parallel()
	w := newWorld()
	defer w.close()
	h := host.New(w.config)
	defer h.Close()
	end, err := h.Run(t.Context(), host.Request{Dir: w.repo, Text: "Make greet.sh say hello"}, host.Face{})
	if err != nil {
		t.Fatal(err)
	}
	refs := func() string { return gittest.Git(t, w.repo, "for-each-ref", "refs/plan/"+string(end.Run)) }
	if refs() == "" {
		t.Fatal("the run keeps nothing")
	}
	db, err := h.DB(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Hide(t.Context(), end.Run); err != nil {
		t.Fatal(err)
	}
	if _, err := h.GC(t.Context(), host.GCPolicy{}, false, false, nil); err != nil {
		t.Fatal(err)
	}
	hidden, err := db.Hidden(t.Context())
	if left := refs(); left != "" || len(hidden) > 0 || err != nil {
		t.Errorf("left: %q, %v, %v", left, hidden, err)
	}
	if runs, err := db.Runs(t.Context(), memory.Filter{}); err != nil || len(runs) > 0 {
		t.Errorf("%v, %v", runs, err)
	}
}

// A collection that is interrupted ends with that, in one line.
func TestAnInterruptedCollectionSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld()
	defer w.close()
	h := host.New(w.config)
	defer h.Close()
	if _, err := h.DB(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(engine.ErrInterrupted)
	_, err := h.GC(ctx, host.GCPolicy{KeepAlone: true}, false, true, nil)
	const want = "interrupted; what is left goes the next time"
	if !errors.Is(err, engine.ErrInterrupted) || err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
