package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
)

var workers = []plan.Phase{plan.Explore, plan.Plan, plan.Implement, plan.Review}

// placeOf is where the first attempt of a phase stands in a usual run.
func placeOf(p plan.Phase) string {
	return string(p) + "/1/" + map[plan.Phase]string{plan.Explore: "c1", plan.Plan: "c2", plan.Implement: "c3", plan.Review: "c4"}[p]
}

func TestParkAndResume(t *testing.T) {
	t.Parallel()
	wake := time.Date(2026, 3, 4, 6, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		reason plan.ParkReason
		code   int
		ends   string
	}{
		{plan.ParkApproval, 4, "parked"},
		{plan.ParkQuestion, 4, "parked"},
		{plan.ParkLimit, 5, "limit"},
		{plan.ParkRateLimit, 5, "parked"},
		{plan.ParkDrift, 5, "parked"},
		{plan.ParkInterrupted, 130, "parked"},
	} {
		for _, p := range workers {
			t.Run(fmt.Sprint(c.reason, " in ", p), func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				word := &plan.Parked{Reason: c.reason, WakeAt: &wake, Detail: "why"}
				b.crew.during = func(_ context.Context, br plan.Brief) (*plan.Parked, error) {
					if br.Phase != p {
						return nil, nil
					}
					return word, nil
				}
				end := b.finish()
				want := engine.End{State: stateOf(p), Parked: word, ExitCode: c.code}
				if diff := cmp.Diff(want, end); diff != "" {
					t.Fatal(diff)
				}
				place := placeOf(p)
				events := b.lines(0)
				tail := []string{"phase_end " + place + " " + c.ends, "parked " + place + " " + string(c.reason)}
				if diff := cmp.Diff(tail, events[len(events)-2:]); diff != "" {
					t.Error(diff)
				}
				if got := b.events()[len(events)-1].Body; !cmp.Equal(got, plan.Body(*word)) {
					t.Errorf("the journal has %+v", got)
				}
				sound(t, b.events(), true)
				info, err := b.db.Run(context.Background(), b.id)
				if err != nil || info.Parked != c.reason || info.State != stateOf(p) {
					t.Errorf("the list says %+v, %v", info, err)
				}

				b.crew.during = nil
				if end := b.finish(); end.State != plan.Approved {
					t.Fatalf("resumed, it ended with %+v", end)
				}
				head := []string{"unparked " + strings.TrimSuffix(place, place[strings.LastIndex(place, "/"):]) + " " + string(c.reason), "phase_start " + place + " resumed"}
				if diff := cmp.Diff(head, b.lines(len(events))[:2]); diff != "" {
					t.Error(diff)
				}
				sound(t, b.events(), true)
				if n := b.count(plan.TypeCheckEnd); n != 2 {
					t.Errorf("%d checks ran, want a baseline and one after", n)
				}
			})
		}
	}
}

func stateOf(p plan.Phase) plan.State {
	return map[plan.Phase]plan.State{
		plan.Explore: plan.Exploring, plan.Plan: plan.Planning, plan.Implement: plan.Implementing, plan.Review: plan.Reviewing,
	}[p]
}

// stops are the ways in which a context can end, and what becomes of the run.
var stops = []struct {
	name  string
	cause error
	state plan.State // "" for where it stood
	park  plan.ParkReason
	code  int
}{
	{"interrupt", engine.ErrInterrupted, "", plan.ParkInterrupted, 130},
	{"any other cause", errors.New("the terminal is gone"), "", plan.ParkInterrupted, 130},
	{"no cause", nil, "", plan.ParkInterrupted, 130},
	{"timeout", &plan.TimeUp{Max: time.Second}, "", plan.ParkLimit, 5},
	{"deadline", context.DeadlineExceeded, "", plan.ParkLimit, 5},
	{"cancel", engine.ErrCancelled, plan.Cancelled, "", 130},
}

// TestStopping stops a run by its context in each phase and in each check, and
// resumes it where that can be.
func TestStopping(t *testing.T) {
	t.Parallel()
	for _, s := range stops {
		for _, where := range []string{"explore", "plan", "implement", "review", "the baseline", "a check", "before the first step", "between two phases"} {
			t.Run(s.name+" in "+where, func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				stopIn(b, where, func() { cancel(s.cause) })
				end, err := b.drive(ctx)
				if err != nil {
					t.Fatal(err)
				}
				sound(t, b.events(), true)
				if end.ExitCode != s.code || (end.Parked != nil) != (s.park != "") || s.state != "" && end.State != s.state {
					t.Fatalf("ended with %+v (%+v)", end, end.Parked)
				}
				if s.park == "" {
					last := b.events()[len(b.events())-1].Body.(plan.RunEnd)
					if last.Outcome != plan.Cancelled || last.ExitCode != 130 || last.Why == "" {
						t.Errorf("run_end is %+v", last)
					}
					return
				}
				if end.Parked.Reason != s.park || s.park == plan.ParkLimit && !strings.Contains(end.Parked.Detail, "time limit") {
					t.Errorf("parked for %+v", end.Parked)
				}
				if n := b.count(plan.TypeLimit); (n == 1) != (s.park == plan.ParkLimit) {
					t.Errorf("%d limit events", n)
				}
				b.crew.during, b.checker.check, b.snaps.snapshot = nil, nil, nil
				if end := b.finish(); end.State != plan.Approved {
					t.Fatalf("resumed, it ended with %+v", end)
				}
				sound(t, b.events(), true)
				for typ, want := range map[plan.EventType]int{plan.TypeReport: 1, plan.TypePlan: 1, plan.TypeVerdict: 1, plan.TypeRunEnd: 1, plan.TypeParked: 1, plan.TypeUnparked: 1} {
					if n := b.count(typ); n != want {
						t.Errorf("%d %s events, want %d", n, typ, want)
					}
				}
			})
		}
	}
}

