package anthropic_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/anthropic"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

// afterSearch is a request after a search that found a tool.
func afterSearch() loop.Call {
	c := wiretest.Call("claude-1", "which issues are there?")
	c.Tools = []loop.Spec{{
		Name:   "find_tools",
		Schema: json.RawMessage(`{"type":"object"}`),
		Finds:  true,
	}}
	c.Messages = append(c.Messages,
		plan.Message{
			Role:   plan.RoleAssistant,
			Blocks: []plan.Block{{Type: plan.BlockToolCall, Call: "c1", Name: "find_tools", Args: `{"query":"issues"}`}},
		},
		plan.Message{Role: plan.RoleTool, Blocks: []plan.Block{{
			Type: plan.BlockToolResult,
			Call: "c1",
			Name: "find_tools",
			Text: "one of many",
			Found: []plan.FoundTool{{
				Name:        "mcp__tracker__list",
				Description: "lists",
				Schema:      json.RawMessage(`{"type":"object"}`),
			}},
		}}},
	)
	return c
}

const (
	reference = `"content":[{"tool_name":"mcp__tracker__list","type":"tool_reference"}]`
	deferred  = `{"input_schema":{"type":"object"},"name":"mcp__tracker__list","description":"lists","defer_loading":true}`
	asText    = `"content":[{"text":"one of many","type":"text"}]`
)

// TestFoundToolsAreDeferred: a server that takes them is led to their descriptions, which stand
// behind the tools that were there before; another one reads the text.
func TestFoundToolsAreDeferred(t *testing.T) {
	t.Parallel()
	for _, takes := range []bool{true, false} {
		f := wiretest.ServeText(t, wiretest.EventStream, begun+words(0, "ok")+ended("end_turn"))
		client := clientOf(t, f, func(c *anthropic.Config) {
			c.Caps = func(string) anthropic.Caps { return anthropic.Caps{TakesFound: takes} }
		})
		if _, err := client.Generate(t.Context(), afterSearch(), nil); err != nil {
			t.Fatalf("Generate: %v", err)
		}
		body := f.Body(t, 0)
		if got := strings.Contains(body, reference) && strings.Contains(body, deferred); got != takes {
			t.Errorf("takes %v: %s", takes, body)
		}
		if got := strings.Contains(body, asText) && !strings.Contains(body, "defer_loading"); got == takes {
			t.Errorf("takes %v: %s", takes, body)
		}
	}
}

// TestFoundToolsThatAreRefused: a server that does not know them after all is sent the text.
func TestFoundToolsThatAreRefused(t *testing.T) {
	t.Parallel()
	f := wiretest.Serve(t, func(w http.ResponseWriter, r *http.Request, _ int, body string) {
		if strings.Contains(body, "defer_loading") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"type":"error","error":{"type":"invalid_request_error",` +
				`"message":"tools.1.custom.defer_loading: Extra inputs are not permitted"}}`))
			return
		}
		wiretest.Text(wiretest.EventStream, begun+words(0, "ok")+ended("end_turn"))(w, r, 0, body)
	})
	client := clientOf(t, f, func(c *anthropic.Config) {
		c.Caps = func(string) anthropic.Caps { return anthropic.Caps{TakesFound: true} }
	})
	answer, err := client.Generate(t.Context(), afterSearch(), nil)
	if err != nil {
		t.Fatalf("Generate: %v", err)
	}
	if last := f.Body(t, f.Count()-1); !strings.Contains(last, asText) || len(answer.Adjusted) != 1 {
		t.Errorf("adjusted %+v: %s", answer.Adjusted, last)
	}
}
