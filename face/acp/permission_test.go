package acp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/acp"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/gittest"
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

// asksToAdd is a model that makes two files, about which no rule for longer can be offered.
const asksToAdd = `
[[reply]]
phase = "implement"
about = "Add two"
attempt = 1
turn = 0
  [[reply.call]]
  name = "apply_patch"
  args = { patch = """
*** Begin Patch
*** Add File: one.txt
+one
*** Add File: two.txt
+two
*** End Patch
""" }
`

// What an editor answers counts for what was offered, and once: a word that was not among the
// options is no yes, and neither is one that comes after another process has decided.
func TestAPermissionCountsForWhatWasOffered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		choice sdk.PermissionOptionId
		before func(t *testing.T, w *world, id plan.RunID)
		made   bool // the files are, afterwards
	}{
		"a yes":                  {"once", nil, true},
		"a yes for the run":      {"run", nil, false},
		"a word that none knows": {"always", nil, false},
		"too late":               {"once", denyElsewhere, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, asksToAdd)
			gittest.Write(t, filepath.Join(w.Dir, "home"), map[string]string{
				"config.toml": "[[permission]]\ntool = \"apply_patch\"\naction = \"ask\"\n",
			})
			e := w.open(t, acp.Options{})
			id := e.newSession(t, w)
			asked := 0
			e.choose = func(sdk.RequestPermissionRequest) sdk.PermissionOptionId {
				if asked++; c.before != nil {
					c.before(t, w, plan.RunID(id))
				}
				return c.choice
			}
			e.say(t, id, "Make greet.sh say hello. Add two")
			if _, err := os.Stat(filepath.Join(w.Repo, "two.txt")); (err == nil) != c.made || asked != 1 {
				t.Errorf("asked %d times, then: %v\n%s", asked, err, e.words())
			}
		})
	}
}

// denyElsewhere refuses what a run waits with, as another process.
func denyElsewhere(t *testing.T, w *world, id plan.RunID) {
	h := host.New(w.Config)
	defer h.Close()
	if _, err := h.Decide(t.Context(), id, host.Decision{Text: "not that"}); err != nil {
		t.Error(err)
	}
}
