package config_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
)

// TestPhasesOfTheirOwn: what a phase may use and starts from is read, shown and kept.
func TestPhasesOfTheirOwn(t *testing.T) {
	t.Parallel()
	own := "plan_size = 'short'\n[phase.plan]\ncarry = 'conversation'\nmax_turns = 20\nmax_tokens = 5000\nmax_cost = 0.5\n"
	cfg, _, err := config.Load(place(t, own, "[phase.plan]\nmax_turns = 90\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"plan.max_turns = 0", "review.max_cost=1.25"} {
		if err := cfg.LimitPhase(line); err != nil {
			t.Fatal(err)
		}
	}
	text, err := cfg.TOML()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"plan_size = 'short'", "carry = 'conversation'", "max_turns = 0", "max_tokens = 5000", "max_cost = 0.5", "max_cost = 1.25",
	} {
		if !strings.Contains(text, want) || !strings.Contains(string(cfg.JSON()), strings.SplitN(want, " ", 2)[0]) {
			t.Errorf("%s is not in\n%s\n%s", want, text, cfg.JSON())
		}
	}
	for own, want := range map[string]string{
		"plan_size = 'tiny'":                      "must be one of short, full",
		"[phase.plan]\ncarry = 'all'":             "must be one of report, conversation",
		"[phase.explore]\ncarry = 'conversation'": `phase.explore.carry = "conversation" is for plan and implement`,
		"[phase.review]\ncarry = 'conversation'":  `phase.review.carry = "conversation" is for plan and implement`,
		"[phase.plan]\nmax_turns = -1":            "must be between 0",
		"[phase.plan]\nmax_tokens = -1":           "must be between 0",
		"[phase.plan]\nmax_cost = -0.5":           "must be between 0",
	} {
		if _, _, err := config.Load(place(t, own, "")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", own, err, want)
		}
	}
	for line, want := range map[string]string{
		"plan.max_turns":         "write PHASE.LIMIT=N",
		"max_turns=3":            "write PHASE.LIMIT=N",
		"draft.max_turns=3":      "there is no phase",
		"plan.max_time=3":        "no limit of a phase",
		"plan.max_turns=x":       "no number",
		"plan.max_turns=2.5":     "a whole number",
		"plan.max_cost=-1":       "no number from 0 on",
		"plan.max_cost=NaN":      "no number from 0 on",
		"plan.max_tokens=1e30":   "no number from 0 on",
		"implement.max_turns=  ": "no number",
	} {
		if err := (&config.Config{Phase: map[plan.Phase]config.PhaseConfig{}}).LimitPhase(line); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}
