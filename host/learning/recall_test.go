package learning

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/memory"
)

// TestFactsAreToldWhileTheyFit: what is known of the repository is told whatever the request is,
// as long as the
// repository's own facts fit; the others are told by what the request is about.
func TestFactsAreToldWhileTheyFit(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	long := func(n int, about string) string { return about + strings.Repeat(" é", n/3) }
	own := plan.Fact{Repo: "/repo", Text: "Tests are run by `nox -s unit`"}
	lexer := plan.Fact{Repo: "/repo", Text: "The lexer is made by ragel"}
	everywhere := plan.Fact{Text: "Commits are signed"}
	for name, test := range map[string]struct {
		facts []plan.Fact
		want  []string // how what is told begins
	}{
		"none": {nil, nil},
		"all of them, those that were asked for first": {
			[]plan.Fact{own, lexer, everywhere, {Repo: "/other", Text: "The lexer is slow"}},
			[]string{"The lexer is", "Tests are run"},
		},
		"not what has expired": {
			[]plan.Fact{own, {Repo: "/repo", Text: "The lexer is frozen", Expires: at}},
			[]string{"Tests are run"},
		},
		"to the last byte": {
			[]plan.Fact{own, {Repo: "/repo", Text: strings.Repeat("x", maxFactBytes-len(own.Text))}},
			[]string{"Tests are run", "xxx"},
		},
		"the repository's own, and of the rest what was asked for": {
			[]plan.Fact{own, everywhere, {Text: "A lexer has fuzz tests"}, {Text: long(1990, "Everything")}},
			[]string{"A lexer has", "Tests are run"},
		},
		"by relevance alone": {
			[]plan.Fact{own, lexer, {Repo: "/repo", Text: long(1990, "A story")}},
			[]string{"The lexer is"},
		},
		"of many": {many(lexer, 300), []string{"The lexer is"}},
	} {
		db, err := memory.Open(t.Context(), memory.Config{Path: filepath.Join(t.TempDir(), "plan.db")})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range test.facts {
			f.Source = plan.FactFromPerson
			if _, _, err := db.AddFact(t.Context(), f); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		l, err := New(Config{
			DB:         db,
			Home:       t.TempDir(),
			Repository: "/repo",
			Trust:      trust.Open(filepath.Join(t.TempDir(), "trust.json"), time.Now),
			Now:        func() time.Time { return at },
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if r := l.recall(t.Context(), plan.Explore, "Make the lexer faster"); r != nil {
			if r.Error != "" {
				t.Errorf("%s: %s", name, r.Error)
			}
			for _, f := range r.Facts {
				got = append(got, f.Text)
			}
		}
		begins := cmp.Comparer(func(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) })
		if diff := cmp.Diff(test.want, got, begins); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// many is the fact among n others.
func many(f plan.Fact, n int) []plan.Fact {
	out := []plan.Fact{f}
	for i := range n {
		out = append(out, plan.Fact{Repo: f.Repo, Text: "Nothing " + strings.Repeat("i", i+1)})
	}
	return out
}
