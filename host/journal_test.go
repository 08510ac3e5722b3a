package host

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// owned is a database of the test's with a run that it writes.
func owned(t *testing.T, id plan.RunID) (*memory.DB, *memory.Writer) {
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

// TestAConversationIsTheSameHoweverItIsRead: from what a resume has read of the
// journal and from what came since, or all from the journal.
func TestAConversationIsTheSameHoweverItIsRead(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, w := owned(t, "R1")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	add := func(bodies ...plan.Body) {
		for i, b := range bodies {
			if _, err := w.Append(ctx, plan.Event{Run: "R1", Time: at, Conv: fmt.Sprintf("c%d", i%2), Body: b}); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(plan.RunStart{Request: "r"}, plan.Report{Text: "1"}, plan.Report{Text: "2"}, plan.Report{Text: "3"})
	past, err := db.ReadAll(ctx, "R1")
	if err != nil {
		t.Fatal(err)
	}
	add(plan.Report{Text: "4"}, plan.Report{Text: "5"})
	going := &journal{db: db, run: "R1", past: past}
	for _, conv := range []string{"c1", "c0", "c1"} {
		want, err := (&journal{db: db, run: "R1"}).Conversation(ctx, conv)
		if err != nil || len(want) != 3 {
			t.Fatalf("%s has %d events: %v", conv, len(want), err)
		}
		got, err := going.Conversation(ctx, conv)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-whole +resumed):\n%s", conv, err, diff)
		}
	}
}
