package proof_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host/proof"
	"github.com/plan-engine/plan/host/walls/wallstest"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/sandbox"
)

// TestMain lets this binary be a wall, which is the program started again.
func TestMain(m *testing.M) {
	sandbox.Enter()
	goleak.VerifyTestMain(m)
}

// open opens the proof of a run that made a change, with a database of its own.
func open(t *testing.T, c wallstest.Change, settings config.Config, options ...func(*proof.Config)) *proof.Proof {
	t.Helper()
	dir := t.TempDir()
	db, err := memory.Open(t.Context(), memory.Config{
		Path:  filepath.Join(dir, "plan.db"),
		Locks: filepath.Join(dir, "locks"),
		Now:   time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := proof.Config{
		Settings: settings,
		Walls:    c.Walls,
		Repo:     c.Repo,
		Base:     c.Base,
		View:     plan.ViewSnapshot,
		Results:  db,
		Redact:   func(s string) string { return s },
	}
	for _, option := range options {
		option(&cfg)
	}
	p := proof.New(cfg)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// A trial runs once, unless its result is in doubt; results that contradict each
// other are not recalled.
func TestTrialsAreRemembered(t *testing.T) {
	t.Parallel()
	c := wallstest.NewChange(t, wallstest.Committed(t), sandbox.LevelNone)
	p := open(t, c, config.Config{})
	outside := filepath.Join(t.TempDir(), "ran")
	trial := plan.Trial{
		Check: plan.Check{Command: "test ! -e " + outside + " && touch " + outside},
		Trees: c.Trees,
		On:    plan.TreeReviewed,
	}
	again := trial
	again.Again = true
	for i, step := range []struct {
		trial  plan.Trial
		exit   int
		cached bool
	}{
		{trial: trial, exit: 0},
		{trial: trial, exit: 0, cached: true},
		{trial: again, exit: 1},
		{trial: trial, exit: 1},
		{trial: trial, exit: 1, cached: true},
	} {
		res, _, err := p.Try(t.Context(), step.trial)
		if err != nil {
			t.Fatal(err)
		}
		if res.ExitCode != step.exit || res.Cached != step.cached {
			t.Errorf("trial %d: exit %d, cached %t", i, res.ExitCode, res.Cached)
		}
	}
}

// A baseline is recalled for the tree that it was taken on, and for no other.
func TestBaselinesHoldForOneTree(t *testing.T) {
	t.Parallel()
	check := plan.Check{Command: "make"}
	for name, fresh := range map[string]bool{"recalled": false, "fresh": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := wallstest.NewChange(t, wallstest.Committed(t), sandbox.LevelNone)
			p := open(t, c, config.Config{}, func(cfg *proof.Config) { cfg.FreshBaselines = fresh })
			known := func() bool {
				_, _, ok := p.Baselines.Recall(t.Context(), check)
				return ok
			}
			if known() {
				t.Error("recalled before it ran")
			}
			p.Baselines.Keep(t.Context(), plan.CheckResult{Check: check}, nil)
			if got := known(); got == fresh {
				t.Errorf("recalled: %t", got)
			}
			gittest.Write(t, c.Dir, map[string]string{"later": "later\n"})
			if known() {
				t.Error("recalled for another tree")
			}
		})
	}
}

func TestChecksAreSelected(t *testing.T) {
	t.Parallel()
	c := wallstest.NewChange(t, wallstest.Committed(t), sandbox.LevelNone)
	gittest.Write(t, c.Dir, map[string]string{"Makefile": "test:\n\ttrue\n"})
	no := false
	advice := config.CheckConfig{Command: "lint", Advice: true, Paths: []string{"*.go"}}
	advises := plan.Check{Command: "lint", Source: plan.CheckConfig, Paths: []string{"*.go"}}
	for name, test := range map[string]struct {
		checks   config.ChecksConfig
		byFlag   bool
		required []plan.Check
		detected []plan.Check
	}{
		"required, once": {
			checks: config.ChecksConfig{
				Required: []string{"a"},
				Run:      []config.CheckConfig{{Command: "a", Advice: true}, advice},
			},
			required: []plan.Check{{Command: "a", Required: true, Source: plan.CheckConfig}, advises},
		},
		"by flag alone": {
			checks:   config.ChecksConfig{Required: []string{"a"}, Run: []config.CheckConfig{advice}},
			byFlag:   true,
			required: []plan.Check{{Command: "a", Required: true, Source: plan.CheckFlag}},
		},
		"advice, and what is there": {
			checks:   config.ChecksConfig{Run: []config.CheckConfig{advice}},
			detected: []plan.Check{advises, {Command: "make test", Source: plan.CheckDetected}},
		},
		"advice alone": {
			checks:   config.ChecksConfig{Run: []config.CheckConfig{advice}, Detect: &no},
			detected: []plan.Check{advises},
		},
		"what a repository adds that is not trusted replaces nothing that is there": {
			checks: config.ChecksConfig{Required: []string{"true"}, Theirs: []string{"true"}},
			detected: []plan.Check{
				{Command: "make test", Source: plan.CheckDetected},
				{Command: "true", Required: true, Source: plan.CheckConfig},
			},
		},
		"nor says when that runs": {
			checks: config.ChecksConfig{
				Run:    []config.CheckConfig{{Command: "make test", Paths: []string{"nothing/**"}}},
				Theirs: []string{"make test"},
			},
			detected: []plan.Check{{Command: "make test", Required: true, Source: plan.CheckDetected}},
		},
		"and joins what the user requires": {
			checks: config.ChecksConfig{Required: []string{"a", "b"}, Theirs: []string{"b"}},
			required: []plan.Check{
				{Command: "a", Required: true, Source: plan.CheckConfig},
				{Command: "b", Required: true, Source: plan.CheckConfig},
			},
		},
	} {
		p := open(t, c, config.Config{Checks: test.checks}, func(cfg *proof.Config) { cfg.ChecksByFlag = test.byFlag })
		if diff := cmp.Diff(test.required, p.Required); diff != "" {
			t.Errorf("%s: required (-want +got)\n%s", name, diff)
		}
		var detected []plan.Check
		if p.Detected != nil {
			detected = p.Detected()
		}
		if diff := cmp.Diff(test.detected, detected); diff != "" {
			t.Errorf("%s: detected (-want +got)\n%s", name, diff)
		}
	}
}

func TestTouches(t *testing.T) {
	t.Parallel()
	c := wallstest.NewChange(t, wallstest.Committed(t), sandbox.LevelNone)
	p := open(t, c, config.Config{})
	for glob, want := range map[string]bool{
		"calc":      true,
		"./src/**":  true,
		"**/only":   true,
		"more":      false,
		"build/**":  false,
		"src/other": false,
	} {
		got, err := p.Tree.Touches(t.Context(), c.Trees.Start, c.Trees.Work, []string{glob})
		if err != nil || got != want {
			t.Errorf("%s: %t, %v", glob, got, err)
		}
	}
}