// stopIn arranges for stop to be called somewhere in a run, once.
func stopIn(b *bench, where string, stop func()) {
	checks := 0
	b.crew.during = func(ctx context.Context, br plan.Brief) (*plan.Parked, error) {
		if string(br.Phase) == where {
			stop()
		}
		return nil, context.Cause(ctx)
	}
	b.checker.check = func(ctx context.Context, _ plan.Check) (plan.CheckResult, []plan.Blob, error) {
		checks++
		if where == "the baseline" && checks == 1 || where == "a check" && checks == 2 {
			stop()
		}
		return plan.CheckResult{}, nil, context.Cause(ctx)
	}
	b.snaps.snapshot = func(label string) error {
		if where == "before the first step" && label == "start" {
			b.cfg.Context = nil
			b.j.fail = func(int, []plan.Event) (bool, error) { stop(); return false, nil }
		}
		if where == "between two phases" && label == "implement-1" {
			b.j.fail = func(int, []plan.Event) (bool, error) { stop(); return false, nil }
		}
		return nil
	}
}

// TestACancelIsNotLostInAPark: a phase may find a reason to park in the instant
// in which a person cancels the run.
func TestACancelIsNotLostInAPark(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	b.crew.during = func(context.Context, plan.Brief) (*plan.Parked, error) {
		cancel(engine.ErrCancelled)
		return &plan.Parked{Reason: plan.ParkRateLimit}, nil
	}
	end, err := b.drive(ctx)
	if err != nil || end.State != plan.Cancelled || end.Parked != nil {
		t.Errorf("ended with %+v, %v", end, err)
	}
	if n := b.count(plan.TypeParked); n != 0 {
		t.Error("it parked as well")
	}
	sound(t, b.events(), true)
}

// TestCancelARunNobodyDrives: parked ones, and ones whose process was killed in
// the middle of something, which is then ended too.
func TestCancelARunNobodyDrives(t *testing.T) {
	t.Parallel()
	whole := setup(t)
	whole.finish()
	for cut := range whole.j.appends - 1 {
		t.Run(fmt.Sprint("killed after append ", cut+1), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			dieAfter(b, cut+1)
			if _, err := b.drive(context.Background()); err == nil {
				t.Fatal("it was not killed")
			}
			b.j = nil
			cancelled(t, b)
		})
	}
	t.Run("parked", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.crew.during = func(_ context.Context, br plan.Brief) (*plan.Parked, error) {
			if br.Phase == plan.Implement {
				return &plan.Parked{Reason: plan.ParkQuestion}, nil
			}
			return nil, nil
		}
		b.finish()
		cancelled(t, b)
		end := b.events()[len(b.events())-1].Body.(plan.RunEnd)
		if end.Diff.Files != len("tree-end") {
			t.Errorf("the change that Implement left is not counted: %+v", end)
		}
	})
}

func cancelled(t *testing.T, b *bench) {
	t.Helper()
	eng, done := b.process()
	err := eng.Cancel(context.Background())
	done()
	if err != nil {
		t.Fatal(err)
	}
	sound(t, b.events(), true)
	if end := b.finish(); end.State != plan.Cancelled || end.ExitCode != 130 {
		t.Errorf("it is %+v", end)
	}
	if n := b.count(plan.TypeRunEnd); n != 1 {
		t.Errorf("%d run_end events", n)
	}
}

// dieAfter lets the n-th append reach the disk, and nothing happen after it.
func dieAfter(b *bench, n int) {
	b.j = &journal{fail: func(i int, _ []plan.Event) (bool, error) {
		if i >= n {
			return i == n, errKilled
		}
		return false, nil
	}}
}

var errKilled = errors.New("killed")

// TestAnApprovalWaitsForWhatWasSaid: a request that no phase has read when the run
// would be approved is read first, or parks the run where no cycle is left.
func TestAnApprovalWaitsForWhatWasSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cycles int
		state  plan.State
		park   plan.ParkReason
	}{
		{1, plan.Approved, ""},
		{0, plan.Reviewing, plan.ParkLimit},
	} {
		t.Run(fmt.Sprint(c.cycles), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.cfg.MaxCycles = c.cycles
			unread := true
			b.j = &journal{fail: func(_ int, events []plan.Event) (bool, error) {
				for _, ev := range events {
					if _, ends := ev.Body.(plan.RunEnd); ends && unread {
						return false, engine.ErrUnread
					}
				}
				return false, nil
			}}
			b.crew.during = func(_ context.Context, br plan.Brief) (*plan.Parked, error) {
				unread = unread && (br.Phase != plan.Implement || br.Attempt < 2)
				return nil, nil
			}
			end := b.finish()
			if end.State != c.state || (end.Parked == nil) != (c.park == "") || end.Parked != nil && end.Parked.Reason != c.park {
				t.Fatalf("ended with %+v", end)
			}
			sound(t, b.events(), true)
			if c.park == "" {
				return
			}
			b.cfg.MaxCycles = 1 // as the park says
			if end := b.finish(); end.State != plan.Approved {
				t.Errorf("resumed, it ended with %+v", end)
			}
		})
	}
}
