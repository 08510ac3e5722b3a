package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/scripted"
)

// TestReasoningOnly: an answer of reasoning alone is none, and is asked for again
// twice, which is said.
func TestReasoningOnly(t *testing.T) {
	t.Parallel()
	for _, wire := range sampledWires(t) {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			h := newModelHome(t)
			s := h.serve("x", usual(scripted.Gateway{}, scripted.Reply{
				Phase: "plan", User: 1, Fault: &scripted.Fault{Kind: scripted.FaultReasoningOnly},
			}, scripted.Reply{
				Phase: "plan", User: 2, Fault: &scripted.Fault{Kind: scripted.FaultReasoningOnly},
			}))
			h.settings("model = \"x/m\"\neffort = \"high\"\n" + providerTable("x", wire))
			p := h.run("--plan-only")
			p.planned()
			retries := bodiesOf[plan.Retry](p)
			if len(retries) == 0 || len(retries) > 2 {
				t.Errorf("asked again: %+v", retries)
			}
			for _, r := range retries {
				if r.Reason != "the model only reasoned and said nothing" {
					t.Errorf("asked again because %s", r.Reason)
				}
			}
			asked := bodies(s, "plan")
			if len(asked) != len(retries)+1 || holds(asked, "reasoning alone is not seen") != len(retries) {
				t.Errorf("%d requests, of which %d say why: %+v", len(asked), holds(asked, "reasoning alone is not seen"), retries)
			}
		})
	}
}

// refusedCase is an answer that declines.
type refusedCase struct {
	name  string
	wire  string
	reply scripted.Reply
	told  string
}

func refusedCases() []refusedCase {
	var out []refusedCase
	for _, wire := range []string{"chat", "responses", "anthropic"} {
		out = append(out, refusedCase{
			name: "a refusal over " + wire, wire: wire, told: "I will not greet.",
			reply: scripted.Reply{Fault: &scripted.Fault{Kind: scripted.FaultRefuse, Times: at(0), Body: "I will not greet."}},
		}, refusedCase{
			name: "a filter over " + wire, wire: wire, told: "I change it.",
			reply: scripted.Reply{
				Text: "I change it.", Calls: []scripted.Call{bash(works)}, Fault: &scripted.Fault{Kind: scripted.FaultFilter, Times: at(0)},
			},
		})
	}
	return out
}

// TestRefusedAnswer: a refusal or a content filter parks the run with the words,
// and no call runs.
func TestRefusedAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range sampledHalf(t, refusedCases()) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newModelHome(t)
			c.reply.Phase = "implement"
			h.serve("x", usual(scripted.Gateway{}, c.reply))
			h.settings("model = \"x/m\"\n" + providerTable("x", c.wire))
			p := h.run()
			p.parked(plan.ParkRefused, c.told)
			for _, ev := range p.events {
				if end, ok := ev.Body.(plan.ToolEnd); ok && ev.Phase == plan.Implement && end.Status != "refused" {
					t.Errorf("a call ran: %+v", end)
				}
			}
			if got, err := os.ReadFile(filepath.Join(h.dir, "repo", "greet.sh")); err != nil || string(got) != "echo hi\n" {
				t.Errorf("greet.sh holds %q, %v", got, err)
			}
		})
	}
}

// TestNoFinishReason: a server that does not say why an answer ended is asked once
// more; one that never says so is taken at its word from then on.
func TestNoFinishReason(t *testing.T) {
	t.Parallel()
	h := newModelHome(t)
	h.serve("x", usual(scripted.Gateway{NoFinish: true}))
	h.settings("model = \"x/m\"\n" + providerTable("x", "chat"))
	p := h.run()
	p.approved()
	if retries := bodiesOf[plan.Retry](p); len(retries) != 1 || !strings.Contains(retries[0].Reason, "broke off") {
		t.Errorf("asked again: %+v", retries)
	}
}

// TestCallsAsText: calls that a server left in the text or in the reasoning are
// run.
func TestCallsAsText(t *testing.T) {
	t.Parallel()
	for _, form := range []scripted.TextCalls{
		"tool_call", "mistral", "mistral_named", "llama", "harmony", "kimi", "functions",
	} {
		for _, inside := range []bool{false, true} {
			name := string(form)
			if inside {
				name += " in the reasoning"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				h := newModelHome(t)
				h.serve("x", usual(scripted.Gateway{CallsAsText: form, InReasoning: inside}, scripted.Reply{
					Phase: "explore", User: 1, Turn: at(0), Reasoning: "Where does it greet?", Calls: []scripted.Call{reads("greet.sh")},
				}))
				h.settings("model = \"x/m\"\n" + providerTable("x", "chat"))
				p := h.run("--plan-only")
				p.planned()
				ends := bodiesOf[plan.ToolEnd](p)
				if len(ends) != 1 || ends[0].Name != "read" || ends[0].Error || !strings.Contains(ends[0].Output, "echo hi") {
					t.Errorf("%+v", ends)
				}
			})
		}
	}
}
