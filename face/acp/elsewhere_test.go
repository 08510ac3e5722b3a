package acp_test

import (
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/plan-engine/plan/face/acp"
	"github.com/plan-engine/plan/host"
)

// Nothing is changed in a repository that only a journal from elsewhere names, whatever an
// editor sends that has loaded its run in another one; where it has loaded it there, it is.
func TestAJournalNamesNoPlaceOfAnEditor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	final := w.Elsewhere(t, host.Request{Dir: w.Repo, Text: "Make greet.sh say hello"})
	open := w.Elsewhere(t, host.Request{Dir: w.Repo, Text: "Ask first"})
	theirs, state := w.Leave(t)
	e := w.open(t, acp.Options{})
	load := func(id sdk.SessionId, dir string) {
		t.Helper()
		_, err := e.LoadSession(t.Context(), sdk.LoadSessionRequest{
			SessionId:  id,
			Cwd:        dir,
			McpServers: []sdk.McpServer{},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	was := state()
	for _, c := range []struct {
		run    sdk.SessionId
		prompt string
		says   string
	}{
		{sdk.SessionId(final), "/apply", "plan -C '" + theirs + "' apply"},
		{sdk.SessionId(final), "/undo", "plan -C '" + theirs + "' restore"},
		{sdk.SessionId(final), "Now say goodbye", "plan -C '" + theirs + "' tell"},
		{sdk.SessionId(open), "English", "was begun elsewhere"},
	} {
		load(c.run, w.Repo)
		_, err := e.Prompt(t.Context(), sdk.PromptRequest{
			SessionId: c.run,
			Prompt:    []sdk.ContentBlock{sdk.TextBlock(c.prompt)},
		})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v", c.prompt, err)
		}
	}
	if now := state(); now != was || len(e.asked) > 0 {
		t.Errorf("asked %+v; it was\n%s\nand is\n%s", e.asked, was, now)
	}
	load(sdk.SessionId(final), theirs)
	e.say(t, sdk.SessionId(final), "Make greet.sh say hello")
	if words := e.words(); !strings.Contains(words, "**approved**") {
		t.Errorf("where it belongs, it said:\n%s", words)
	}
}
