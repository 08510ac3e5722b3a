package learning

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/skills/auto"
)

// TestADraftIsReviewedAndApproved: what a person sees of a draft, and that only
// the bytes that were looked at are approved.
func TestADraftIsReviewedAndApproved(t *testing.T) {
	t.Parallel()
	l, d, _ := newDraft(t)
	r, err := l.Review(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != string(auto.Pending) || r.Digest != d.Skill.Digest || r.Score != nil {
		t.Errorf("review %+v", r)
	}
	if !strings.HasPrefix(r.Router, "the most relevant skill for 2 of its 2 runs") {
		t.Errorf("router %q", r.Router)
	}
	if !strings.Contains(r.Diff, "--- nothing\n+++ parser-tidy revision 1\n") {
		t.Errorf("diff %q", r.Diff)
	}
	for _, digest := range []string{d.Skill.Digest[:7], "00000000"} {
		if err := l.ApproveDraft(t.Context(), d, digest); err == nil {
			t.Errorf("approved by %q", digest)
		}
	}
	if err := l.ApproveDraft(t.Context(), d, d.Skill.Digest[:8]); err != nil {
		t.Fatal(err)
	}
	got, err := l.Library().Get(t.Context(), d.Name, 1)
	if err != nil || got.Status != auto.Approved {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestMeasuringADraft: each task is done twice, at its commit, in a home that has
// the user's settings and, the second time, the draft.
func TestMeasuringADraft(t *testing.T) {
	t.Parallel()
	l, d, home := newDraft(t)
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte("max_turns = 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var requests []string
	m, err := l.Measure(t.Context(), d, func(_ context.Context, trial Trial, observe func(plan.Event)) error {
		requests = append(requests, trial.Request)
		text, err := os.ReadFile(filepath.Join(trial.Tree, "file"))
		if err != nil || string(text) != "before\n" {
			t.Errorf("the tree holds %q, %v", text, err)
		}
		settings, err := os.ReadFile(filepath.Join(trial.Home, "config.toml"))
		if err != nil || string(settings) != "max_turns = 7\n" {
			t.Errorf("the settings are %q, %v", settings, err)
		}
		_, err = os.Stat(filepath.Join(trial.Home, "skills", d.Name, "SKILL.md"))
		if with := err == nil; with != strings.HasPrefix(trial.Request, "@@skill=") {
			t.Errorf("for %q there is a draft: %v", trial.Request, with)
		}
		observe(plan.Event{Body: plan.VerdictGiven{}})
		observe(plan.Event{Body: plan.RunEnd{Outcome: plan.Approved}})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"tidy the parser", "@@skill=parser-tidy tidy the parser",
		"tidy the parser", "@@skill=parser-tidy tidy the parser",
	}
	if diff := cmp.Diff(want, requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if m.Score != 1 || m.Counted() != 2 || len(m.Tasks) != Trials(d)/2 {
		t.Errorf("measured %+v", m)
	}
	if got, err := l.Library().Get(t.Context(), d.Name, 1); err != nil || got.Meta.Score == nil || *got.Meta.Score != 1 {
		t.Errorf("the draft says %+v, %v", got.Meta, err)
	}
}

// TestADraftWithoutAReviewHasNoScore: repetitions that came to no review say
// nothing.
func TestADraftWithoutAReviewHasNoScore(t *testing.T) {
	t.Parallel()
	l, d, _ := newDraft(t)
	_, err := l.Measure(t.Context(), d, func(context.Context, Trial, func(plan.Event)) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "there is no score") {
		t.Errorf("%v", err)
	}
	broken := errors.New("no such program")
	_, err = l.Measure(t.Context(), d, func(context.Context, Trial, func(plan.Event)) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestARequestWithoutTheSkillItNames(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]string{
		"tidy":                       "tidy",
		"@@skill=tests tidy":         "tidy",
		"set a=tests, @@SKILL=tests": "set a=tests,",
		"@@skill= tidy":              "@@skill= tidy",
	} {
		if got := withoutOverride(request); got != want {
			t.Errorf("%q: %q, want %q", request, got, want)
		}
	}
}

// newDraft makes a draft of two runs on one commit of a repository, which has
// changed since. It returns the home that holds it, too.
func newDraft(t *testing.T) (*Learning, auto.Draft, string) {
	t.Helper()
	repo, base := newRepository(t)
	home := t.TempDir()
	db, err := memory.Open(t.Context(), memory.Config{Path: filepath.Join(home, "plan.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	runs := []plan.RunID{"r1", "r2"}
	for _, run := range runs {
		w, err := db.Own(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		start := plan.RunStart{
			Request: "@@skill=tests tidy the parser",
			Repo:    repo,
			Base:    base,
			Config:  []byte("{}"),
		}
		if _, err := w.Append(t.Context(), plan.Event{Run: run, Time: time.Unix(1, 0), Body: start}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	l := newLearning(t, db, home)
	l.StartRun("r2", nil, 0)
	if _, err := l.draftFromRuns(t.Context(), "parser-tidy", runs, nil); err != nil {
		t.Fatal(err)
	}
	d, err := l.Library().Get(t.Context(), "parser-tidy", 1)
	if err != nil {
		t.Fatal(err)
	}
	return newLearning(t, db, home), d, home
}

// newRepository makes a repository with two commits, and returns the first.
func newRepository(t *testing.T) (dir, first string) {
	t.Helper()
	dir = t.TempDir()
	git := func(args ...string) string {
		own := []string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"}
		out, err := exec.CommandContext(t.Context(), "git", append(own, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	for _, text := range []string{"before\n", "after\n"} {
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", "file")
		git("commit", "-q", "-m", text)
		if first == "" {
			first = git("rev-parse", "HEAD")
		}
	}
	return dir, first
}
