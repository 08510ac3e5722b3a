package host

import (
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/internal/hint"
)

// PhaseModels reads pairs such as review=gpt-5, as --phase-model takes them.
func PhaseModels(pairs []string) (map[plan.Phase]config.PhaseConfig, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	out := map[plan.Phase]config.PhaseConfig{}
	for _, pair := range pairs {
		name, model, ok := strings.Cut(pair, "=")
		if !ok || strings.TrimSpace(model) == "" {
			return nil, hint.Usage("--phase-model %q: write PHASE=NAME, such as review=gpt-5", pair)
		}
		name = strings.TrimSpace(name)
		if err := RequirePhase(name); err != nil {
			return nil, hint.Usage("--phase-model %q: %v", pair, err)
		}
		out[plan.Phase(name)] = config.PhaseConfig{Model: strings.TrimSpace(model)}
	}
	return out, nil
}

// RequirePhase refuses a name that no phase has.
func RequirePhase(name string) error {
	var names []string
	for _, p := range append(plan.Phases(), plan.Critique) {
		names = append(names, string(p))
	}
	if slices.Contains(names, name) {
		return nil
	}
	return hint.Usage("there is no phase %q; the phases are %s", name, strings.Join(names, ", "))
}
