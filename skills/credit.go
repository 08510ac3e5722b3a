package skills

import (
	"context"
	"fmt"

	"github.com/plan-engine/plan"
)

// Result is how a run ended that had picks.
type Result struct {
	Outcome   plan.State
	Reviews   int // how many there were
	MaxCycles int // how many fix cycles there could have been
}

// Reward is what the outcome of a run says about a skill that it loaded. An
// approval at the first review is a whole success; a later one counts as the
// share of fix cycles that were saved; no approval is a failure. What says
// nothing about the work (a cancelled run, or one that failed before a reviewer
// reviewed it, as for a wrong key) is neutral.
func Reward(r Result) (reward float64, neutral bool) {
	switch r.Outcome {
	case plan.Approved:
		if used := r.Reviews - 1; used > 0 {
			return max(0, float64(r.MaxCycles-used)/float64(max(r.MaxCycles, 1))), false
		}
		return 1, false
	case plan.Exhausted:
		return 0, false
	case plan.Failed:
		return 0, r.Reviews == 0
	}
	return 0, true
}

// Credit records how a pick turned out and says what it recorded. A skill that
// was hinted and never loaded had no part in it. Doing without a skill has no
// loading, so it always counts.
func (r *Router) Credit(
	ctx context.Context,
	run plan.RunID,
	p plan.Phase,
	s Skill,
	loaded bool,
	res Result,
) (plan.SkillOutcome, error) {
	out := plan.SkillOutcome{
		Skill: s.Name,
		Phase: p,
		Why:   string(res.Outcome),
	}
	out.Reward, out.Neutral = Reward(res)
	switch {
	case out.Neutral:
		return out, nil
	case s.Name != "" && !loaded:
		out.Reward, out.Neutral, out.Why = 0, true, "not loaded"
		return out, nil
	}
	now := r.Now()
	applied, err := r.Records.RecordSkill(ctx, run, p, s.Name, func(rec plan.SkillRecord) plan.SkillRecord {
		rec.Phase = p
		return AddReward(rec, s, out.Reward, now)
	})
	if err != nil {
		return out, fmt.Errorf("record how the skill %q did: %w", s.Name, err)
	}
	if !applied {
		out.Why += ", recorded before"
	}
	return out, nil
}
