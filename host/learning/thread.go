package learning

import (
	"context"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// mostThread bounds how far back a thread is followed.
const mostThread = 1000

// thread looks at the runs of which the one that is driven goes on, from the one that
// it continues backwards: a row of runs that are one piece of work counts once. It says
// which phases' picks have been credited, and whether a run of it has been counted in a
// row of successes. A run that cannot be read any more counts for nothing.
func (l *Learning) thread(ctx context.Context, before plan.RunID) (credited map[plan.Phase]bool, counted bool) {
	credited = map[plan.Phase]bool{}
	types := []plan.EventType{plan.TypeRunStart, plan.TypeSkillOutcome, plan.TypeRunEnd}
	for range mostThread {
		if before == "" {
			break
		}
		id := before
		before = ""
		isChange := false
		for ev, err := range l.db.Events(ctx, id, memory.Query{Types: types}) {
			if err != nil {
				break
			}
			switch b := ev.Body.(type) {
			case plan.RunStart:
				before, isChange = b.Continues, b.Aim == plan.AimChange
			case plan.SkillOutcome:
				credited[b.Phase] = credited[b.Phase] || !b.Neutral
			case plan.RunEnd:
				counted = counted || isChange && (b.Outcome == plan.Approved || b.Outcome == plan.Exhausted)
			}
		}
	}
	return credited, counted
}
