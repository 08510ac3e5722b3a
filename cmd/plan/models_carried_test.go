package main

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/scripted"
)

// carriedCase is a way to send thinking that must come back.
type carriedCase struct {
	name string
	wire string
	ways scripted.Gateway
	set  string // of the settings
	back string // in a later request of the same conversation
}

func carriedCases() []carriedCase {
	return []carriedCase{
		{
			name: "DeepSeek's field", wire: "chat",
			ways: scripted.Gateway{NeedsReasoning: true},
			back: `"reasoning_content":"The word is hi."`,
		},
		{
			name: "a field of another name", wire: "chat",
			ways: scripted.Gateway{NeedsReasoning: true, ReasoningField: scripted.ReasoningText},
			back: `"reasoning":"The word is hi."`,
		},
		{
			name: "OpenRouter's list, with Gemini behind it", wire: "chat",
			ways: scripted.Gateway{NeedsReasoning: true, ReasoningField: scripted.ReasoningDetails, Comments: true},
			back: `"reasoning_details":[{`,
		},
		{
			name: "Gemini's signature", wire: "chat",
			ways: scripted.Gateway{ExtraContent: true},
			back: `"extra_content":{"google":{"thought_signature":`,
		},
		{
			name: "reasoning items", wire: "responses",
			back: `"encrypted_content":"`,
		},
		{
			name: "signed thinking", wire: "anthropic",
			set:  "effort = \"high\"\n",
			back: `"thinking":"The word is hi."`,
		},
	}
}

// TestCarriedReasoning: a run is approved over each wire, and what came with an
// answer goes back with it. Another provider gets none of it.
func TestCarriedReasoning(t *testing.T) {
	t.Parallel()
	for _, c := range sampledHalf(t, carriedCases()) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newModelHome(t)
			c.ways.Wires = []scripted.Wire{scripted.Wire(c.wire)}
			own := h.serve("x", usual(c.ways))
			other := h.serve("other", usual(scripted.Gateway{Wires: []scripted.Wire{scripted.WireChat}}))
			h.settings("model = \"x/m\"\n" + c.set + "[phase.review]\nmodel = \"other/m\"\n" +
				providerTable("x", c.wire) + providerTable("other", "chat"))

			p := h.run()
			p.approved()
			for _, r := range bodiesOf[plan.Retry](p) {
				t.Errorf("something was asked again: %s", r.Reason)
			}
			if parts := p.parts(); len(parts) > 0 {
				t.Errorf("adjusted: %v", parts)
			}
			work := bodies(own, "implement")
			if len(work) != 2 || strings.Contains(work[0], c.back) || !strings.Contains(work[1], c.back) {
				t.Errorf("the second of these has not %s:\n%s", c.back, strings.Join(work, "\n"))
			}
			foreign := bodies(other, "")
			for _, words := range []string{"The word is hi.", "encrypted_content", `"signature":`, "reasoning_details"} {
				if n := holds(foreign, words); n > 0 || len(foreign) != 2 {
					t.Errorf("the other provider was sent %q in %d of %d requests", words, n, len(foreign))
				}
			}
		})
	}
}

// TestRedactedThinking: what was never shown goes back as it came.
func TestRedactedThinking(t *testing.T) {
	t.Parallel()
	for wire, back := range map[string]string{"anthropic": `"redacted_thinking"`, "responses": `"encrypted_content"`} {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			h := newModelHome(t)
			s := h.serve("x", usual(scripted.Gateway{}, scripted.Reply{
				Phase: "explore", User: 1, Turn: at(0), Reasoning: "Nobody sees this.", Redacted: true, Calls: []scripted.Call{reads("greet.sh")},
			}))
			h.settings("model = \"x/m\"\neffort = \"high\"\n" + providerTable("x", wire))
			p := h.run("--plan-only")
			p.planned()
			look := bodies(s, "explore")
			if len(look) != 2 || !strings.Contains(look[1], back) || strings.Contains(p.out, "Nobody sees this.") {
				t.Errorf("the second of these has not %s:\n%s", back, strings.Join(look, "\n"))
			}
		})
	}
}

// TestThinkTags: what stands between the tags is reasoning and not text.
func TestThinkTags(t *testing.T) {
	t.Parallel()
	h := newModelHome(t)
	s := h.serve("x", usual(scripted.Gateway{ReasoningField: scripted.ReasoningThink}))
	h.settings("model = \"x/m\"\n" + providerTable("x", "chat"))
	p := h.run()
	p.approved()
	thoughts := 0
	for _, m := range bodiesOf[plan.MessageEnd](p) {
		for _, b := range m.Blocks {
			if b.Type == plan.BlockText && strings.Contains(b.Text, "think>") {
				t.Errorf("a text holds a tag: %q", b.Text)
			}
			if b.Type == plan.BlockReasoning && strings.TrimSpace(b.Text) == "The word is hi." {
				thoughts++
			}
		}
	}
	if thoughts != 1 || holds(bodies(s, "plan"), "It is found.") > 0 {
		t.Errorf("%d thoughts of that text; the planner reads the explorer's: %v", thoughts, bodies(s, "plan"))
	}
}

// TestSummaryByAnother: a model of another provider that sums a conversation up
// sees what was said, and nothing that is for the other one alone.
func TestSummaryByAnother(t *testing.T) {
	t.Parallel()
	for _, wire := range sampledWires(t) {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			h := newModelHome(t)
			longFiles(h)
			ways := scripted.Gateway{Window: longWindow}
			if wire == "chat" {
				ways.NeedsReasoning, ways.ReasoningField = true, scripted.ReasoningDetails
			}
			own := h.serve("x", &scripted.Scenario{Server: ways, Replies: longReplies()})
			other := h.serve("other", &scripted.Scenario{Replies: []scripted.Reply{{Text: "They read long files."}}})
			h.settings("model = \"x/m\"\neffort = \"high\"\n[compact]\nlevel = \"full\"\n[route]\nsummary = \"other/small\"\n" +
				providerTable("x", wire) + providerTable("other", "chat"))
			p := h.run("--plan-only")
			p.planned()
			asked := bodies(other, "compact")
			if len(asked) == 0 || len(asked) != len(bodies(other, "")) || holds(bodies(own, "compact"), "") > 0 {
				t.Fatalf("the other one was asked for %d summaries of %d requests, the own one for %d",
					len(asked), len(bodies(other, "")), len(bodies(own, "compact")))
			}
			for _, words := range []string{"encrypted_content", `"signature":`, "reasoning_details"} {
				if holds(asked, words) > 0 {
					t.Errorf("the summary's model was sent %q", words)
				}
			}
		})
	}
}
