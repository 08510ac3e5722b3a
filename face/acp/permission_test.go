package acp_test

import (
	"fmt"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/plan-engine/plan/face/acp"
)

// Who decides about a plan is shown all of it, however long it is, and nothing in it ends
// the place in which it stands.
func TestAPermissionShowsAll(t *testing.T) {
	t.Parallel()
	const first = "```\n1. In `greet.sh`, print `hello`."
	w := newWorld(t, fmt.Sprintf(`
[[reply]]
phase = "plan"
about = "At length"
text = """
# Plan: Say hello

## Files
- greet.sh — modified

## Steps
%s
%s"""
`, first, strings.Repeat("Mind what stands around it, and touch nothing else.\n", 1000)))
	var o acp.Options
	wait := true
	o.Run.Settings.ApprovePlan = &wait
	e := w.open(t, o)
	e.say(t, e.newSession(t, w), "Make greet.sh say hello. At length")
	if len(e.asked) != 1 {
		t.Fatalf("asked %d times: %s", len(e.asked), e.words())
	}
	shown := e.asked[0].ToolCall.Content[0].Content.Content.Text.Text
	fence, _, _ := strings.Cut(shown, "\n")
	if !strings.Contains(shown, first) || strings.Count(shown, fence) != 2 {
		t.Errorf("%d bytes are shown, in %q: %.200s", len(shown), fence, shown)
	}
	if r := e.asked[0].ToolCall; r.Status == nil || *r.Status != sdk.ToolCallStatusPending {
		t.Errorf("it is asked as %+v", r)
	}
}
