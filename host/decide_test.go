package host_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

// TestDecisionsNameWhatTheyAreAbout: the letter carries the call and the digest of
// what waits, and a second decision is refused and says what the first one was.
func TestDecisionsNameWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	push := plan.WaitingCall{
		Call:  "k1",
		Name:  "bash",
		Args:  json.RawMessage(`{ "command": "git push" }`),
		Grant: plan.Grant{Tool: "bash", Command: "git push"},
	}
	remove := plan.WaitingCall{Call: "k2", Name: "bash", Args: json.RawMessage(`{"command":"rm -rf x"}`)}
	draft := plan.WaitingCall{Call: "plan-1", Name: plan.PlanTool, Args: json.RawMessage(`{"version":1}`)}
	pushed := plan.CallDigest("bash", json.RawMessage(`{"command":"git push"}`))
	yes := host.Decision{Approve: true}
	with := func(change func(*host.Decision)) host.Decision {
		d := yes
		change(&d)
		return d
	}
	for name, c := range map[string]struct {
		waits  []plan.WaitingCall
		said   []host.Decision
		errors []string
		call   string // of the one letter
		digest string
	}{
		"one waits": {[]plan.WaitingCall{push}, []host.Decision{yes}, []string{""}, "k1", pushed},
		"twice": {
			[]plan.WaitingCall{push},
			[]host.Decision{yes, yes},
			[]string{"", "call k1 of run R was already approved by person at 2026-11-22"},
			"k1", pushed,
		},
		"and a no after it": {
			[]plan.WaitingCall{push}, []host.Decision{yes, {Call: "k1", Text: "no"}}, []string{"", "already approved"}, "k1", pushed,
		},
		"with its digest": {
			[]plan.WaitingCall{push}, []host.Decision{with(func(d *host.Decision) { d.Digest = pushed })}, []string{""}, "k1", pushed,
		},
		"with another digest": {
			[]plan.WaitingCall{push},
			[]host.Decision{with(func(d *host.Decision) { d.Digest = "0" })},
			[]string{"is not what you were shown"},
			"", "",
		},
		"two wait": {[]plan.WaitingCall{push, remove}, []host.Decision{yes}, []string{"which one is meant: k1, k2"}, "", ""},
		"one of two": {
			[]plan.WaitingCall{push, remove},
			[]host.Decision{with(func(d *host.Decision) { d.Call = "k2" })},
			[]string{""},
			"k2", plan.CallDigest("bash", remove.Args),
		},
		"nothing waits":   {nil, []host.Decision{yes}, []string{"no call waits for a decision in run R; call k0 was denied by person at"}, "", ""},
		"another call":    {[]plan.WaitingCall{push}, []host.Decision{with(func(d *host.Decision) { d.Call = "k9" })}, []string{`"k9" does not wait`}, "", ""},
		"one decided":     {[]plan.WaitingCall{push}, []host.Decision{with(func(d *host.Decision) { d.Call = "k0" })}, []string{"it was denied by person at"}, "", ""},
		"a plan":          {[]plan.WaitingCall{draft}, []host.Decision{yes}, []string{""}, "plan-1", plan.PlanDigest("# Plan")},
		"a plan for less": {[]plan.WaitingCall{draft}, []host.Decision{{}}, []string{"say what should change"}, "", ""},
		"no plan":         {[]plan.WaitingCall{push}, []host.Decision{{Reject: true}}, []string{"no plan of run R waits"}, "", ""},
		"always": {
			[]plan.WaitingCall{push},
			[]host.Decision{yes, with(func(d *host.Decision) { d.Scope = plan.ScopeAlways })},
			[]string{"", "already approved"},
			"k1", pushed,
		},
		"always, of what has no rule": {
			[]plan.WaitingCall{remove},
			[]host.Decision{with(func(d *host.Decision) { d.Scope = plan.ScopeAlways })},
			[]string{"can only be allowed once"},
			"", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			db := parkedWith(t, home, c.waits...)
			h := host.New(host.Config{Environ: []string{"PLAN_HOME=" + home}, Now: noon})
			defer h.Close()
			shown := ""
			for i, d := range c.said {
				d.Show = func(w plan.WaitingCall) { shown += w.Call + " " + w.Shown() }
				_, err := h.Decide(t.Context(), "R", d)
				if want := c.errors[i]; (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error()+hint.Of(err), want) {
					t.Errorf("decision %d: %v, want %q", i+1, err, want)
				}
			}
			if rules, err := os.ReadFile(filepath.Join(home, "config.toml")); err == nil {
				t.Errorf("a decision that was refused wrote %s", rules)
			}
			letters, err := db.Letters(t.Context(), "R")
			if err != nil || len(letters) != len(c.call[:min(1, len(c.call))]) {
				t.Fatalf("the inbox has %v, %v", letters, err)
			}
			if c.call == "" {
				return
			}
			var l host.Letter
			if err := json.Unmarshal(letters[0].Data, &l); err != nil || l.Call != c.call || l.Digest != c.digest {
				t.Errorf("the letter is %s", letters[0].Data)
			}
			if !strings.HasPrefix(shown, c.call+" ") || strings.Count(shown, c.call) != 1 {
				t.Errorf("shown was %q", shown)
			}
		})
	}
}

