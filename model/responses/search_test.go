package responses_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/responses"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

func searching() loop.Call {
	c := call("which issues are there?")
	c.Tools = []loop.Spec{{
		Name:        "find_tools",
		Description: "Search.",
		Schema:      json.RawMessage(`{"type":"object"}`),
		Finds:       true,
	}}
	return c
}

func takesFound(c *responses.Config) { c.TakesFound = func(string) bool { return true } }

const searchCall = `{"id":"tsc_1","type":"tool_search_call","execution":"client","call_id":"call_1",` +
	`"status":"completed","arguments":{"query":"issues"}}`

// TestASearchForTools: the tool that finds tools is the wire's own, its call comes as any other
// does, and what it found goes back as tools. Nothing of what was sent before changes.
func TestASearchForTools(t *testing.T) {
	t.Parallel()
	f := wiretest.Serve(t, wiretest.Text(wiretest.EventStream, sse(
		added("0", `{"id":"tsc_1","type":"tool_search_call","execution":"client","call_id":"call_1","status":"in_progress","arguments":{}}`),
		done("0", searchCall),
		ended("completed", searchCall),
	)))
	client := clientOf(t, f, takesFound)
	first := searching()
	answer, err := client.Generate(t.Context(), first, nil)
	if err != nil {
		t.Fatalf("Generate: %v", err)
	}
	if n := len(answer.Message.Blocks); n != 1 {
		t.Fatalf("it said %d things", n)
	}
	b := answer.Message.Blocks[0]
	if b.Type != plan.BlockToolCall || b.Name != "find_tools" || b.Args != `{"query":"issues"}` || b.Call == "" {
		t.Errorf("the call is %+v", b)
	}
	next := first
	next.Messages = append(next.Messages, answer.Message, plan.Message{
		Role: plan.RoleTool,
		Blocks: []plan.Block{{
			Type: plan.BlockToolResult,
			Call: b.Call,
			Name: "find_tools",
			Text: "one of many",
			Found: []plan.FoundTool{{
				Name:        "mcp__tracker__list",
				Description: "lists",
				Schema:      json.RawMessage(`{"type":"object"}`),
			}},
		}},
	})
	if _, err := client.Generate(t.Context(), next, nil); err != nil {
		t.Fatalf("Generate: %v", err)
	}
	bodies := []string{f.Body(t, 0), f.Body(t, 1)}
	for _, want := range []string{
		`{"type":"tool_search_call","call_id":"call_1","execution":"client","status":"completed","arguments":{"query":"issues"}}`,
		`{"type":"tool_search_output","call_id":"call_1","execution":"client","status":"completed","tools":[{"type":"function",` +
			`"name":"mcp__tracker__list","description":"lists","parameters":{"type":"object"},"strict":false,"defer_loading":true}]}`,
		`"tools":[{"type":"tool_search","execution":"client","description":"Search.","parameters":{"type":"object"}}]`,
	} {
		if !strings.Contains(bodies[1], want) {
			t.Errorf("it lacks %s:\n%s", want, bodies[1])
		}
	}
	_, before, _ := strings.Cut(bodies[0], `"tools":`)
	_, after, _ := strings.Cut(bodies[1], `"tools":[{"type":"tool_search"`)
	if `[{"type":"tool_search"`+after != before {
		t.Errorf("the tools moved:\n%s\n%s", before, after)
	}
}

// TestASearchThatIsRefused: a server that does not have it is sent a function.
func TestASearchThatIsRefused(t *testing.T) {
	t.Parallel()
	f := wiretest.Serve(t, func(w http.ResponseWriter, r *http.Request, _ int, body string) {
		if strings.Contains(body, "tool_search") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":{"message":"Tool 'tool_search' is not supported with m.",` +
				`"type":"invalid_request_error","param":"tools"}}`))
			return
		}
		wiretest.Text(wiretest.EventStream, sse(completed))(w, r, 0, body)
	})
	answer, err := clientOf(t, f, takesFound).Generate(t.Context(), searching(), nil)
	last := f.Body(t, f.Count()-1)
	if err != nil || !strings.Contains(last, `{"type":"function","name":"find_tools"`) || len(answer.Adjusted) != 1 {
		t.Errorf("%v, adjusted %+v: %s", err, answer.Adjusted, last)
	}
}
