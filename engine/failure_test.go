package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
)

// TestAJournalThatFails fails each append of a run in turn. Nothing may happen
// after it, and once the disk has room again the run must come to the same end.
func TestAJournalThatFails(t *testing.T) {
	t.Parallel()
	whole := setup(t)
	whole.crew.outcome = usual(2)
	whole.finish()
	for n := 1; n <= whole.j.appends; n++ {
		t.Run(fmt.Sprint("append ", n), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.crew.outcome = usual(2)
			var after []plan.EventType
			failed, briefs, effects, checks, snaps := false, 0, 0, 0, 0
			b.j = &journal{fail: func(i int, events []plan.Event) (bool, error) {
				if failed {
					for _, ev := range events {
						after = append(after, ev.Type())
					}
				}
				if i != n { // it fails once: a second try would succeed
					return false, nil
				}
				failed, briefs, effects, checks, snaps = true, len(b.crew.briefs), b.crew.effects, len(b.checker.ran), len(b.snaps.labels)
				return false, errDisk
			}}
			_, err := b.drive(context.Background())
			var je *engine.JournalError
			if !errors.As(err, &je) || !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "journal") {
				t.Fatalf("got %v", err)
			}
			if len(after) > 0 {
				t.Errorf("after the failure %v were recorded", after)
			}
			if len(b.crew.briefs) != briefs || b.crew.effects != effects || len(b.checker.ran) != checks || len(b.snaps.labels) != snaps {
				t.Error("work went on after the failure")
			}
			sound(t, b.events(), false)
			b.j = nil
			if end := b.finish(); end.State != plan.Approved {
				t.Errorf("resumed, it ended with %+v", end)
			}
			sound(t, b.events(), true)
			if diff := cmp.Diff(whole.lines(0), b.lines(0)); diff != "" {
				t.Errorf("(-without +with the failure):\n%s", diff)
			}
		})
	}
}

// TestAPhaseThatDoesNotHeedAFailedAppend cannot make the engine record more.
func TestAPhaseThatDoesNotHeedAFailedAppend(t *testing.T) {
	t.Parallel()
	b := setup(t)
	after := 0
	b.j = &journal{fail: func(i int, _ []plan.Event) (bool, error) {
		if i == 3 { // run_start, phase_start, and then the first of the phase
			return false, errDisk
		}
		if i > 3 {
			after++
		}
		return false, nil
	}}
	eng, done := b.process()
	defer done()
	cfg := b.cfg
	cfg.Runner, cfg.Journal, cfg.Checker, cfg.Snapshots = runnerFunc(func(ctx context.Context, br plan.Brief, emit plan.Emit) (plan.Outcome, error) {
		for range 3 {
			_ = emit(ctx, plan.Event{Conv: br.Conv, Body: plan.TurnStart{}})
		}
		return plan.Outcome{Report: "all is well"}, nil
	}), b.j, b.checker, b.snaps
	eng, err := engine.New(cfg, eng.State())
	if err != nil {
		t.Fatal(err)
	}
	if err := eng.Begin(context.Background(), b.id, "job-1", plan.RunStart{Config: []byte(`{}`)}, nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := eng.Run(context.Background()); !errors.Is(err, errDisk) {
		t.Errorf("got %v", err)
	}
	if after > 0 {
		t.Errorf("%d appends came after the one that failed", after)
	}
}

// hinted is an error that knows what to do.
type hinted struct{ error }

func (hinted) Hint() string { return "Buy a new one." }

// TestFailingCollaborators: an error of a phase, a check or the tree ends the
// run, with all that was started ended and the reason told once.
func TestFailingCollaborators(t *testing.T) {
	t.Parallel()
	broken := hinted{errors.New("it is broken")}
	for _, c := range []struct {
		name   string
		breaks func(b *bench)
		says   string
		in     plan.Phase
		hint   string
	}{
		{"explore", failIn(plan.Explore, broken), "it is broken", plan.Explore, "Buy a new one."},
		{"plan", failIn(plan.Plan, broken), "it is broken", plan.Plan, "Buy a new one."},
		{"implement", failIn(plan.Implement, fmt.Errorf("wrapped: %w", broken)), "wrapped: it is broken", plan.Implement, "Buy a new one."},
		{"review", failIn(plan.Review, errors.New("plain")), "plain", plan.Review, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			c.breaks(b)
			if end := b.finish(); end.State != plan.Failed || end.ExitCode != 1 {
				t.Fatalf("ended with %+v", end)
			}
			sound(t, b.events(), true)
			events := b.events()
			end := events[len(events)-1].Body.(plan.RunEnd)
			if !strings.HasPrefix(end.Why, c.says) {
				t.Errorf("run_end says %q, want %q", end.Why, c.says)
			}
			told := 0
			for _, ev := range events {
				f, ok := ev.Body.(plan.Failure)
				if !ok {
					continue
				}
				told++
				if f.Error != end.Why || f.Hint != c.hint || ev.Phase != c.in {
					t.Errorf("error event %s %+v", line(ev), f)
				}
			}
			if told != 1 {
				t.Errorf("the error was told %d times", told)
			}
		})
	}
}

