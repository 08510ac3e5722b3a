package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
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

// TestSetupRunsBesideExplore: the first request does not wait for it, commands do, and
// nothing comes after Explore before it has ended.
func TestSetupRunsBesideExplore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.cfg.Setup = "prepare"
	asked := make(chan struct{})
	b.checker.check = func(_ context.Context, c plan.Check) (plan.CheckResult, []plan.Blob, error) {
		if c.Source == plan.CheckSetup {
			<-asked // it ends after the first request only
		}
		return plan.CheckResult{}, nil, nil
	}
	b.crew.during = func(ctx context.Context, brief plan.Brief) (*plan.Parked, error) {
		if brief.Phase == plan.Explore {
			early, stop := context.WithCancel(ctx)
			stop()
			if err := brief.Ready(early); err == nil {
				t.Error("a command does not wait for the setup")
			}
			close(asked)
			return nil, brief.Ready(ctx)
		}
		if brief.Ready != nil {
			t.Errorf("%s waits for a setup that has ended", brief.Phase)
		}
		return nil, nil
	}
	if end := b.finish(); end.State != plan.Approved {
		t.Errorf("it ends as %s", end.State)
	}
	lines := b.lines(0)
	find := func(prefix string) int {
		return slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, prefix) })
	}
	begun, ended := find("check_start explore/1 prepare"), find("check_end explore/1 prepare")
	if phase, moved := find("phase_start explore"), find("phase_end explore"); begun > phase || ended < phase || ended > moved {
		t.Errorf("the setup is events %d to %d, and Explore %d to %d:\n%s", begun, ended, phase, moved, strings.Join(lines, "\n"))
	}
	if n := strings.Count(strings.Join(b.checker.ran, " "), "prepare"); n != 1 {
		t.Errorf("it ran %q", b.checker.ran)
	}
	sound(t, b.events(), false)
}

// TestASetupThatDoesNotHelp stops Explore, which goes on where it stood once it does: where
// the setup fails, where a check cannot start after it, and where the process dies in it.
func TestASetupThatDoesNotHelp(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"fails", "unready", "dies"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.cfg.Setup = "prepare"
			broken := true
			died := errors.New("the process died")
			explores := make(chan struct{})
			begins := sync.OnceFunc(func() { close(explores) })
			b.checker.check = func(_ context.Context, c plan.Check) (plan.CheckResult, []plan.Blob, error) {
				if c.Source == plan.CheckSetup {
					<-explores // a setup that is done before stops what has not begun
				}
				res := plan.CheckResult{Output: "no such registry"}
				switch {
				case c.Source != plan.CheckSetup || !broken:
				case how == "fails":
					res.ExitCode = 1
				case how == "dies":
					return res, nil, died
				}
				return res, nil, nil
			}
			var said *plan.Answered
			b.cfg.Answer = func(context.Context, plan.WaitingCall) (*plan.Answered, error) { return said, nil }
			b.cfg.Unready = func(context.Context) ([]plan.Unready, error) {
				if how == "unready" && broken {
					return []plan.Unready{{Check: b.cfg.Required[0], Why: "test: not found"}}, nil
				}
				return nil, nil
			}
			b.crew.during = func(ctx context.Context, brief plan.Brief) (*plan.Parked, error) {
				begins()
				if brief.Ready == nil {
					return nil, nil
				}
				return nil, brief.Ready(ctx)
			}
			end, err := b.drive(context.Background())
			switch how {
			case "unready":
				if err != nil || end.Parked == nil || end.Parked.Reason != plan.ParkQuestion {
					t.Fatalf("%+v, %v", end, err)
				}
				said = &plan.Answered{Call: end.Parked.Waiting[0].Call, Text: "go on without", By: "person"}
			default:
				var outage *plan.Outage
				if !errors.As(err, &outage) {
					t.Fatalf("%+v, %v", end, err)
				}
			}
			if n := len(b.crew.briefs); n != 1 || b.crew.briefs[0].Phase != plan.Explore {
				t.Errorf("%d phases were run", n)
			}
			broken = how == "unready"
			if end := b.finish(); end.State != plan.Approved {
				t.Errorf("it ends as %s", end.State)
			}
			sound(t, b.events(), false)
			if again := b.crew.briefs[1]; again.Phase != plan.Explore || again.Attempt != 1 || again.Conv != b.crew.briefs[0].Conv {
				t.Errorf("it goes on with %s/%d", again.Phase, again.Attempt)
			}
			want := map[string]int{"fails": 2, "dies": 2, "unready": 1}[how]
			if n := strings.Count(strings.Join(b.checker.ran, " "), "prepare"); n != want {
				t.Errorf("the setup ran %d times, want %d", n, want)
			}
		})
	}
}

// TestAnotherMachineIsSetUpAgain: what a setup made is in no snapshot, so a run that is
// taken up elsewhere runs it there, too, before the work goes on.
func TestAnotherMachineIsSetUpAgain(t *testing.T) {
	t.Parallel()
	for machine, want := range map[string]int{"": 1, "other": 2} {
		b := setup(t)
		b.cfg.Setup = "prepare"
		b.crew.during = func(_ context.Context, brief plan.Brief) (*plan.Parked, error) {
			if brief.Phase == plan.Implement && len(b.crew.briefs) < 4 {
				return &plan.Parked{Reason: plan.ParkInterrupted}, nil
			}
			return nil, nil
		}
		if end, err := b.drive(t.Context()); err != nil || end.Parked == nil {
			t.Fatalf("%+v, %v", end, err)
		}
		b.cfg.Settings = &plan.SettingsChanged{Machine: machine, Config: []byte(`{}`)}
		if end := b.finish(); end.State != plan.Approved {
			t.Errorf("it ends as %s", end.State)
		}
		ran := strings.Join(b.checker.ran, " ")
		if n := strings.Count(ran, "prepare"); n != want {
			t.Errorf("on machine %q, the setup ran %d times: %s", machine, n, ran)
		}
		sound(t, b.events(), false)
	}
}
