package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/scripted"
)

// mendedCase is a server that does not take parts of a request.
type mendedCase struct {
	name    string
	wire    string
	silent  bool     // about what the model thinks
	set     string   // of the settings
	refuses []string // each in a refusal of its own
	parts   []string // what is mended, in order; fewer than are refused where a part is never sent
	late    []string // of the parts: what is sent only after the pause
	gone    []string // what no request holds that was taken
}

func mendedCases() []mendedCase {
	all := "effort = \"high\"\ntemperature = 0.2\nmax_output_tokens = 9000\n"
	return []mendedCase{
		{
			name: "all that Chat Completions sends", wire: "chat", set: all,
			refuses: []string{"stream_options", "temperature", "reasoning_effort=high", "max_tokens", "schema:minimum", "null_content"},
			parts:   []string{"stream_options", "temperature", "reasoning_effort", "max_tokens", "schema keywords", "content null"},
			late:    []string{"content null"},
			gone:    []string{`"stream_options"`, `"temperature"`, `"reasoning_effort"`, `"max_tokens"`, `"minimum"`, `"content":null`},
		},
		{
			name: "what Chat Completions never sends", wire: "chat", set: all,
			refuses: []string{"parallel_tool_calls", "tool_choice", "developer", "strict", "max_completion_tokens"},
		},
		{
			name: "all that Responses sends", wire: "responses", set: all,
			refuses: []string{"temperature", "reasoning.summary", "reasoning.effort=high", "prompt_cache_key", "strict", "schema:minimum", "store"},
			parts: []string{
				"temperature", "reasoning.summary", "reasoning.effort", "prompt_cache_key", "strict", "schema keywords", "store", "text.format",
			},
			late: []string{"text.format"}, // its own strict cannot be left out
			gone: []string{`"temperature"`, `"summary":"auto"`, `"effort"`, `"prompt_cache_key"`, `"strict"`, `"minimum"`, `"store"`},
		},
		{
			name: "a server of Responses without reasoning", wire: "responses", silent: true,
			refuses: []string{"include", "max_output_tokens", "metadata"},
			parts:   []string{"include"},
			gone:    []string{`"include"`},
		},
		{
			name: "what Responses never sends", wire: "responses", set: all,
			refuses: []string{"parallel_tool_calls", "tool_choice", "developer", "max_tokens", "truncation"},
		},
		{
			name: "all that Messages sends", wire: "anthropic", set: all,
			refuses: []string{"thinking", "cache_control", "schema:minimum"},
			parts:   []string{"thinking", "thinking", "cache_control", "schema keywords"}, // in two ways before it is left out
			gone:    []string{`"thinking":{`, `"minimum"`},
		},
		{
			name: "a temperature of Messages", wire: "anthropic", set: "temperature = 0.2\n",
			refuses: []string{"temperature"},
			parts:   []string{"temperature"},
			gone:    []string{`"temperature"`},
		},
	}
}

// TestMended: what a server refuses is mended once, which is said, and remembered
// for the run: in later phases, and when the run goes on in another process.
func TestMended(t *testing.T) {
	t.Parallel()
	for _, c := range sampledHalf(t, mendedCases()) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newModelHome(t)
			work := usual(scripted.Gateway{Refuses: c.refuses})
			for i := range work.Replies {
				if c.silent {
					work.Replies[i].Reasoning = ""
				}
			}
			s := h.serve("x", work)
			h.settings("model = \"x/m\"\n" + c.set + providerTable("x", c.wire))

			first := h.run("--max-turns", "1")
			first.parked(plan.ParkLimit, "")
			before := len(s.Requests())
			p := h.resume("--max-turns", "9")
			p.approved()

			if diff := cmp.Diff(c.parts, append(first.parts(), p.parts()...)); diff != "" {
				t.Errorf("mended (-want +got):\n%s", diff)
			}
			if n := len(s.Requests()) - before; n != 6+len(c.late) || !slices.Equal(p.parts(), c.late) {
				t.Errorf("%d requests after the pause, mended then: %v", n, p.parts())
			}
			last := bodies(s, "")[len(s.Requests())-1]
			for _, part := range c.gone {
				if strings.Contains(last, part) {
					t.Errorf("%s is sent again: %s", part, last)
				}
			}
		})
	}
}
