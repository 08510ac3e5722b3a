package engine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

// TestConversationsAreCarried where that is set: those before a phase, whole and oldest
// first, the same for each of its attempts, and never to a review.
func TestConversationsAreCarried(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		carries map[plan.Phase]bool
		want    []string
	}{
		"none":      {nil, []string{"", "", "", "", "", ""}},
		"plan":      {map[plan.Phase]bool{plan.Plan: true}, []string{"", "c1", "", "", "", ""}},
		"implement": {map[plan.Phase]bool{plan.Implement: true}, []string{"", "", "c2", "", "c2", ""}},
		"all": {
			map[plan.Phase]bool{plan.Explore: true, plan.Plan: true, plan.Implement: true, plan.Review: true},
			[]string{"", "c1", "c1 c2", "", "c1 c2", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.crew.outcome = usual(2)
			b.cfg.Carries = c.carries
			b.finish()
			var got []string
			for _, brief := range b.crew.briefs {
				var convs []string
				for _, past := range brief.Carried {
					convs = append(convs, past[0].Conv)
					if last := past[len(past)-1]; last.Conv != past[0].Conv {
						t.Errorf("two conversations in one: %s", line(last))
					}
				}
				got = append(got, strings.Join(convs, " "))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
