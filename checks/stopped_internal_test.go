package checks

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/sandbox"
)

func TestHowLongACheckMayTake(t *testing.T) {
	t.Parallel()
	const s, m = time.Second, time.Minute
	cases := map[string]struct {
		cfg          Config
		trial        plan.Trial
		limit, quiet time.Duration
	}{
		"before the change":         {Config{}, plan.Trial{Baseline: true}, 60 * m, 15 * m},
		"after it":                  {Config{}, plan.Trial{}, 15 * m, 5 * m},
		"a quick one":               {Config{}, plan.Trial{Took: 12 * s}, 15 * m, 5 * m},
		"a long one":                {Config{}, plan.Trial{Took: 20 * m}, 60 * m, 40 * m},
		"a middling one":            {Config{}, plan.Trial{Took: 4 * m}, 15 * m, 8 * m},
		"as the settings say":       {Config{Timeout: 20 * m}, plan.Trial{Took: 20 * m}, 20 * m, 0},
		"the settings, before":      {Config{Timeout: 20 * m}, plan.Trial{Baseline: true}, 20 * m, 15 * m},
		"its own":                   {Config{Timeout: m}, plan.Trial{Check: plan.Check{TimeoutMS: 30_000}}, 30 * s, 0},
		"quiet, as the caller says": {Config{Quiet: s}, plan.Trial{Baseline: true}, 60 * m, s},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Runner{cfg: c.cfg}
			if limit, quiet := r.limit(c.trial), r.quiet(c.trial); limit != c.limit || quiet != c.quiet {
				t.Errorf("it may take %v and be quiet for %v; want %v and %v", limit, quiet, c.limit, c.quiet)
			}
		})
	}
}

// TestWhatStillRanIsFitToBeShown: a secret that the cut would go through is gone
// before the cut is made.
func TestWhatStillRanIsFitToBeShown(t *testing.T) {
	t.Parallel()
	r := &Runner{cfg: Config{Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") }}}
	got := r.stillRunning([]string{
		"short hunter2",
		strings.Repeat("x", 195) + "hunter2",
		strings.Repeat("é", 150),
		"bad \xff",
		"fifth",
	})
	want := []string{
		"short [secret]",
		strings.Repeat("x", 195) + "[s…",
		strings.Repeat("é", 98) + "…",
		"bad \uFFFD",
		"fifth",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	res := plan.CheckResult{TimedOut: true, Running: []string{"a", "b", "c", "d", "e"}}
	note := stopNote(plan.Trial{}, res, sandbox.Command{Timeout: 90 * time.Second})
	if want := "[This check was stopped after 1m30s. Still running: a; b; c; and 2 more.]\n"; note != want {
		t.Errorf("%q, want %q", note, want)
	}
}