// A second decision is told of the first, also between the yes and the moment that the
// process that drives the run reads it, after that, and when the run has ended.
func TestDecideOnceMore(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	draft := plan.WaitingCall{Call: "plan-1", Name: plan.PlanTool, Args: json.RawMessage(`{"version":1}`)}
	db := parkedWith(t, home, draft)
	h := host.New(host.Config{Environ: []string{"PLAN_HOME=" + home}, Now: noon})
	defer h.Close()
	if _, err := h.Decide(t.Context(), "R", host.Decision{Approve: true}); err != nil {
		t.Fatal(err)
	}
	w, err := db.Own(t.Context(), "R")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, b := range []plan.Body{
		plan.Unparked{},
		plan.ApprovalResolved{Call: "plan-1", Approved: true, By: "person", Letter: 1},
		plan.StateChange{From: plan.Planning, To: plan.Implementing, Event: "approve"},
		plan.RunEnd{Outcome: plan.Failed},
	} {
		if _, err := w.Append(t.Context(), plan.Event{Run: "R", Time: noon(), Body: b}); err != nil {
			t.Fatal(err)
		}
		for _, again := range []host.Decision{
			{Approve: true, Call: "plan-1", Digest: plan.PlanDigest("# Plan")},
			{Call: "plan-1", Text: "no"},
			{Reject: true, Call: "plan-1"},
			{Approve: true, OfPlan: true, Call: "plan-1"},
		} {
			_, err := h.Decide(t.Context(), "R", again)
			if err == nil || !strings.Contains(err.Error(), "approved by person at 2026-11-22 12:00:00 UTC") || hint.Of(err) == "" {
				t.Errorf("after %s, %+v: %v", b.Type(), again, err)
			}
		}
	}
}

func noon() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

// parkedWith makes a run R with a plan that waits with calls, as an earlier program
// left it: without digests. Another one, k0, was denied before.
func parkedWith(t *testing.T, home string, waits ...plan.WaitingCall) *memory.DB {
	t.Helper()
	now := noon()
	db, err := memory.Open(t.Context(), memory.Config{
		Path:  filepath.Join(home, "plan.db"),
		Locks: filepath.Join(home, "locks"),
		Now:   noon,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w, err := db.Own(t.Context(), "R")
	if err != nil {
		t.Fatal(err)
	}
	bodies := []plan.Body{
		plan.RunStart{Request: "x"},
		plan.StateChange{From: plan.Unstarted, To: plan.Planning, Event: "explore"},
		plan.PlanMade{PlanDoc: plan.PlanDoc{Version: 1, Text: "# Plan"}},
		plan.ApprovalRequired{Call: "k0", Name: "bash", Args: json.RawMessage(`{}`)},
		plan.ApprovalResolved{Call: "k0", By: "person"},
	}
	for _, c := range waits {
		bodies = append(bodies, plan.ApprovalRequired{Call: c.Call, Name: c.Name, Args: c.Args, Grant: c.Grant})
	}
	reason := plan.ParkApproval
	if len(waits) == 0 {
		reason = plan.ParkLimit
	}
	for _, b := range append(bodies, plan.Parked{Reason: reason, Waiting: waits}) {
		if _, err := w.Append(t.Context(), plan.Event{Run: "R", Time: now, Body: b}); err != nil {
			t.Fatal(fmt.Errorf("append: %w", err))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return db
}
