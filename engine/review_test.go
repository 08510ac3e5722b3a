package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

// reviewing is a run that reviews what the tree holds. Trials are what checks were
// asked to run on.
func reviewing(t *testing.T, cycles, approves int) (b *bench, trials *[]plan.Trial) {
	t.Helper()
	b, trials = setup(t), &[]plan.Trial{}
	b.against = &plan.Against{Commit: "c", Tree: "tree-base", Ref: "main"}
	b.cfg.MaxCycles = cycles
	b.crew.outcome = usual(approves)
	b.snaps.named = map[string]string{"review-1": "tree-start", "review-2": "tree-implement-1"}
	b.checker.trial = func(t plan.Trial) { *trials = append(*trials, t) }
	return b, trials
}

func TestAReviewOfWhatIsThere(t *testing.T) {
	t.Parallel()
	b, trials := reviewing(t, 0, 1)
	b.cfg.Baselines = unasked{t}
	if end := b.finish(); end.State != plan.Approved || end.ExitCode != 0 {
		t.Errorf("ended with %+v", end)
	}
	want := []string{
		"run_start", "snapshot start", "state new>reviewing",
		"check_start review/1 test true", "check_end review/1 test true",
		"check_start review/1 test false", "check_end review/1 test false", "phase_start review/1/c1",
	}
	if diff := cmp.Diff(want, b.lines(0)[:len(want)]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	sound(t, b.events(), true)
	var on []string
	for _, trial := range *trials {
		on = append(on, trial.On)
		if trial.Trees != (plan.Trees{Start: "tree-base", Work: "tree-start"}) {
			t.Errorf("a check sees %+v", trial.Trees)
		}
	}
	if diff := cmp.Diff([]string{plan.TreeStart, ""}, on); diff != "" {
		t.Errorf("checks ran on (-want +got):\n%s", diff)
	}
	got := b.crew.briefs[0]
	if got.Plan != nil || got.Diff != "diff tree-base tree-start" || len(got.Base) != 1 {
		t.Errorf("the reviewer is told %+v", got)
	}
}

// TestAReviewFixesNothingUnasked: neither gaps nor a required check that fails lead to
// an implementer where there is no cycle.
func TestAReviewFixesNothingUnasked(t *testing.T) {
	t.Parallel()
	b, _ := reviewing(t, 0, 2)
	b.checker.check = func(_ context.Context, c plan.Check) (plan.CheckResult, []plan.Blob, error) {
		return plan.CheckResult{Check: c, ExitCode: 1}, nil, nil
	}
	if end := b.finish(); end.State != plan.Exhausted || end.ExitCode != plan.ExitNotApproved {
		t.Errorf("ended with %+v", end)
	}
	if len(b.crew.briefs) != 1 || b.crew.briefs[0].Phase != plan.Review {
		t.Errorf("journal: %s", strings.Join(b.lines(0), "\n"))
	}
	sound(t, b.events(), true)
}

func TestAReviewThatFixes(t *testing.T) {
	t.Parallel()
	b, trials := reviewing(t, 1, 2)
	if end := b.finish(); end.State != plan.Approved {
		t.Errorf("ended with %+v", end)
	}
	var phases []plan.Phase
	for _, brief := range b.crew.briefs {
		phases = append(phases, brief.Phase)
	}
	if diff := cmp.Diff([]plan.Phase{plan.Review, plan.Implement, plan.Review}, phases); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	fix, again := b.crew.briefs[1], b.crew.briefs[2]
	if fix.Plan != nil || len(fix.Gaps) != 1 || len(fix.Checks) != 1 || fix.Checks[0].Baseline {
		t.Errorf("the implementer is told %+v", fix)
	}
	if again.Since != "diff tree-start tree-implement-1" || again.Diff != "diff tree-base tree-implement-1" {
		t.Errorf("the second reviewer is told %+v", again)
	}
	if n := len(*trials); n != 3 {
		t.Errorf("%d checks ran: the baseline once, and one for each review", n)
	}
	sound(t, b.events(), true)
}

// unasked are results of earlier runs, which are of the work tree.
type unasked struct{ t *testing.T }

func (u unasked) Recall(context.Context, plan.Check) (plan.CheckResult, []plan.Blob, bool) {
	u.t.Error("a result on the work tree was recalled for the base")
	return plan.CheckResult{}, nil, false
}

func (u unasked) Keep(context.Context, plan.CheckResult, []plan.Blob) {
	u.t.Error("a result on the base was kept for the work tree")
}

// TestAReviewOfWhatCannotBeCheckedIsAskedFirst: nothing is run, and no reviewer paid for,
// before it is known what is to become of a check that cannot start.
func TestAReviewOfWhatCannotBeCheckedIsAskedFirst(t *testing.T) {
	t.Parallel()
	b, trials := reviewing(t, 0, 1)
	b.unreadyUntil("install")
	b.snaps.named["prepared"] = "tree-start" // it changed nothing that git keeps
	var said *plan.Answered
	b.cfg.Answer = func(context.Context, plan.WaitingCall) (*plan.Answered, error) { return said, nil }
	end, err := b.drive(context.Background())
	if err != nil || end.Parked == nil || end.Parked.Reason != plan.ParkQuestion || len(*trials)+len(b.crew.briefs) > 0 {
		t.Fatalf("%+v, %v, after %d checks and %d phases", end, err, len(*trials), len(b.crew.briefs))
	}
	said = &plan.Answered{Call: end.Parked.Waiting[0].Call, Text: "install", By: "person"}
	if end := b.finish(); end.State != plan.Approved || b.checker.ran[0] != "install" {
		t.Errorf("ended with %+v, after %q", end, b.checker.ran)
	}
	sound(t, b.events(), true)
}
