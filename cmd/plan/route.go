package main

import (
	"fmt"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/model/provider"
	"github.com/plan-engine/plan/phases"
)

// modelsOf is the model of each phase. A hint that stands for nothing, which
// settings that were read do not hold, leaves a phase without one.
func modelsOf(cfg config.Config) map[plan.Phase]string {
	out := map[plan.Phase]string{}
	for _, p := range plan.Phases() {
		out[p], _, _ = cfg.Resolve(cfg.For(p).Model)
	}
	if isSet(cfg.Critique) {
		out[plan.Critique], _, _ = cfg.Resolve(critiqueOf(cfg).Model)
	}
	return out
}

// critiqueOf is the model and sampling of a critique; the model is Plan's, where
// no other is named.
func critiqueOf(cfg config.Config) config.PhaseConfig {
	own := cfg.For(plan.Critique)
	if cfg.Phase[plan.Critique].Model == "" {
		own.Model = cfg.For(plan.Plan).Model
	}
	return own
}

// routeOf is what [route] and the hints of the phases come to, and why a phase has
// its model where a hint chose it.
func routeOf(cfg config.Config) (phases.Route, map[plan.Phase]string, error) {
	route := phases.Route{
		Cheap:    cfg.Route.Cheap,
		Strong:   cfg.Route.Strong,
		Escalate: map[plan.Phase]string{},
	}
	var err error
	if route.Summary, _, err = cfg.Resolve(cfg.Route.Summary); err != nil {
		return route, nil, failed(err)
	}
	if route.SubAgent, _, err = cfg.Resolve(cfg.Route.SubAgent); err != nil {
		return route, nil, failed(err)
	}
	why := map[plan.Phase]string{}
	for p, own := range cfg.Phase {
		_, by, err := cfg.Resolve(own.Model)
		if err != nil {
			return route, nil, failed(err)
		}
		if by != "" {
			why[p] = fmt.Sprintf("%s, as [phase.%s] asks", own.Model, p)
		}
		if own.Escalate == "" {
			continue
		}
		if route.Escalate[p], _, err = cfg.Resolve(own.Escalate); err != nil {
			return route, nil, failed(err)
		}
	}
	for _, p := range plan.Phases() {
		if _, by, err := cfg.Resolve(cfg.Model); err == nil && by != "" && why[p] == "" && cfg.Phase[p].Model == "" {
			why[p] = cfg.Model + ", as the settings ask"
		}
	}
	return route, why, nil
}

// usedNames are the models that a run can use, and what for.
func usedNames(cfg config.Config) (map[string]string, error) {
	route, _, err := routeOf(cfg)
	if err != nil {
		return nil, err
	}
	used := map[string]string{route.Summary: "summaries", route.SubAgent: "sub-agents"}
	for p, m := range modelsOf(cfg) {
		used[m] = string(p)
	}
	for p, m := range route.Escalate {
		used[m] = string(p)
	}
	delete(used, "")
	return used, nil
}

// checkBudget refuses a cost limit that could not be kept.
func checkBudget(cfg config.Config, servers *provider.Set) error {
	if cfg.MaxCost <= 0 {
		return nil
	}
	used, err := usedNames(cfg)
	if err != nil {
		return err
	}
	for m, what := range used {
		if entry, ok := servers.Entry(m); !ok || !entry.Priced {
			return failed(&advice{
				fmt.Sprintf("--max-cost cannot be kept: the price of model %s (%s) is not known", m, what),
				fmt.Sprintf(
					"Give it one in config.toml: [models.%q] with input and output in USD per million tokens.",
					m,
				),
			})
		}
	}
	return nil
}
