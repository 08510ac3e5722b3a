package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/phases"
)

// What a run was started with holds to its end, whichever program ends it.

// sameConversations proves that each request extends, byte for byte, the one
// before it in its conversation, whichever program made them.
func (h oldHome) sameConversations(events []plan.Event) {
	last := map[string]string{}
	for _, ev := range events {
		req, ok := ev.Body.(plan.Request)
		if !ok {
			continue
		}
		if hash, again := last[ev.Conv]; again && (req.Prefix != hash || req.Moved != "") {
			h.t.Errorf("event %d: the request does not extend the one before it: %s", ev.Seq, req.Moved)
		}
		last[ev.Conv] = req.Hash
	}
}

// sameView proves that reviews see the repository as they did when the run
// began: HEAD is the start, and the change is in the work tree; or, in the view of a
// snapshot, the change is committed.
func (h oldHome) sameView(events []plan.Event) {
	if start := events[0].Body.(plan.RunStart); start.View != h.view {
		h.t.Errorf("an old run has the view %q, want %q", start.View, h.view)
	}
	looks := map[string]bool{} // calls of this review
	seen := 0
	for _, ev := range events {
		switch body := ev.Body.(type) {
		case plan.ToolStart:
			looks[body.Call] = ev.Phase == plan.Review && strings.Contains(eventLine(h.t, ev), "git status --short")
		case plan.ToolEnd:
			if !looks[body.Call] {
				continue
			}
			if seen++; strings.Contains(body.Output, " M greet.sh\n") != (h.view == "") {
				h.t.Errorf("event %d: a review sees %q", ev.Seq, body.Output)
			}
		}
	}
	if seen == 0 {
		h.t.Error("no review looked at the change")
	}
}

// samePrompts proves that what this program asked the model for a run is made
// of the prompts and tools that are stored with it.
func (h oldHome) samePrompts(events []plan.Event) {
	kit := h.kit(events[0].Body.(plan.RunStart).Kit)
	for _, seen := range h.server.Requests() {
		if seen.Header.Get("X-Plan-Run") != string(events[0].Run) {
			continue
		}
		phase := plan.Phase(seen.Header.Get("X-Plan-Phase"))
		var req struct {
			Messages []struct{ Role, Content string }
			Tools    []struct {
				Function struct{ Name, Description string }
			}
		}
		if err := json.Unmarshal(seen.Body, &req); err != nil {
			h.t.Fatal(err)
		}
		var names []string
		for _, tool := range req.Tools {
			names = append(names, tool.Function.Name)
			if tool.Function.Description != kit.Tools[tool.Function.Name].Description {
				h.t.Errorf("%s: the tool %s is described in other words", phase, tool.Function.Name)
			}
		}
		if !slices.Equal(names, kit.Offer[phase]) {
			h.t.Errorf("%s is offered %v, was offered %v", phase, names, kit.Offer[phase])
		}
		if req.Messages[0].Content != kit.System {
			h.t.Errorf("%s has another system prompt", phase)
		}
		// Between these two stands what the phase is told of its run; a word on
		// how the person writes may follow.
		prompt, asked := kit.Prompts[string(phase)], req.Messages[1].Content
		if prompt == "" {
			h.t.Errorf("%s is asked, and the kit of the run has no prompt for it", phase)
			continue
		}
		before, after, _ := strings.Cut(prompt, "{{")
		if end := strings.LastIndex(after, "}}"); end >= 0 {
			after = after[end+len("}}"):]
		}
		if !strings.HasPrefix(asked, before) || !strings.Contains(asked, strings.TrimSpace(after)) {
			h.t.Errorf("%s is asked in other words:\n%s", phase, asked)
		}
	}
}

// kit is the kit with a hash.
func (h oldHome) kit(hash string) phases.Kit {
	h.t.Helper()
	db := h.open()
	defer db.Close()
	data, err := db.Blob(h.t.Context(), hash)
	if err != nil {
		h.t.Fatal(err)
	}
	kit, err := phases.DecodeKit(data)
	if err != nil {
		h.t.Fatal(err)
	}
	return kit
}

func eventLine(t *testing.T, ev plan.Event) string {
	t.Helper()
	line, err := ev.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}
