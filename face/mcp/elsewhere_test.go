package mcp_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan/face/mcp"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/gittest"
)

// Nothing is changed in a repository that only a journal from elsewhere names, whichever tool is
// called, unless calls may name it.
func TestAJournalNamesNoPlaceOfAServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	final := string(w.Elsewhere(t, host.Request{Dir: w.Repo, Text: "Make greet.sh say hello"}))
	open := string(w.Elsewhere(t, host.Request{Dir: w.Repo, Text: "Ask first"}))
	planned := host.Request{Dir: w.Repo, Text: "Make greet.sh say hello"}
	planned.Settings.ApprovePlan = new(true)
	waiting := string(w.Elsewhere(t, planned))
	theirs, state := w.Leave(t)
	was := state()
	var c *client
	refused := func(tool string, args map[string]any, says string) {
		t.Helper()
		if text, failed := c.text(tool, args); !failed || !strings.Contains(text, says) {
			t.Errorf("%s answers %s", tool, text)
		}
	}
	c = w.open(t, mcp.Options{}, map[string]any{"answer": "English"})
	refused("plan_apply", map[string]any{"run": final}, "plan -C '"+theirs+"' apply")
	refused("plan_tell", map[string]any{
		"run":  final,
		"text": "Now say goodbye",
	}, "plan -C '"+theirs+"' tell")
	refused("plan_wait", map[string]any{"run": open}, "was begun elsewhere") // the person has filled in the form
	c.leave()
	c = w.open(t, mcp.Options{AllowDecisions: true}, nil)
	plan := c.call("plan_status", map[string]any{"run": waiting}).Waiting[0]
	refused("plan_decide", map[string]any{
		"run":     waiting,
		"call":    plan.Call,
		"digest":  plan.Digest,
		"approve": true,
	}, "was begun elsewhere")
	c.leave()
	if now := state(); now != was {
		t.Errorf("it was\n%s\nand is\n%s", was, now)
	}

	gittest.Git(t, theirs, "checkout", "-q", ".")
	c = w.open(t, mcp.Options{Repos: []string{w.Dir}}, nil)
	d := c.call("plan_tell", map[string]any{
		"run":    final,
		"text":   "Make greet.sh say hello",
		"wait_s": 600,
	})
	if d.State != "approved" {
		t.Errorf("where calls may name the repository, it stands at %+v", d)
	}
}
