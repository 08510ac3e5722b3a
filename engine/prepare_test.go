package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

// unreadyUntil has the check "test" start once one of the setups has run.
func (b *bench) unreadyUntil(setups ...string) {
	b.cfg.Unready = func(context.Context) ([]plan.Unready, error) {
		for _, ran := range b.checker.ran {
			if slices.Contains(setups, ran) {
				return nil, nil
			}
		}
		return []plan.Unready{{Check: b.cfg.Required[0], Why: "test: not found", Setup: "install"}}, nil
	}
}

// TestChecksThatCannotStart are told and asked about before anything is spent; only an
// answer that was offered is run.
func TestChecksThatCannotStart(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, c := range map[string]struct {
		answers []string
		want    []string // setups that ran
		asked   int
		fails   bool
	}{
		"set up":             {[]string{"install"}, []string{"install"}, 1, false},
		"without":            {[]string{"go on without"}, nil, 1, false},
		"what is no answer":  {[]string{"rm -rf .", "install"}, []string{"install"}, 2, false},
		"a setup that fails": {[]string{"install", "go on without"}, []string{"install"}, 2, true},
		"never an answer":    {[]string{"x", "", "y"}, nil, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.unreadyUntil("install")
			if c.fails {
				b.unreadyUntil()
				b.checker.check = func(_ context.Context, check plan.Check) (plan.CheckResult, []plan.Blob, error) {
					res := plan.CheckResult{Output: "no such registry"}
					if check.Source == plan.CheckSetup {
						res.ExitCode = 1
					}
					return res, nil, nil
				}
			}
			var said *plan.Answered
			b.cfg.Answer = func(context.Context, plan.WaitingCall) (*plan.Answered, error) {
				answer := said
				said = nil
				return answer, nil
			}
			for i, text := range c.answers {
				end, err := b.drive(ctx)
				if err != nil || end.Parked == nil || end.Parked.Reason != plan.ParkQuestion || len(end.Parked.Waiting) != 1 {
					t.Fatalf("question %d: %+v, %v", i+1, end, err)
				}
				w := end.Parked.Waiting[0]
				if !strings.Contains(w.Question, "test: not found") || w.Digest == "" || len(b.crew.briefs) > 0 {
					t.Errorf("question %d is %+v, after %d phases", i+1, w, len(b.crew.briefs))
				}
				if i > 0 && c.fails && !strings.Contains(w.Question, "no such registry") {
					t.Errorf("it does not say why the setup failed: %q", w.Question)
				}
				said = &plan.Answered{Text: text, By: "person", Letter: int64(i + 1)}
			}
			if end := b.finish(); end.State != plan.Approved {
				t.Errorf("it ends as %s", end.State)
			}
			var ran []string
			for _, ev := range b.events() {
				if end, ok := ev.Body.(plan.CheckEnd); ok && end.Source == plan.CheckSetup {
					ran = append(ran, end.Command)
				}
			}
			if diff := cmp.Diff(c.want, ran); diff != "" {
				t.Errorf("setups (-want +got):\n%s", diff)
			}
			if got := b.count(plan.TypeQuestion); got != c.asked {
				t.Errorf("it asked %d times, want %d", got, c.asked)
			}
			sound(t, b.events(), false)
		})
	}
}

// TestSetupComesFirst: what a phase can run, it can run from the beginning.
func TestSetupComesFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.cfg.Setup = "prepare"
	b.finish()
	lines := b.lines(0)
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "check_end explore/1 prepare") })
	phase := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "phase_start explore") })
	if at < 0 || at > phase {
		t.Errorf("the setup is event %d, and Explore begins with %d:\n%s", at, phase, strings.Join(lines, "\n"))
	}
	if got := slices.Index(b.checker.ran, "prepare"); got != 0 || slices.Contains(b.checker.ran[1:], "prepare") {
		t.Errorf("it ran %q", b.checker.ran)
	}
}
