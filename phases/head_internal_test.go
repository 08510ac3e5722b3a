package phases

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// TestFirstMessagesBeginAlike: what a run says in every phase stands before what a phase is
// told, in the same bytes, so that a server has read it.
func TestFirstMessagesBeginAlike(t *testing.T) {
	t.Parallel()
	kit, err := NewKit(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	ph := &Phases{cfg: Config{Kit: kit, Instructions: []Instruction{{Path: "AGENTS.md", Text: "Be brief."}}}}
	brief := plan.Brief{Request: "Do it."}
	const head = "<repository-instructions path=\"AGENTS.md\">\nBe brief.\n</repository-instructions>\n\n" +
		"<request>\nDo it.\n</request>\n"
	for _, name := range []string{"explore", "ask", "plan", "implement", "review", "critique"} {
		m := ph.opening(brief, name, map[string]string{"PLAN": "its own"})
		if len(m.Blocks) != 2 || m.Blocks[0].Text != head || !strings.HasPrefix(m.Blocks[1].Text, "# Phase: ") {
			t.Errorf("%s begins with %q", name, m.Text())
		}
		if own := m.Blocks[1].Text; strings.Contains(own, "Be brief.") || strings.Contains(own, "<request>\nDo it.") {
			t.Errorf("%s says again: %q", name, own)
		}
	}
}

// TestWhatConversationsShare: tools that all phases have, and the head. What Explore and Plan
// have read is kept until Review, where it has their tools.
func TestWhatConversationsShare(t *testing.T) {
	t.Parallel()
	kit, err := NewKit(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	long := map[plan.Phase]loop.Settings{plan.Implement: {LongCache: true}, plan.Review: {LongCache: true}}
	old := kit.Unattended()
	old.Prompts = map[string]string{}
	for name, test := range map[string]struct {
		kit  Kit
		want loop.Shared
		kept bool // what Explore has read, for long
	}{
		"nobody answers":      {kit.Unattended(), loop.Shared{Tools: 8, Blocks: 1}, true},
		"a person answers":    {kit, loop.Shared{Tools: 8, Blocks: 1}, false},
		"of a program before": {old, loop.Shared{Tools: 8}, false},
	} {
		ph := &Phases{cfg: Config{Kit: test.kit, Settings: long}}
		if got := test.kit.shared(); got != test.want {
			t.Errorf("%s: %+v is shared", name, got)
		}
		if got := ph.settings(plan.Explore).LongCache; got != test.kept {
			t.Errorf("%s: it is kept for long: %v", name, got)
		}
		if !ph.settings(plan.Review).LongCache {
			t.Errorf("%s: a review's is not kept for long", name)
		}
	}
}
