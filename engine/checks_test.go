package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

// checkLines are the check events in words.
func (b *bench) checkLines() []string {
	var out []string
	for _, l := range b.lines(0) {
		if strings.HasPrefix(l, "check_") {
			out = append(out, l)
		}
	}
	return out
}

func TestWhichChecksRun(t *testing.T) {
	t.Parallel()
	detected := []plan.Check{{Command: "make test", Source: plan.CheckDetected}, {Command: "verify", Source: plan.CheckDetected}}
	for _, c := range []struct {
		name     string
		required []plan.Check
		detected []plan.Check
		want     []plan.Check
	}{
		{
			"required ones are all there is after the work",
			[]plan.Check{{Command: "a", Required: true, Source: plan.CheckFlag}, {Command: "b", Required: true, Source: plan.CheckFlag}},
			detected,
			[]plan.Check{{Command: "a", Required: true, Source: plan.CheckFlag}, {Command: "b", Required: true, Source: plan.CheckFlag}},
		},
		{
			"else the plan's and the detected, each once", nil, detected,
			[]plan.Check{{Command: "verify", Source: plan.CheckPlan}, {Command: "make test", Source: plan.CheckDetected}},
		},
		{"or none", nil, nil, []plan.Check{{Command: "verify", Source: plan.CheckPlan}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.cfg.Required, b.cfg.Detected = c.required, func() []plan.Check { return c.detected }
			b.crew.outcome = func(brief plan.Brief) plan.Outcome {
				out := usual(2)(brief)
				if out.Plan != nil {
					out.Plan.Verify = []string{"verify"}
				}
				return out
			}
			b.finish()
			var want, got []plan.CheckResult
			for _, base := range []bool{true, false, false} { // one baseline, and once after each of two implements
				for _, check := range c.want {
					want = append(want, plan.CheckResult{Check: check, Baseline: base})
				}
				if base && c.required != nil {
					verify := plan.Check{Command: "verify", Source: plan.CheckPlan}
					want = append(want, plan.CheckResult{Check: verify, Baseline: true})
				}
			}
			for _, ev := range b.events() {
				if end, ok := ev.Body.(plan.CheckEnd); ok {
					got = append(got, end.CheckResult)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOutputThatWasCutIsKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	whole := plan.NewBlob([]byte("all of the output"))
	b.checker.check = func(context.Context, plan.Check) (plan.CheckResult, []plan.Blob, error) {
		return plan.CheckResult{ExitCode: 1, Output: "all…", Blob: whole.Hash, DurationMS: 7}, []plan.Blob{whole}, nil
	}
	b.finish()
	data, err := b.db.Blob(context.Background(), whole.Hash)
	if err != nil || string(data) != "all of the output" {
		t.Errorf("the database has %q, %v", data, err)
	}
	want := plan.CheckResult{Check: b.cfg.Required[0], ExitCode: 1, Output: "all…", Blob: whole.Hash, DurationMS: 7}
	if diff := cmp.Diff([]plan.CheckResult{want}, b.crew.briefs[4].Checks); diff != "" {
		t.Errorf("the reviewer is told:\n%s", diff)
	}
}

// TestAFailingCheckGoesBackOnce: before a review is paid for, in the same attempt
// and without a fix cycle; an advisory one does not.
func TestAFailingCheckGoesBackOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		required bool
		passes   int // at which run after the change it passes
		phases   string
	}{
		"mended":    {true, 2, "explore plan implement implement review"},
		"not":       {true, 9, "explore plan implement implement review"},
		"advisory":  {false, 9, "explore plan implement review"},
		"no reason": {true, 1, "explore plan implement review"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.cfg.MaxCycles = 0
			b.cfg.Required = nil
			check := plan.Check{Command: "test", Required: c.required}
			if c.required {
				b.cfg.Required = []plan.Check{check}
			} else {
				b.cfg.Detected = func() []plan.Check { return []plan.Check{check} }
			}
			b.checker.check = func(context.Context, plan.Check) (plan.CheckResult, []plan.Blob, error) {
				after := 0
				for _, ev := range b.events() {
					if m, ok := ev.Body.(plan.StateChange); ok && m.To == plan.Reviewing {
						after++
					}
				}
				return plan.CheckResult{ExitCode: map[bool]int{true: 0, false: 1}[after >= c.passes]}, nil, nil
			}
			b.finish()
			var phases []string
			for _, brief := range b.crew.briefs {
				phases = append(phases, string(brief.Phase))
				if brief.Attempt != 1 {
					t.Errorf("%s is in attempt %d", brief.Phase, brief.Attempt)
				}
			}
			if got := strings.Join(phases, " "); got != c.phases {
				t.Errorf("phases %q, want %q", got, c.phases)
			}
			if len(b.crew.briefs) == 5 && len(b.crew.briefs[3].Failed) != 1 {
				t.Error("the implementer is not told which check fails")
			}
		})
	}
}

// TestGreenByItself: a required check that failed before, and passes although no
// file was changed, runs again on the tree of the start. It is flaky if it passes
// there, and counts as failed if it does not.
func TestGreenByItself(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		onStart int
		changed bool
		want    string // of the result after the work
	}{
		"passes there":  {0, false, "exit 0, flaky true"},
		"fails there":   {1, false, "exit 1, flaky false"},
		"work was done": {1, true, "exit 0, flaky false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.cfg.MaxCycles = 0
			if !c.changed {
				b.snaps.named = map[string]string{"implement-1": "tree-start", "implement-1-rechecked": "tree-start", "review-1": "tree-start"}
			}
			on := ""
			b.checker.trial = func(tr plan.Trial) { on = tr.On }
			b.checker.check = func(context.Context, plan.Check) (plan.CheckResult, []plan.Blob, error) {
				n := len(b.checker.ran)
				code := map[bool]int{true: 1, false: 0}[n <= 2] // at the baseline, and there again
				if on == plan.TreeStart {
					code = c.onStart
				}
				return plan.CheckResult{ExitCode: code}, nil, nil
			}
			b.finish()
			got := ""
			for _, ev := range b.events() {
				if end, ok := ev.Body.(plan.CheckEnd); ok && !end.Baseline {
					got = fmt.Sprintf("exit %d, flaky %v", end.ExitCode, end.Flaky)
				}
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestAnInterruptedCheckRunsAgain: its first result says nothing, the others
// stay, and what a killed process began is ended by the next.
func TestAnInterruptedCheckRunsAgain(t *testing.T) {
	t.Parallel()
	three := []plan.Check{{Command: "a"}, {Command: "b"}, {Command: "c"}}
	for _, base := range []bool{true, false} {
		phase, first := "implement", 2
		if !base {
			phase, first = "review", 5
		}
		place := func(kind, command string) string {
			return "check_" + kind + " " + phase + "/1 " + command + map[bool]string{true: " true", false: " false"}[base]
		}
		before := []string{place("start", "a"), place("end", "a"), place("start", "b")}
		after := []string{place("end", "b"), place("start", "c"), place("end", "c")}
		again := append([]string{place("start", "b")}, after...)
		t.Run(phase+", stopped", func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.cfg.Required = three
			ctx, cancel := context.WithCancel(context.Background())
			b.checker.check = func(ctx context.Context, _ plan.Check) (plan.CheckResult, []plan.Blob, error) {
				if len(b.checker.ran) == first {
					cancel()
				}
				return plan.CheckResult{}, nil, ctx.Err()
			}
			if end, err := b.drive(ctx); err != nil || end.Parked == nil {
				t.Fatalf("ended with %+v, %v", end, err)
			}
			b.checker.check = nil
			b.finish()
			wantChecks(t, b, phase, append(append(before, place("end", "b")+" cancelled"), again...))
			for _, r := range append(b.crew.briefs[2].Checks, b.crew.briefs[3].Checks...) {
				if r.Cancelled {
					t.Error("a phase is told of a check that was stopped")
				}
			}
		})
		t.Run(phase+", killed", func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.cfg.Required = three
			killIn(b, first)
			if _, err := b.drive(context.Background()); err == nil {
				t.Fatal("it was not killed")
			}
			b.j = nil
			b.finish()
			wantChecks(t, b, phase, append(before, after...))
		})
		t.Run(phase+", killed, and resumed with other checks", func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.cfg.Required = three
			killIn(b, first)
			if _, err := b.drive(context.Background()); err == nil {
				t.Fatal("it was not killed")
			}
			b.j, b.cfg.Required = nil, []plan.Check{{Command: "a"}, {Command: "d"}}
			b.finish()
			wantChecks(t, b, phase, append(before, place("end", "b")+" cancelled", place("start", "d"), place("end", "d")))
		})
	}
}

// killIn kills the process while the n-th check runs.
func killIn(b *bench, n int) {
	b.j = &journal{fail: func(_ int, events []plan.Event) (bool, error) {
		if len(b.checker.ran) == n && events[0].Type() == plan.TypeCheckEnd {
			return false, errKilled
		}
		return false, nil
	}}
}

func wantChecks(t *testing.T, b *bench, phase string, want []string) {
	t.Helper()
	var got []string
	for _, l := range b.checkLines() {
		if strings.Contains(l, phase) {
			got = append(got, l)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	sound(t, b.events(), true)
}

// TestABaselineIsTakenOnce: not again when Implement is resumed, and not
// before a second Implement, where the tree is no baseline any more.
func TestABaselineIsTakenOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.crew.outcome = usual(3)
	for _, stop := range []int{1, 2, 3} {
		b.crew.during = func(_ context.Context, br plan.Brief) (*plan.Parked, error) {
			if br.Phase == plan.Implement && br.Attempt == stop {
				return &plan.Parked{Reason: plan.ParkLimit}, nil
			}
			return nil, nil
		}
		if end := b.finish(); end.Parked == nil {
			t.Fatalf("ended with %+v", end)
		}
		b.cfg.Required = append(b.cfg.Required, plan.Check{Command: "late"}) // --check on resume
	}
	b.crew.during = nil
	b.finish()
	baselines := 0
	for _, ev := range b.events() {
		if end, ok := ev.Body.(plan.CheckEnd); ok && end.Baseline {
			baselines++
		}
	}
	if baselines != 1 {
		t.Errorf("%d baseline results", baselines)
	}
	sound(t, b.events(), true)
}
