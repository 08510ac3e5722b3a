// Package runflags has the flags that the commands share which drive runs.
package runflags

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/hint"
)

// Flags are those flags. Their zero value is ready to be registered.
type Flags struct {
	model, baseURL string
	phaseModels    []string
	cycles, turns  int
	// Tokens, Cost and Timeout are limits of what is driven: a run, or a batch.
	Tokens         int64
	Cost           float64
	Timeout        time.Duration
	checks         []string
	wait           bool
	autoApprove    bool
	force          bool
	record, replay string
	compaction     string
	way, planSize  string
	phaseLimits    []string
	replanOnDrift  bool
	critique       bool
	approvePlan    bool
	freshBaseline  bool
	sandbox        string
}

// Register adds those of commands that change something.
func (f *Flags) Register(cmd *cobra.Command) {
	f.RegisterLooking(cmd)
	f.RegisterProof(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&f.approvePlan, "approve-plan", false,
		"wait for a person before a plan is carried out: approve, edit, send back or reject it")
	fl.BoolVar(&f.critique, "critique", false,
		"have the plan looked at a second time, by a fresh conversation, before it is carried out")
	fl.StringVar(
		&f.way,
		"way",
		"auto",
		"`WAY` through the phases: full, short (Explore hands over the plan), direct (neither Explore nor Plan), or "+
			"auto: Explore chooses between full and short once it has looked",
	)
	fl.StringVar(&f.planSize, "plan-size", "full", "`SIZE` of a plan: short (a page) or full (as long as it needs)")
	fl.BoolVar(&f.freshBaseline, "fresh-baseline", false,
		"run every check before the work, also where an earlier run knows the result")
	fl.BoolVar(&f.replanOnDrift, "replan-on-drift", false,
		"where the tree changes under the run, make another plan instead of parking (at most twice)")
}

// RegisterProof adds those of commands that come to a verdict.
func (f *Flags) RegisterProof(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.IntVar(&f.cycles, "max-review-cycles", 2, "at most `N` rounds of fixing after a review")
	fl.StringArrayVar(&f.checks, "check", nil, "`CMD` that must pass for approval (repeatable)")
}

// RegisterLooking adds those that every command has which drives a run.
func (f *Flags) RegisterLooking(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.model, "model", "",
		"`NAME` of the model, for every phase: provider/model, a model of the default provider, @cheap or @strong")
	fl.StringVar(&f.baseURL, "base-url", "",
		"`URL` of the default provider, usually ending in /v1; others have theirs in config.toml")
	fl.StringArrayVar(&f.phaseModels, "phase-model", nil,
		"`PHASE=NAME`: another model for one phase, also of another provider (repeatable)")
	fl.IntVar(&f.turns, "max-turns", 100, "at most `N` model calls in a phase")
	fl.StringArrayVar(&f.phaseLimits, "phase-limit", nil,
		"`PHASE.LIMIT=N`: max_turns, max_tokens or max_cost of one phase, such as plan.max_turns=20; 0 lifts "+
			"it (repeatable)")
	fl.Int64Var(&f.Tokens, "max-tokens", 0, "stop once the run has used `N` tokens, input and output (0: no limit)")
	fl.Float64Var(&f.Cost, "max-cost", 0, "stop once the run has cost `USD` (0: no limit)")
	fl.DurationVar(&f.Timeout, "timeout", 0, "park the run after `D`, such as 30m (0: no limit)")
	fl.BoolVar(
		&f.autoApprove,
		"auto-approve",
		false,
		"do not wait for a person: what would be asked is allowed, and where the model asks, it is told to decide "+
			"and say so",
	)
	fl.BoolVar(
		&f.force,
		"force",
		false,
		"ask and deny nothing that a tool does; also --yolo, --dangerously-skip-permissions (what a phase cannot "+
			"do, it still cannot)",
	)
	fl.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "yolo" || name == "dangerously-skip-permissions" {
			name = "force"
		}
		return pflag.NormalizedName(name)
	})
	fl.StringVar(
		&f.compaction,
		"compaction",
		"safe",
		"what may be done where a model's window gets full: `LEVEL` off, safe (no model call) or full (a summary, "+
			"and outputs with similar lines folded)",
	)
	fl.StringVar(
		&f.sandbox,
		"sandbox",
		"auto",
		"`WALLS` for commands: auto (the strongest there are), required (or refuse), off, or namespaces, "+
			"bubblewrap, landlock, sandbox-exec (macOS)",
	)
	fl.StringVar(&f.record, "record", "", "record what is said to and by the model in `FILE`, without secrets")
	fl.StringVar(&f.replay, "replay", "", "answer from the recording in `FILE` instead of a model, offline")
	cmd.MarkFlagsMutuallyExclusive("record", "replay")
	fl.BoolVar(&f.wait, "wait", false,
		"sleep through rate limits and outages instead of parking (default on a terminal)")
}