// TestAnOutageKeepsTheRun breaks what a run works with, and mends it.
func TestAnOutageKeepsTheRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breaks, mends func(b *bench)
		says          string
	}{
		"the baseline": {failCheck(1, errDisk), passChecks, `run the check "test": `},
		"a check":      {failCheck(2, errDisk), passChecks, `run the check "test": `},
		"a snapshot": {
			func(b *bench) {
				b.snaps.snapshot = func(label string) error {
					if label == "start" || strings.HasPrefix(label, "before-") {
						return nil
					}
					return errDisk
				}
			},
			func(b *bench) { b.snaps.snapshot = nil }, "take a snapshot after implementing: ",
		},
		"a snapshot before": {
			func(b *bench) {
				b.snaps.snapshot = func(label string) error {
					if strings.HasPrefix(label, "before-") {
						return errDisk
					}
					return nil
				}
			},
			func(b *bench) { b.snaps.snapshot = nil }, "take a snapshot before implementing: ",
		},
		"the diff":   {func(b *bench) { b.snaps.diff = errDisk }, func(b *bench) { b.snaps.diff = nil }, "compare the work with the start: "},
		"the review": {failIn(plan.Review, &plan.Outage{Err: errDisk}), func(b *bench) { b.crew.during = nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			c.breaks(b)
			_, err := b.drive(context.Background())
			if !errors.Is(err, errDisk) || !strings.HasPrefix(err.Error(), c.says) {
				t.Fatalf("got %v", err)
			}
			last := b.events()[len(b.events())-1]
			if f, ok := last.Body.(plan.Failure); !ok || !strings.Contains(f.Hint, "plan resume") {
				t.Errorf("the journal ends with %s", line(last))
			}
			c.mends(b)
			if end, err := b.drive(context.Background()); err != nil || end.State != plan.Approved {
				t.Fatalf("mended, it ended with %+v, %v", end, err)
			}
			sound(t, b.events(), true)
		})
	}
}

func passChecks(b *bench) { b.checker.check = nil }

func failIn(p plan.Phase, err error) func(*bench) {
	return func(b *bench) {
		b.crew.during = func(_ context.Context, br plan.Brief) (*plan.Parked, error) {
			if br.Phase == p {
				return nil, err
			}
			return nil, nil
		}
	}
}

func failCheck(n int, err error) func(*bench) {
	return func(b *bench) {
		b.checker.check = func(context.Context, plan.Check) (plan.CheckResult, []plan.Blob, error) {
			if len(b.checker.ran) == n {
				return plan.CheckResult{}, []plan.Blob{plan.NewBlob([]byte("half"))}, err
			}
			return plan.CheckResult{}, nil, nil
		}
	}
}

func TestNothingIsWrittenWithoutAStartSnapshot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.snaps.snapshot = func(string) error { return errDisk }
	_, err := b.drive(context.Background())
	if !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "snapshot of the work tree") {
		t.Errorf("got %v", err)
	}
	if n := len(b.events()); n != 0 || len(b.crew.briefs) != 0 {
		t.Errorf("%d events and %d phases without a beginning", n, len(b.crew.briefs))
	}
}

func TestARunDoesNotFailForItsSize(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.snaps.stat = errDisk
	if end := b.finish(); end.State != plan.Approved {
		t.Errorf("ended with %+v", end)
	}
}

// TestTheSizeIsCountedAlsoWhenStopped: the context may end in the instant in
// which the run is approved.
func TestTheSizeIsCountedAlsoWhenStopped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancel(context.Background())
	b.crew.outcome = func(br plan.Brief) plan.Outcome {
		if br.Phase == plan.Review {
			cancel()
		}
		return usual(1)(br)
	}
	end, err := b.drive(ctx)
	if err != nil || end.State != plan.Approved {
		t.Fatalf("ended with %+v, %v", end, err)
	}
	if got := b.events()[len(b.events())-1].Body.(plan.RunEnd).Diff.Files; got == 0 {
		t.Error("the change has no size")
	}
}

