package proof

import (
	"slices"
	"sync"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/checks"
	"github.com/plan-engine/plan/config"
)

// selectChecks sorts the checks that are configured: where one of them must pass,
// they are all that runs. Otherwise they join what is detected below root.
func selectChecks(
	settings config.Config,
	root string,
	byFlag bool,
) (required []plan.Check, detected func() []plan.Check) {
	all := configuredChecks(settings.Checks, byFlag)
	if slices.ContainsFunc(all, func(c plan.Check) bool { return c.Required }) {
		return all, nil
	}
	return nil, sync.OnceValue(func() []plan.Check {
		if detect := settings.Checks.Detect; detect != nil && !*detect {
			return all
		}
		return append(all, checks.Detect(root)...)
	})
}

// configuredChecks are the checks of the settings. Those of the command line stand
// in the place of all others.
func configuredChecks(settings config.ChecksConfig, byFlag bool) []plan.Check {
	source := plan.CheckConfig
	if byFlag {
		source = plan.CheckFlag
	}
	var out []plan.Check
	for _, command := range settings.Required {
		out = append(out, plan.Check{
			Command:  command,
			Required: true,
			Source:   source,
		})
	}
	if byFlag {
		return out
	}
	for _, c := range settings.Run {
		if slices.ContainsFunc(out, func(known plan.Check) bool { return known.Command == c.Command }) {
			continue
		}
		out = append(out, plan.Check{
			Command:   c.Command,
			Name:      c.Name,
			Required:  !c.Advice,
			Source:    plan.CheckConfig,
			TimeoutMS: c.Timeout.Milliseconds(),
			Paths:     c.Paths,
		})
	}
	return out
}
