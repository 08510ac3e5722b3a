package phases_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

// TestWhatHangsNowAndThenIsTriedAnew: a line that had to be stopped says nothing,
// so it runs once more, on either tree.
func TestWhatHangsNowAndThenIsTriedAnew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stopped  []int // which trials are stopped, counted from 0
		want     []string
		approved bool
	}{
		"never":                   {nil, []string{"reviewed", "counter", "counter"}, true},
		"on the work":             {[]int{0}, []string{"reviewed", "reviewed", "counter", "counter"}, true},
		"without it":              {[]int{1}, []string{"reviewed", "counter", "counter", "counter"}, true},
		"without it, later":       {[]int{2}, []string{"reviewed", "counter", "counter", "counter"}, true},
		"always on the work":      {[]int{0, 1}, []string{"reviewed", "reviewed"}, false},
		"always without the work": {[]int{1, 2}, []string{"reviewed", "counter", "counter"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, say(1, 0, claims)+say(2, 0, claims), map[string]string{"a.txt": "alpha\n"})
			var on []string
			b.cfg.Try = func(ctx context.Context, trial plan.Trial) (plan.CheckResult, []plan.Blob, error) {
				n := len(on)
				on = append(on, trial.On)
				if slices.Contains(c.stopped, n) {
					return plan.CheckResult{ExitCode: 124, TimedOut: true}, nil, nil
				}
				return b.try(ctx, trial)
			}
			brief := reviewBrief(false)
			if j := b.must(brief).Judgement; j.Approved != c.approved {
				t.Errorf("judged %+v", j)
			}
			if diff := cmp.Diff(c.want, on); diff != "" {
				t.Errorf("trees (-want +got):\n%s", diff)
			}
		})
	}
}
