package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/sampling"
	"github.com/plan-engine/plan/model/scripted"
)

// modelsOfPhases are the models that a run asked, by phase and attempt, in order.
func modelsOfPhases(p played) []string {
	var out []string
	for _, ev := range p.events {
		r, ok := ev.Body.(plan.Request)
		if !ok {
			continue
		}
		said := string(ev.Phase) + " " + r.Model
		if len(out) == 0 || out[len(out)-1] != said {
			out = append(out, said)
		}
	}
	return out
}

// TestRoute: hints choose the models of phases, a stronger one takes over after
// the second NEEDS_FIX, and the journal says why.
func TestRoute(t *testing.T) {
	t.Parallel()
	fix := verdict(plan.Verdict{
		Verdict: plan.NeedsFix,
		Missing: []plan.Missing{{ID: "G1", Gap: "It does not greet.", Severity: "must"}},
	})
	h := newModelHome(t)
	h.serve("x", usual(scripted.Gateway{},
		scripted.Reply{Phase: "review", Attempt: 1, Text: fix},
		scripted.Reply{Phase: "review", Attempt: 2, Text: fix},
	))
	strong := h.serve("y", usual(scripted.Gateway{}))
	h.settings("model = \"x/m\"\n[route]\ncheap = \"x/small\"\nstrong = \"x/big\"\n" +
		"[phase.explore]\nmodel = \"@cheap\"\n[phase.review]\nmodel = \"@strong\"\n[phase.implement]\nescalate = \"@strong\"\n" +
		providerTable("x", "chat") + providerTable("y", "chat"))
	p := h.run()
	p.approved()
	want := []string{
		"explore x/small", "plan x/m",
		"implement x/m", "review x/big", "implement x/m", "review x/big", "implement x/big", "review x/big",
	}
	if diff := cmp.Diff(want, modelsOfPhases(p)); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
	var why []string
	for _, r := range bodiesOf[plan.Route](p) {
		why = append(why, r.For+" "+r.Model+": "+r.Why)
	}
	text := strings.Join(why, "\n")
	for _, part := range []string{
		"explore x/small: @cheap, as [phase.explore] asks",
		"review x/big: @strong, as [phase.review] asks",
		"implement x/big: @strong, as [route] escalate asks: this is attempt 3",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the reasons are\n%s\nwithout %q", text, part)
		}
	}
	if n := len(strong.Requests()); n > 0 {
		t.Errorf("a provider that no phase names was asked %d times", n)
	}
	if table := h.plan("models").out; !strings.Contains(table, "implement (escalated)") {
		t.Errorf("%s", table)
	}
}

// TestSwitchInTheMiddle: another provider, asked for when a run goes on, counts
// from the next phase, which is said. The conversation that was begun ends where
// it was.
func TestSwitchInTheMiddle(t *testing.T) {
	t.Parallel()
	pairs := [][2]string{{"chat", "anthropic"}, {"anthropic", "responses"}, {"responses", "chat"}}
	for _, wires := range sampling.Pick(sampling.New(t), 1, pairs) {
		t.Run(wires[0]+" to "+wires[1], func(t *testing.T) {
			t.Parallel()
			h := newModelHome(t)
			one := h.serve("one", usual(scripted.Gateway{Wires: []scripted.Wire{scripted.Wire(wires[0])}}))
			two := h.serve("two", usual(scripted.Gateway{Wires: []scripted.Wire{scripted.Wire(wires[1])}}))
			h.settings("model = \"one/m\"\neffort = \"high\"\n" + providerTable("one", wires[0]) + providerTable("two", wires[1]))
			first := h.run("--max-turns", "1")
			first.parked(plan.ParkLimit, "")
			p := h.resume("--max-turns", "9", "--model", "two/m")
			p.approved()
			want := []string{"explore one/m", "plan two/m", "implement two/m", "review two/m"}
			if diff := cmp.Diff(want, modelsOfPhases(p)); diff != "" {
				t.Errorf("models (-want +got):\n%s", diff)
			}
			if len(one.Requests()) != 2 || len(two.Requests()) != usualRequests-2 {
				t.Errorf("%d requests to the one, %d to the other", len(one.Requests()), len(two.Requests()))
			}
			routes := bodiesOf[plan.Route](p)
			told := plan.Route{
				For: "explore", Model: "one/m", Asked: "two/m", Why: "it counts from the next phase, for a conversation keeps its provider",
			}
			shown := h.plan("show", string(p.events[0].Run)).out
			const line = "explore with one/m, not two/m: it counts from the next phase"
			if len(routes) != 1 || routes[0] != told || !strings.Contains(shown, line) {
				t.Errorf("%+v\n%s", routes, shown)
			}
		})
	}
}

// TestWireIsKept: a conversation goes on over the wire it was begun with, also
// where the settings have another one by now.
func TestWireIsKept(t *testing.T) {
	t.Parallel()
	h := newModelHome(t)
	s := h.serve("x", usual(scripted.Gateway{}))
	h.settings("model = \"x/m\"\n" + providerTable("x", "responses"))
	h.run("--max-turns", "1").parked(plan.ParkLimit, "")
	h.settings("model = \"x/m\"\n" + providerTable("x", "chat"))
	h.resume("--max-turns", "9").approved()
	var wires []string
	for _, r := range s.Requests() {
		wires = append(wires, r.Header.Get("X-Plan-Phase")+" "+string(r.Wire))
	}
	want := []string{
		"explore responses", "explore responses", "plan chat", "implement chat", "implement chat", "review chat", "review chat",
	}
	if diff := cmp.Diff(want, wires); diff != "" {
		t.Errorf("wires (-want +got):\n%s", diff)
	}
}

// TestForkByAnother: a fork of a run that goes on by another provider ends the
// conversation it was cut in where that was held, and the other provider sees
// nothing of what is for the first alone.
func TestForkByAnother(t *testing.T) {
	t.Parallel()
	for _, wire := range sampledWires(t) {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			h := newModelHome(t)
			ways := scripted.Gateway{}
			if wire == "chat" {
				ways = scripted.Gateway{NeedsReasoning: true, ReasoningField: scripted.ReasoningDetails}
			}
			h.serve("one", usual(ways))
			two := h.serve("two", usual(scripted.Gateway{}))
			h.settings("model = \"one/m\"\neffort = \"high\"\n" + providerTable("one", wire) + providerTable("two", wire))
			first := h.run("--max-turns", "1")
			first.parked(plan.ParkLimit, "")
			var fork struct {
				ID string `json:"id"`
			}
			end := first.events[len(first.events)-1].Seq
			decode(t, h.plan("fork", "--json", string(first.events[0].Run), "--at", strconv.FormatInt(end, 10)).out, &fork)
			p := h.journaled("resume", "--json", fork.ID, "--max-turns", "9", "--model", "two/m")
			p.approved()
			if diff := cmp.Diff([]string{"implement", "plan", "review"}, phasesOf(two)); diff != "" {
				t.Errorf("the other one's phases (-want +got):\n%s", diff)
			}
			if holds(bodies(two, ""), "Where does it greet?") > 0 {
				t.Errorf("the other one was sent the explorer's thoughts: %v", bodies(two, ""))
			}
		})
	}
}
