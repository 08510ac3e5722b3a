package proof

import (
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
)

// selectChecks sorts the checks that are configured: where one of them must pass,
// they are all that runs. Otherwise they join what detect finds. Those
// that only a repository names which is not trusted join whatever runs without them.
func selectChecks(
	settings config.Config,
	byFlag bool,
	detect func() []plan.Check,
) (required []plan.Check, detected func() []plan.Check) {
	own := configuredChecks(settings.Checks, byFlag)
	var theirs []plan.Check
	if !byFlag {
		isTheirs := func(c plan.Check) bool { return slices.Contains(settings.Checks.Theirs, c.Command) }
		theirs = slices.DeleteFunc(slices.Clone(own), func(c plan.Check) bool { return !isTheirs(c) })
		own = slices.DeleteFunc(own, isTheirs)
	}
	if slices.ContainsFunc(own, func(c plan.Check) bool { return c.Required }) {
		return append(own, theirs...), nil
	}
	return nil, func() []plan.Check {
		selected := slices.Clone(own)
		if wanted := settings.Checks.Detect; wanted == nil || *wanted {
			selected = append(selected, detect()...)
		}
		return joinChecks(selected, theirs)
	}
}

// joinChecks adds checks to others. One that is there already can only become
// required: when it runs and how long it may take stays as it was.
func joinChecks(to, more []plan.Check) []plan.Check {
	for _, c := range more {
		same := func(known plan.Check) bool { return known.Command == c.Command }
		if at := slices.IndexFunc(to, same); at >= 0 {
			to[at].Required = to[at].Required || c.Required
			continue
		}
		to = append(to, c)
	}
	return to
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
