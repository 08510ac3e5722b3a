package memory_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

func remember(t testing.TB, db *memory.DB, f plan.Fact) plan.Fact {
	t.Helper()
	if f.Source == "" {
		f.Source = plan.FactFromPerson
	}
	kept, how, err := db.AddFact(t.Context(), f)
	if err != nil || how != memory.FactNew {
		t.Fatalf("add %q: %s, %v", f.Text, how, err)
	}
	return kept
}

func texts(hits []memory.FactHit) string {
	var out []string
	for _, h := range hits {
		out = append(out, h.Text)
	}
	return strings.Join(out, " | ")
}

func search(t testing.TB, db *memory.DB, repo string, words ...string) []memory.FactHit {
	t.Helper()
	hits, err := db.SearchFacts(t.Context(), memory.FactQuery{Words: words, Repo: repo, Now: start})
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

func TestFactsAreFoundByTheirWords(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	remember(t, db, plan.Fact{Text: "Migrations live in db/migrations and are numbered", Repo: "/a"})
	remember(t, db, plan.Fact{Text: "The linter is run by make lint", Repo: "/a"})
	remember(t, db, plan.Fact{Text: "Migration tests need Postgres", Repo: "/b"})
	remember(t, db, plan.Fact{Text: "Commit messages are imperative"})
	for _, c := range []struct {
		repo  string
		words []string
		want  string
	}{
		{"/a", []string{"migrate", "migration"}, "Migrations live in db/migrations and are numbered"},
		{"/a", []string{"linting"}, "The linter is run by make lint"},
		{"/a", []string{"LINTER"}, "The linter is run by make lint"},
		{"/b", []string{"migrations", "postgres"}, "Migration tests need Postgres"},
		{"/c", []string{"commits"}, "Commit messages are imperative"},
		{"/c", []string{"migrations"}, ""},
		{"/a", []string{`"; DROP`, "NEAR(", "*"}, ""},
		{"/a", nil, ""},
	} {
		if got := texts(search(t, db, c.repo, c.words...)); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.repo, c.words, got, c.want)
		}
	}
	if got := search(t, db, "*", "migration"); len(got) != 2 {
		t.Errorf("in all repositories: %q", texts(got))
	}
}

func TestTheFactWithMoreAndRarerWordsComesFirst(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	for i := range 50 {
		remember(t, db, plan.Fact{Text: "A test of kind " + strings.Repeat("x", i+1)})
	}
	remember(t, db, plan.Fact{Text: "The flaky test is retried"})
	hits := search(t, db, "", "flaky", "test")
	if hits[0].Text != "The flaky test is retried" || hits[0].Matched != 2 || hits[0].Score <= hits[1].Score {
		t.Errorf("%+v", hits[:2])
	}
}

func TestDuplicatesAreKeptOnce(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	first := remember(t, db, plan.Fact{Text: "Use tabs, not spaces.", Repo: "/a", Source: plan.FactFromTool, Expires: start.Add(time.Hour)})
	again, how, err := db.AddFact(t.Context(), plan.Fact{Text: "use tabs   NOT spaces", Repo: "/a", Source: plan.FactFromPerson})
	if err != nil || how != memory.FactMerged || again.ID != first.ID || !again.Expires.IsZero() {
		t.Fatalf("%+v, %s, %v", again, how, err)
	}
	remember(t, db, plan.Fact{Text: "Use spaces, not tabs.", Repo: "/a"}) // other words' order, other meaning
	global := remember(t, db, plan.Fact{Text: "Sign commits"})
	if f, how, err := db.AddFact(t.Context(), plan.Fact{Text: "sign commits!", Repo: "/a"}); err != nil || how != memory.FactMerged || f.ID != global.ID {
		t.Errorf("what holds everywhere was added for one repository: %+v, %s, %v", f, how, err)
	}
}

func TestWhatIsForgottenIsNotLearnedAgain(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	f := remember(t, db, plan.Fact{Text: "The build is slow", Repo: "/a", Source: plan.FactFromLesson})
	if _, err := db.ForgetFact(t.Context(), f.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ForgetFact(t.Context(), f.ID); !errors.Is(err, memory.ErrNoFact) {
		t.Errorf("forgotten twice: %v", err)
	}
	if got := search(t, db, "/a", "build", "slow"); len(got) != 0 {
		t.Errorf("still found: %q", texts(got))
	}
	for _, source := range []string{plan.FactFromTool, plan.FactFromLesson} {
		if _, how, err := db.AddFact(t.Context(), plan.Fact{Text: "the build is SLOW", Repo: "/a", Source: source}); err != nil || how != memory.FactForgotten {
			t.Errorf("%s brought it back: %s, %v", source, how, err)
		}
	}
	remember(t, db, plan.Fact{Text: "The build is slow", Repo: "/a", Source: plan.FactFromPerson})
	if _, how, _ := db.AddFact(t.Context(), plan.Fact{Text: "The build is slow", Repo: "/a", Source: plan.FactFromTool}); how != memory.FactMerged {
		t.Errorf("a person brought it back, and then it was %s", how)
	}
}

func TestExpiryAndUse(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	f := remember(t, db, plan.Fact{Text: "Staging is down", Expires: start.Add(time.Minute)})
	hits, err := db.SearchFacts(t.Context(), memory.FactQuery{Words: []string{"staging"}, Now: start.Add(time.Hour)})
	if err != nil || len(hits) != 1 || !hits[0].Expired {
		t.Fatalf("%+v, %v", hits, err)
	}
	if err := db.UseFacts(t.Context(), []int64{f.ID}, start.Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	got, err := db.Fact(t.Context(), f.ID)
	if err != nil || got.Used != 1 || !got.Expires.Equal(start.Add(2*time.Hour)) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestFactsAreBounded(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	for _, text := range []string{"", "  \n", strings.Repeat("x", 2001)} {
		if _, _, err := db.AddFact(t.Context(), plan.Fact{Text: text}); err == nil {
			t.Errorf("%d bytes were remembered", len(text))
		}
	}
}