// Options reads the flags.
func (f *Flags) Options(cmd *cobra.Command) (host.Options, error) {
	isSet := cmd.Flags().Changed
	o := host.Options{
		AutoApprove:   f.autoApprove,
		Force:         f.force,
		FreshBaseline: f.freshBaseline,
		Record:        f.record,
		Replay:        f.replay,
		NoTimeout:     isSet("timeout") && f.Timeout == 0,
		NoTokens:      isSet("max-tokens") && f.Tokens == 0,
		NoCost:        isSet("max-cost") && f.Cost == 0,
	}
	c := &o.Settings
	c.Model = f.model
	c.BaseURL = f.baseURL
	switch {
	case isSet("max-review-cycles") && f.cycles < 0:
		return o, hint.Usage("--max-review-cycles cannot be negative")
	case isSet("max-turns") && f.turns < 1:
		return o, hint.Usage("--max-turns must be at least 1")
	case f.Tokens < 0 || f.Cost < 0 || f.Timeout < 0:
		return o, hint.Usage("--max-tokens, --max-cost and --timeout cannot be negative")
	}
	if isSet("max-review-cycles") {
		c.MaxReviewCycles = &f.cycles
	}
	if isSet("max-turns") {
		c.MaxTurns = f.turns
	}
	c.MaxTokens = f.Tokens
	c.MaxCost = f.Cost
	c.Timeout = config.Of(f.Timeout)
	for _, cmd := range f.checks {
		if strings.TrimSpace(cmd) == "" {
			return o, hint.Usage("--check needs a command")
		}
		c.Checks.Required = append(c.Checks.Required, cmd)
	}
	for _, flag := range []struct {
		name  string
		value *bool
		to    **bool
	}{
		{"wait", &f.wait, &c.Wait},
		{"replan-on-drift", &f.replanOnDrift, &c.ReplanOnDrift},
		{"critique", &f.critique, &c.Critique},
		{"approve-plan", &f.approvePlan, &c.ApprovePlan},
	} {
		if isSet(flag.name) {
			*flag.to = flag.value
		}
	}
	if err := f.choices(isSet, c); err != nil {
		return o, err
	}
	var err error
	if c.Phase, err = host.PhaseModels(f.phaseModels); err != nil {
		return o, err
	}
	for _, limit := range f.phaseLimits {
		if err := c.LimitPhase(limit); err != nil {
			return o, hint.Usage("--phase-limit %q: %v", limit, err)
		}
	}
	return o, nil
}

// choices reads the flags that take one of a few words.
func (f *Flags) choices(isSet func(string) bool, c *config.Config) error {
	for _, flag := range []struct {
		name, value string
		words       []string
		to          *string
	}{
		{"compaction", f.compaction, []string{"off", "safe", "full"}, &c.Compact.Level},
		{"way", f.way, []string{"auto", "full", "short", "direct"}, &c.Way},
		{"plan-size", f.planSize, []string{plan.PlanShort, plan.PlanFull}, &c.PlanSize},
		{"sandbox", f.sandbox, []string{
			"auto", "required", "off", "namespaces", "bubblewrap", "landlock",
			"sandbox-exec",
		}, &c.Sandbox},
	} {
		switch {
		case !isSet(flag.name):
		case !slices.Contains(flag.words, flag.value):
			return hint.Usage("--%s %q: write one of %s", flag.name, flag.value, strings.Join(flag.words, ", "))
		default:
			*flag.to = flag.value
		}
	}
	return nil
}
