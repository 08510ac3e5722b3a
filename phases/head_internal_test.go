package phases

import (
	"slices"
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
		if got := test.kit.shared(plan.Explore); got != test.want {
			t.Errorf("%s: %+v is shared", name, got)
		}
		of := test.want // what every review of the run begins with
		if of.Blocks > 0 {
			of.Blocks++
		}
		if got := test.kit.shared(plan.Review); got != of {
			t.Errorf("%s: reviews share %+v", name, got)
		}
		if got := ph.settings(plan.Explore).LongCache; got != test.kept {
			t.Errorf("%s: it is kept for long: %v", name, got)
		}
		if !ph.settings(plan.Review).LongCache {
			t.Errorf("%s: a review's is not kept for long", name)
		}
	}
}

// TestReviewsOfARunBeginAlike: what a review is told, and the plan, stand before what is shown
// of the work, so that a server has read them by the first.
func TestReviewsOfARunBeginAlike(t *testing.T) {
	t.Parallel()
	kit, err := NewKit(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	ph := &Phases{cfg: Config{Kit: kit}}
	first := plan.Brief{
		Request: "Do it.",
		Plan:    &plan.PlanDoc{Text: "# Plan: THE-PLAN"},
		Diff:    "diff --git a/a b/a\nindex 5626abf..f719efd 100644\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-index 1..2\n+two\n",
	}
	second := first
	second.Since, second.Gaps = first.Diff, []plan.Gap{{ID: "G1", Gap: "THE-GAP", Status: plan.GapOpened}}
	a, err := ph.reviewPrompt(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	b, err := ph.reviewPrompt(t.Context(), second)
	if err != nil {
		t.Fatal(err)
	}
	n := kit.shared(plan.Review).Blocks
	if len(a.Blocks) != n+1 || len(b.Blocks) != n+1 || !slices.Equal(texts(a)[:n], texts(b)[:n]) {
		t.Errorf("they begin otherwise: %q\n%q", texts(a), texts(b))
	}
	if own := texts(a)[n-1]; !strings.Contains(own, "THE-PLAN") || !strings.Contains(own, "`commands` are what") {
		t.Errorf("they do not begin with what they are told: %q", own)
	}
	if own := texts(b)[n]; !strings.Contains(own, "THE-GAP") || strings.Contains(own, "{{") {
		t.Errorf("the second is shown of the work: %q", own)
	}
	if own := texts(a)[n]; strings.Contains(own, "5626abf") || !strings.Contains(own, "-index 1..2\n") {
		t.Errorf("of the diff is shown %q", own)
	}
	delete(kit.Prompts, workPrompt) // the kit of an earlier program says it all in one
	kit.Prompts["review"] = "OLD {{DIFF}} {{GAPS}}"
	old, err := ph.reviewPrompt(t.Context(), second)
	if err != nil || len(old.Blocks) != 2 || !strings.Contains(old.Text(), "THE-GAP") {
		t.Errorf("an earlier program's is %q, %v", texts(old), err)
	}
}

func texts(m plan.Message) []string {
	var out []string
	for _, b := range m.Blocks {
		out = append(out, b.Text)
	}
	return out
}
