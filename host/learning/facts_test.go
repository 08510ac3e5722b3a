package learning

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// TestFactsGoFromOneHomeToAnother: what is exported is read again, one that is
// known is not kept twice, and one that was forgotten does not come back.
func TestFactsGoFromOneHomeToAnother(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	one, other := newFacts(t, at), newFacts(t, at)
	one.Redact = func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }
	kept, merged, err := one.Add(t.Context(), "/repo", "the password is hunter2", time.Hour)
	if err != nil || merged || kept.Text != "the password is ***" || !kept.Expires.Equal(at.Add(time.Hour)) {
		t.Fatalf("%+v, %v, %v", kept, merged, err)
	}
	again, merged, err := one.Add(t.Context(), "/repo", "The password is hunter2", 0)
	if err != nil || !merged || again.ID != kept.ID {
		t.Errorf("%+v, %v, %v", again, merged, err)
	}
	found, err := one.Search(t.Context(), AllFacts, "a password", 5)
	if err != nil || len(found) != 1 || found[0].Score == 0 {
		t.Errorf("found %+v, %v", found, err)
	}
	lesson := plan.Fact{Text: "a lesson", Repo: "/repo", Source: plan.FactFromLesson}
	if _, err := one.Import(t.Context(), []plan.Fact{lesson}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := one.Export(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	facts, err := ReadFacts(&out, "facts.jsonl")
	if err != nil || len(facts) != 2 {
		t.Fatalf("%+v, %v", facts, err)
	}
	if count, err := other.Import(t.Context(), facts); err != nil || count[memory.FactNew] != 2 {
		t.Errorf("%v, %v", count, err)
	}
	list, err := other.List(t.Context(), "/repo", 0)
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, f := range list {
		if _, err := other.DB.ForgetFact(t.Context(), f.ID); err != nil {
			t.Fatal(err)
		}
	}
	// The one that a person stated is stated again.
	count, err := other.Import(t.Context(), facts)
	if err != nil || count[memory.FactNew] != 1 || count[memory.FactForgotten] != 1 {
		t.Errorf("%v, %v", count, err)
	}
}

func TestOneBadFactIsAnError(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"text":"fine"}` + "\n" + `{"text":" "}`: "f: fact 2: it has no text; nothing was added",
		`{"text":`: "f: fact 1: unexpected EOF; nothing was added",
	} {
		if facts, err := ReadFacts(strings.NewReader(in), "f"); err == nil || err.Error() != want {
			t.Errorf("%s: %+v, %v", in, facts, err)
		}
	}
}

func TestAStyleIsStatedAndReset(t *testing.T) {
	t.Parallel()
	f := newFacts(t, time.Unix(1, 0))
	if s, err := f.SetStyle(t.Context(), false, "short, please"); err != nil || len(s.Stated) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := f.SetStyle(t.Context(), true, ""); err != nil || len(s.Stated) != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func newFacts(t *testing.T, at time.Time) Facts {
	t.Helper()
	db, err := memory.Open(t.Context(), memory.Config{Path: filepath.Join(t.TempDir(), "plan.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return Facts{DB: db, Now: func() time.Time { return at }}
}
