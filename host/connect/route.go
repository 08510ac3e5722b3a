package connect

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/provider"
	"github.com/plan-engine/plan/phases"
)

// PhaseModels is the model of each phase. A hint that stands for nothing, which
// settings that were read do not hold, leaves a phase without one.
func PhaseModels(cfg config.Config) map[plan.Phase]string {
	out := map[plan.Phase]string{}
	for _, p := range plan.Phases() {
		out[p], _, _ = cfg.Resolve(cfg.For(p).Model)
	}
	if cfg.Critique != nil && *cfg.Critique {
		out[plan.Critique], _, _ = cfg.Resolve(critiqueSettings(cfg).Model)
	}
	return out
}

// critiqueSettings is the model and sampling of a critique; the model is Plan's, where
// no other is named.
func critiqueSettings(cfg config.Config) config.PhaseConfig {
	own := cfg.For(plan.Critique)
	if cfg.Phase[plan.Critique].Model == "" {
		own.Model = cfg.For(plan.Plan).Model
	}
	return own
}

// RouteOf is what [route] and the hints of the phases come to, and why a phase has
// its model where a hint chose it.
func RouteOf(cfg config.Config) (phases.Route, map[plan.Phase]string, error) {
	route := phases.Route{
		Cheap:    cfg.Route.Cheap,
		Strong:   cfg.Route.Strong,
		Escalate: map[plan.Phase]string{},
	}
	var err error
	if route.Summary, _, err = cfg.Resolve(cfg.Route.Summary); err != nil {
		return route, nil, err
	}
	if route.SubAgent, _, err = cfg.Resolve(cfg.Route.SubAgent); err != nil {
		return route, nil, err
	}
	why := map[plan.Phase]string{}
	for p, own := range cfg.Phase {
		_, by, err := cfg.Resolve(own.Model)
		if err != nil {
			return route, nil, err
		}
		if by != "" {
			why[p] = fmt.Sprintf("%s, as [phase.%s] asks", own.Model, p)
		}
		if own.Escalate == "" {
			continue
		}
		if route.Escalate[p], _, err = cfg.Resolve(own.Escalate); err != nil {
			return route, nil, err
		}
	}
	for _, p := range plan.Phases() {
		if _, by, err := cfg.Resolve(cfg.Model); err == nil && by != "" && why[p] == "" && cfg.Phase[p].Model == "" {
			why[p] = cfg.Model + ", as the settings ask"
		}
	}
	return route, why, nil
}

// usedModels are the models that a run can use, and what for.
func usedModels(cfg config.Config) (map[string]string, error) {
	route, _, err := RouteOf(cfg)
	if err != nil {
		return nil, err
	}
	used := map[string]string{route.Summary: "summaries", route.SubAgent: "sub-agents"}
	for p, m := range PhaseModels(cfg) {
		used[m] = string(p)
	}
	for p, m := range route.Escalate {
		used[m] = string(p)
	}
	delete(used, "")
	return used, nil
}

// CheckBudget refuses a cost limit that could not be kept.
func CheckBudget(cfg config.Config, servers *provider.Set) error {
	limit := "--max-cost"
	if cfg.MaxCost <= 0 {
		if limit = phaseCost(cfg); limit == "" {
			return nil
		}
	}
	used, err := usedModels(cfg)
	if err != nil {
		return err
	}
	for m, purpose := range used {
		if entry, ok := servers.Entry(m); !ok || !entry.Priced {
			return hint.New(
				fmt.Sprintf("%s cannot be kept: the price of model %s (%s) is not known", limit, m, purpose),
				fmt.Sprintf("Give it one in config.toml: [models.%q] with input and output in USD per million "+
					"tokens.", m))
		}
	}
	return nil
}

// phaseCost names a phase that has a limit on cost of its own, "" for none.
func phaseCost(cfg config.Config) string {
	for _, p := range slices.Sorted(maps.Keys(cfg.Phase)) {
		if most := cfg.Phase[p].MaxCost; most != nil && *most > 0 {
			return fmt.Sprintf("max_cost of [phase.%s]", p)
		}
	}
	return ""
}

// PhaseLimits are the bounds that phases have of their own.
func PhaseLimits(cfg config.Config) map[plan.Phase]plan.Limits {
	out := map[plan.Phase]plan.Limits{}
	for p, own := range cfg.Phase {
		out[p] = plan.Limits{
			Turns:   valueOf(own.MaxTurns),
			Tokens:  valueOf(own.MaxTokens),
			CostUSD: valueOf(own.MaxCost),
		}
	}
	return out
}

// PhaseCarries are the phases that go on from the conversation of the one before them.
func PhaseCarries(cfg config.Config) map[plan.Phase]bool {
	out := map[plan.Phase]bool{}
	for p, own := range cfg.Phase {
		out[p] = own.Carry == plan.CarryConversation
	}
	return out
}

// valueOf is what a setting says, zero where it is not set.
func valueOf[T any](set *T) (value T) {
	if set != nil {
		value = *set
	}
	return value
}

// PhaseSettings is how the models of each phase are asked.
func PhaseSettings(cfg config.Config) map[plan.Phase]loop.Settings {
	out := map[plan.Phase]loop.Settings{}
	for _, p := range plan.Phases() {
		own := settingsOf(cfg.For(p))
		// Their commands can take longer than a cache is kept for otherwise.
		own.LongCache = phases.TraitsOf(p).RunsCommands
		out[p] = own
	}
	out[plan.Critique] = settingsOf(critiqueSettings(cfg))
	return out
}

func settingsOf(own config.PhaseConfig) loop.Settings {
	return loop.Settings{
		Temperature:     own.Temperature,
		Effort:          own.Effort,
		MaxOutputTokens: own.MaxOutputTokens,
	}
}

// Timeouts is what a call of a tool may take, by what the tool is for. What is not set,
// as in runs of earlier versions, is the loop's own.
func Timeouts(cfg config.Config) map[loop.Category]time.Duration {
	set := cfg.Timeouts
	return map[loop.Category]time.Duration{
		loop.CategoryRead:   set.Read.Duration,
		loop.CategorySearch: set.Search.Duration,
		loop.CategoryEdit:   set.Edit.Duration,
		loop.CategoryExec:   set.Exec.Duration,
		loop.CategoryMCP:    set.MCP.Duration,
	}
}

// Delivery is how many of the letters that wait are taken in at once.
func Delivery(setting string) loop.Delivery {
	if setting == "all" {
		return loop.AllAtOnce
	}
	return loop.OneAtATime
}

// Strategy is how the tool calls of one answer are run.
func Strategy(cfg config.Config) loop.Strategy {
	if cfg.ToolStrategy == "sequential" {
		return loop.Strategy{Mode: loop.Sequential}
	}
	return loop.Strategy{}
}

// Retry is how often and how long failed model calls are repeated.
func Retry(cfg config.Config) loop.Retry {
	return loop.Retry{
		Served:           cfg.Retry.Served,
		UnservedFor:      cfg.Retry.UnservedFor.Duration,
		UnreachableFirst: cfg.Retry.Unreachable(false),
		UnreachableFor:   cfg.Retry.Unreachable(true),
		Whole:            cfg.Timeouts.Request.Duration,
		Base:             cfg.Retry.Base.Duration,
		Max:              cfg.Retry.Max.Duration,
		RetryAfterMax:    cfg.Retry.RetryAfterMax.Duration,
	}
}
