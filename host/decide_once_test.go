package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/hosttest"
)

// Of two that decide at once, the one that comes second is refused and told what the
// first one said: also where the second had looked before the first decided.
func TestTwoDecideAtOnce(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	db := parkedWith(t, home, plan.WaitingCall{
		Call:  "k1",
		Name:  "bash",
		Args:  json.RawMessage(`{"command":"git push"}`),
		Grant: plan.Grant{Tool: "bash", Command: "git push"},
	})
	open := func() *host.Host {
		h := host.New(host.Config{Environ: []string{"PLAN_HOME=" + home}, Now: noon})
		t.Cleanup(func() { _ = h.Close() })
		return h
	}
	first, second := open(), open()
	shown := 0
	_, err := second.Decide(t.Context(), "R", host.Decision{
		Approve: true,
		Scope:   plan.ScopeAlways,
		Show: func(plan.WaitingCall) {
			shown++
			if _, err := first.Tell(t.Context(), "R", host.Letter{Kind: host.Steer, Text: "hurry"}); err != nil {
				t.Error(err)
			}
			if _, err := first.Decide(t.Context(), "R", host.Decision{Text: "no"}); err != nil {
				t.Error(err)
			}
		},
	})
	if err == nil || !strings.Contains(err.Error(), "already denied by person at") || shown != 1 {
		t.Errorf("the second one: %v, shown %d times", err, shown)
	}
	if rule, err := os.ReadFile(filepath.Join(home, "config.toml")); err == nil {
		t.Errorf("it left the rule %s", rule)
	}
	letters, err := db.Letters(t.Context(), "R")
	if err != nil || len(letters) != 2 || letters[1].Kind != string(host.Deny) {
		t.Errorf("the inbox has %v, %v", letters, err)
	}
}

// Once one of two is decided, exactly one waits, and what is decided next is about that.
func TestTheOtherOneOfTwo(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	db := parkedWith(t, home,
		plan.WaitingCall{Call: "k1", Name: "bash", Args: json.RawMessage(`{"command":"git push"}`)},
		plan.WaitingCall{Call: "k2", Name: "bash", Args: json.RawMessage(`{"command":"rm -rf x"}`)},
	)
	h := host.New(host.Config{Environ: []string{"PLAN_HOME=" + home}, Now: noon})
	defer h.Close()
	for i, c := range []struct {
		decision host.Decision
		wants    string
		waits    int
	}{
		{host.Decision{Approve: true}, "which one is meant: k1, k2", 2},
		{host.Decision{Approve: true, Call: "k1"}, "", 1},
		{host.Decision{Text: "no"}, "", 0},
		{host.Decision{Approve: true}, "call k2 was denied by person", 0},
		{host.Decision{Approve: true, Call: "k1"}, "already approved by person", 0},
	} {
		if _, err := h.Decide(t.Context(), "R", c.decision); (err == nil) != (c.wants == "") ||
			err != nil && !strings.Contains(err.Error(), c.wants) {
			t.Errorf("decision %d: %v, want %q", i, err, c.wants)
		}
		if waiting, err := h.WaitingCalls(t.Context(), "R"); err != nil || len(waiting) != c.waits {
			t.Errorf("after decision %d %d wait, %v", i, len(waiting), err)
		}
	}
	letters, err := db.Letters(t.Context(), "R")
	if err != nil || len(letters) != 2 || !strings.Contains(string(letters[1].Data), `"call":"k2"`) {
		t.Errorf("the inbox has %v, %v", letters, err)
	}
}

// chooser is a person who says the same to every call.
type chooser struct {
	choose func(plan.WaitingCall) host.Letter
}

func (c chooser) Decide(_ context.Context, end engine.End, _ *plan.PlanDoc) (letters []host.Letter, ok bool) {
	for _, w := range end.Parked.Waiting {
		letters = append(letters, c.choose(w))
	}
	return letters, true
}

func (chooser) Drift(context.Context, engine.End) (engine.OnDrift, string, bool) {
	return "", "", false
}

// What a person at the terminal allows for good becomes a rule, unless another process
// has decided before: then neither the call nor its rule is allowed.
func TestAlwaysIsDecidedOnce(t *testing.T) {
	t.Parallel()
	const asks = `
[[reply]]
phase = "implement"
about = "Clear the junk"
turn = 0
  [[reply.call]]
  name = "bash"
  args = { command = "rm -rf junk" }
`
	for name, elsewhere := range map[string]bool{"here": false, "elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := hosttest.New(t, asks)
			h, other := host.New(w.Config), host.New(w.Config)
			defer func() {
				if err := errors.Join(h.Close(), other.Close()); err != nil {
					t.Error(err)
				}
			}()
			var id plan.RunID
			resolved := plan.ApprovalResolved{}
			face := host.Face{
				Begin: func(run plan.RunID, _ []plan.Event) { id = run },
				Show: func(ev plan.Event) {
					if b, ok := ev.Body.(plan.ApprovalResolved); ok {
						resolved = b
					}
				},
				Person: chooser{func(call plan.WaitingCall) host.Letter {
					if elsewhere {
						if _, err := other.Decide(t.Context(), id, host.Decision{Text: "no"}); err != nil {
							t.Error(err)
						}
					}
					return host.Letter{Kind: host.Approve, Call: call.Call, Scope: plan.ScopeAlways}
				}},
			}
			if _, err := h.Run(t.Context(), host.Request{Dir: w.Repo, Text: "Clear the junk"}, face); err != nil {
				t.Fatal(err)
			}
			if resolved.Approved == elsewhere {
				t.Errorf("it was decided as %+v", resolved)
			}
			rule, err := os.ReadFile(filepath.Join(w.Dir, "home", "config.toml"))
			if (err == nil) == elsewhere || err == nil && !strings.Contains(string(rule), "command = 'rm -rf junk'") {
				t.Errorf("the rule is %s, %v", rule, err)
			}
		})
	}
}