// TestAJournalThatCannotBeRead leaves the run as it is: it can go on once the
// file is well again.
func TestAJournalThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.j = &journal{reading: errDisk}
	_, err := b.drive(context.Background())
	var je *engine.JournalError
	if !errors.As(err, &je) || !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "conversation c1") {
		t.Fatalf("got %v", err)
	}
	b.j = nil
	if end := b.finish(); end.State != plan.Approved {
		t.Errorf("resumed, it ended with %+v", end)
	}
	sound(t, b.events(), true)
}

// TestAPanic is a defect of the program: it says so, and leaves the journal to
// a program without it.
func TestAPanic(t *testing.T) {
	t.Parallel()
	for _, p := range workers {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.crew.during = func(_ context.Context, br plan.Brief) (*plan.Parked, error) {
				if br.Phase == p {
					panic("index out of range")
				}
				return nil, nil
			}
			_, err := b.drive(context.Background())
			var d *engine.Defect
			if !errors.As(err, &d) || d.State != stateOf(p) || !strings.Contains(err.Error(), "index out of range") ||
				!strings.Contains(err.Error(), "failure_test.go") || !strings.Contains(d.Hint(), "resume") {
				t.Fatalf("got %v", err)
			}
			sound(t, b.events(), false)
			b.crew.during = nil
			if end := b.finish(); end.State != plan.Approved {
				t.Errorf("resumed, it ended with %+v", end)
			}
			sound(t, b.events(), true)
		})
	}
}

// TestAPhaseWithoutAResult is a defect of the runner, not a crash of everyone.
func TestAPhaseWithoutAResult(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.crew.outcome = func(plan.Brief) plan.Outcome { return plan.Outcome{} }
	_, err := b.drive(context.Background())
	var d *engine.Defect
	if !errors.As(err, &d) || d.State != plan.Planning {
		t.Errorf("got %v", err)
	}
}

// TestAPhaseThatLeavesThingsOpen: an error between start and end must not leave
// a run whose journal is not balanced.
func TestAPhaseThatLeavesThingsOpen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	turn := 0
	fail := errors.New("it is broken")
	b.cfg.Runner = nil
	eng, done := b.process()
	defer done()
	cfg := b.cfg
	cfg.Runner, cfg.Journal, cfg.Checker, cfg.Snapshots = runnerFunc(func(ctx context.Context, br plan.Brief, emit plan.Emit) (plan.Outcome, error) {
		event := func(body plan.Body) plan.Event { return plan.Event{Conv: br.Conv, Turn: &turn, Body: body} }
		if err := emit(ctx, event(plan.TurnStart{}), event(plan.MessageStart{Role: plan.RoleAssistant}),
			event(plan.ToolStart{Call: "k1", Name: "bash", Args: []byte(`{}`)}), event(plan.ToolStart{Call: "k2", Name: "bash", Args: []byte(`{}`)}),
			event(plan.ToolEnd{Call: "k1", Name: "bash"})); err != nil {
			return plan.Outcome{}, err
		}
		if err := emit(ctx); err != nil { // nothing is nothing
			return plan.Outcome{}, err
		}
		return plan.Outcome{}, fail
	}), b.j, b.checker, b.snaps
	eng, err := engine.New(cfg, eng.State())
	if err != nil {
		t.Fatal(err)
	}
	if err := eng.Begin(context.Background(), b.id, "job-1", plan.RunStart{Config: []byte(`{}`)}, nil, nil); err != nil {
		t.Fatal(err)
	}
	if end, err := eng.Run(context.Background()); err != nil || end.State != plan.Failed {
		t.Fatalf("ended with %+v, %v", end, err)
	}
	sound(t, b.events(), true)
	for _, ev := range b.events() {
		if tool, ok := ev.Body.(plan.ToolEnd); ok && tool.Call == "k2" && (!tool.Error || tool.Status != "unknown" || ev.Turn == nil || ev.Conv != "c1") {
			t.Errorf("the open call ends as %s %+v", line(ev), tool)
		}
	}
}

// runnerFunc is a runner made of a function.
type runnerFunc func(context.Context, plan.Brief, plan.Emit) (plan.Outcome, error)

func (runnerFunc) Describe(plan.Phase) plan.PhaseStart { return plan.PhaseStart{Tools: []string{}} }

func (f runnerFunc) Run(ctx context.Context, b plan.Brief, emit plan.Emit) (plan.Outcome, error) {
	return f(ctx, b, emit)
}
