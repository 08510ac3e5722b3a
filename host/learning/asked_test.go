package learning

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/memory"
)

// TestRecallIsAsked: a model that asks finds facts and what earlier runs of this
// repository were about and came to, by relevance, and nothing of another's.
func TestRecallIsAsked(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	db, err := memory.Open(t.Context(), memory.Config{
		Path: filepath.Join(t.TempDir(), "plan.db"),
		Now:  func() time.Time { return at },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, f := range []plan.Fact{
		{Repo: "/repo", Text: "The lexer is made by ragel"},
		{Repo: "/other", Text: "The lexer of the other one is slow"},
		{Text: "A lexer has fuzz tests"},
		{Repo: "/repo", Text: "The lexer was frozen", Expires: at},
	} {
		f.Source = plan.FactFromPerson
		if _, _, err := db.AddFact(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	run := func(id, repo, request string, bodies ...plan.Body) {
		t.Helper()
		w, err := db.Own(t.Context(), plan.RunID(id))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range append([]plan.Body{plan.RunStart{Request: request, Repo: repo}}, bodies...) {
			if _, err := w.Append(t.Context(), plan.Event{Run: plan.RunID(id), Time: at, Body: b}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	gap := func(status plan.GapStatus) plan.GapChange {
		return plan.GapChange{Gap: plan.Gap{
			ID:     "g1",
			Gap:    "Offsets overflow in long names",
			Status: status,
		}}
	}
	run("01A", "/repo", "Make the tokenizer faster\n\n"+strings.Repeat("It is slow in many ways. ", 80),
		plan.PlanMade{PlanDoc: plan.PlanDoc{Version: 1, Text: "# Intern the identifiers\n\nbody about penguins"}},
		gap(plan.GapOpened),
		plan.VerdictGiven{Judgement: plan.Judgement{Verdict: plan.Done, Approved: true, Why: "The benchmark shows it."}},
		gap(plan.GapClosed))
	run("01B", "/other", "Make the tokenizer of the other repository faster")
	run("01C", "/repo", "Paint the icon blue; its key is sk-12345")
	run("01D", "/repo", "The tokenizer again, which is asked for now")

	l, err := New(Config{
		DB:         db,
		Home:       t.TempDir(),
		Repository: "/repo",
		Trust:      trust.Open(filepath.Join(t.TempDir(), "trust.json"), time.Now),
		Redact:     func(s string) string { return strings.ReplaceAll(s, "sk-12345", "[secret]") },
		Now:        func() time.Time { return at },
	})
	if err != nil {
		t.Fatal(err)
	}
	l.StartRun("01D", nil, 0)
	const first = "- run 01A of 2026-01-02, new: Make the tokenizer faster\n"
	for query, want := range map[string]string{
		"lexer":                       "- fact: A lexer has fuzz tests\n- fact: The lexer is made by ragel\n",
		"how do I make tokenizers":    first,
		"fix the code":                "",
		"interning an identifier":     first + "  plan: Intern the identifiers\n",
		"overflowing offsets":         first + "  closed gap: Offsets overflow in long names\n",
		"which benchmarks":            first + "  verdict: DONE: The benchmark shows it.\n",
		"blue icons":                  "- run 01C of 2026-01-02, new: Paint the icon blue; its key is [secret]\n",
		"penguins":                    "",
		"":                            "",
		"the and of":                  "",
		"nothing that was ever heard": "",
	} {
		got, err := l.Recall(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%q: got\n%swant\n%s", query, got, want)
		}
	}
	l.settings.Memory.Off = true
	if got, err := l.Recall(t.Context(), "lexer"); got != "" || err != nil {
		t.Errorf("with memory off: %q, %v", got, err)
	}
}

// TestRecallIsBounded: however much was left, an answer has a bound.
func TestRecallIsBounded(t *testing.T) {
	t.Parallel()
	var runs []pastRun
	for range 50 {
		r := pastRun{}
		for i := range 20 {
			r.add("open gap", strings.Repeat("lexer ", i%3+1)+strings.Repeat("x", i))
		}
		runs = append(runs, r)
	}
	found := relevantRuns(runs, []string{"lexer"})
	if len(found) != askedRuns || len(found[0].passages) != askedPassages {
		t.Errorf("%d runs", len(found))
	}
}
