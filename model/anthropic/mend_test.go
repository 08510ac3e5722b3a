package anthropic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/anthropic"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

// refusal is a server's complaint about requests that have a text in them.
type refusal struct{ has, says string }

// refusing starts a server that refuses what its rules say, the first that fits
// first.
func refusing(t *testing.T, rules ...refusal) *wiretest.Server {
	t.Helper()
	return wiretest.Serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, body string) {
		for _, r := range rules {
			if strings.Contains(body, r.has) {
				w.WriteHeader(http.StatusBadRequest)
				raw, _ := json.Marshal(r.says)
				fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%s},"request_id":"req_1"}`, raw)
				return
			}
		}
		fmt.Fprint(w, answered)
	})
}

// What servers say, word for word.
const (
	onlyAdaptive = `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" ` +
		`and "output_config.effort" to control thinking behavior.`
	noAdaptive = `adaptive thinking is not supported on this model`
	noTag      = `thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'disabled', 'enabled'`
	noEffort   = `This model does not support the effort parameter.`
	noXHigh    = `output_config.effort: Input should be 'low', 'medium', 'high' or 'max'`
	noTop      = `cache_control: Extra inputs are not permitted`
	noHour     = `system.0.cache_control.ephemeral.ttl: Extra inputs are not permitted`
	noMark     = `system.0.cache_control: Extra inputs are not permitted`
	otherTalk  = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. " +
		"Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."
	badSignature = "messages.1.content.0: Invalid `signature` in `thinking` block"
	expected     = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. " +
		"When `thinking` is enabled, a final `assistant` " +
		"message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` " +
		"blocks). To avoid this requirement, disable `thinking`."
	tooMuch       = `max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku-20241022`
	noTemperature = "`temperature` is deprecated for this model."
	noFormat      = `output_config.format: Extra inputs are not permitted`
	noConfig      = `output_config: Extra inputs are not permitted`
	noDisplay     = `thinking.adaptive.display: Extra inputs are not permitted`
	noBinding     = `thinking.adaptive.block_binding: Extra inputs are not permitted`
)

// thought is a conversation with thinking in it.
func thought() []plan.Message {
	return []plan.Message{
		plan.UserText("look"),
		{Role: plan.RoleAssistant, Blocks: []plan.Block{
			{Type: plan.BlockReasoning, Text: "hm", Opaque: sealed("house", "signature", "sig")},
			{Type: plan.BlockToolCall, Call: "toolu_a", Name: "read", Args: `{}`},
		}},
		{Role: plan.RoleTool, Blocks: []plan.Block{{Type: plan.BlockToolResult, Call: "toolu_a", Text: "one"}}},
	}
}

const (
	adaptive   = `"thinking":{"display":"summarized","type":"adaptive"}`
	budgeted   = `"thinking":{"budget_tokens":16384,"type":"enabled"}`
	dropping   = `"block_binding":{"prefix_mismatch_behavior":"drop_block"}`
	effortHigh = `"output_config":{"effort":"high"}`
)

func TestMends(t *testing.T) {
	t.Parallel()
	half := 0.5
	format := &loop.Format{Name: "v", Schema: json.RawMessage(`{"type":"object"}`)}
	schema := func(c *anthropic.Config) { c.Structured = wire.StructuredSchema }
	tests := []struct {
		name     string
		model    string
		change   func(*loop.Call)
		config   func(*anthropic.Config)
		rules    []refusal
		adjusted []string // part from→to, of the first call
		has      []string // in the last body
		hasNot   []string
		requests int // of two calls
	}{
		{
			name: "a newer model takes no budget", model: "house-model", rules: []refusal{{`"enabled"`, onlyAdaptive}},
			adjusted: []string{"thinking enabled→adaptive"}, has: []string{adaptive, effortHigh}, requests: 3,
		},
		{
			name: "an older model does not decide", model: "claude-new", rules: []refusal{
				{`"effort"`, noEffort},
				{`"adaptive"`, noAdaptive},
			},
			adjusted: []string{"output_config.effort high→", "thinking " +
				"adaptive→enabled"}, has: []string{budgeted}, hasNot: []string{"effort"}, requests: 4,
		},
		{
			name: "an older model does not know the word", model: "claude-new", rules: []refusal{{`"adaptive"`, noTag}},
			adjusted: []string{
				"thinking adaptive→enabled",
			}, has: []string{budgeted}, hasNot: []string{"output_config"}, requests: 3,
		},
		{
			name: "a model does not think", model: "house-model", rules: []refusal{
				{`"thinking":{`, "thinking is not supported by this model"},
			},
			adjusted: []string{
				"thinking enabled→adaptive",
				"thinking adaptive→",
			}, hasNot: []string{`"thinking":{`, "effort"}, requests: 4,
		},
		{
			name:     "an effort is too high",
			change:   func(c *loop.Call) { c.Settings.Effort = "xhigh" },
			rules:    []refusal{{`"xhigh"`, noXHigh}},
			adjusted: []string{"output_config.effort xhigh→high"}, has: []string{adaptive, effortHigh}, requests: 3,
		},
		{
			name: "no efforts at all", rules: []refusal{{`"output_config"`, noConfig}},
			adjusted: []string{
				"output_config.effort high→",
			}, has: []string{adaptive}, hasNot: []string{"output_config"}, requests: 3,
		},
		{
			name: "no display", rules: []refusal{{`"display"`, noDisplay}},
			adjusted: []string{"thinking.display summarized→"}, has: []string{
				`"thinking":{"type":"adaptive"}`,
				effortHigh,
			}, requests: 3,
		},
		{
			name: "thinking cannot be switched off", change: func(c *loop.Call) { c.Settings.Effort = "none" },
			rules:    []refusal{{`"disabled"`, `"thinking.type.disabled" is not supported for this model.`}},
			adjusted: []string{"thinking.disabled disabled→"}, hasNot: []string{`"thinking":{"type`}, requests: 3,
		},
		{
			name: "another conversation's thinking", rules: []refusal{{`"signature":"sig"`, ""}}, requests: 3,
			adjusted: []string{"thinking blocks →drop_block"}, has: []string{dropping, `"signature":"sig"`},
		},
		{
			name: "a signature that is none", rules: []refusal{{`"signature"`, badSignature}}, requests: 6,
			adjusted: []string{
				"thinking blocks, for this request →",
			}, hasNot: []string{dropping, `"signature"`}, has: []string{adaptive},
		},
		{
			name: "a signature that is none, and no binding", rules: []refusal{
				{dropping, noBinding},
				{`"signature"`, otherTalk},
			}, requests: 6,
			adjusted: []string{
				"thinking blocks, for this request →",
			}, hasNot: []string{dropping, `"signature"`}, has: []string{adaptive},
		},
		{
			name: "a signature that is none, with a budget", model: "claude-opus-4-1", rules: []refusal{
				{`"signature"`, badSignature},
			}, requests: 4,
			adjusted: []string{"thinking blocks, for this request →"}, hasNot: []string{`"signature"`}, has: []string{budgeted},
		},
		{
			name: "thinking in the middle of a turn", model: "claude-opus-4-1", rules: []refusal{
				{`"thinking":{"budget`, expected},
			}, requests: 4,
			adjusted: []string{
				"thinking in this turn, for this request →",
			}, hasNot: []string{`"thinking":{`}, has: []string{`"signature"`},
		},
		{
			name: "no mark for the conversation", rules: []refusal{
				{`"model":"claude-opus-4-7","cache_control"`, noTop},
			}, requests: 3,
			adjusted: []string{"cache_control →marks on blocks"},
			has: []string{
				`"text":"look","type":"text","cache_control":{"type":"ephemeral"}}],"role":"user"}`,
				`"type":"tool_result","cache_control":{"type":"ephemeral"}}],"role":"user"}]`,
				`"system":[{"text":"be good","type":"text","cache_control":{"type":"ephemeral"}}]`,
			},
		},
		{
			name:     "not for an hour",
			change:   func(c *loop.Call) { c.Settings.LongCache = true },
			rules:    []refusal{{`"ttl"`, noHour}},
			requests: 3,
			adjusted: []string{"cache_control.ttl 1h→5m"},
			has: []string{`"system":[{"text":"be good","type":"text","cache_control":{"type":"ephemeral"}}]`, `,` +
				`"cache_control":{"type":"ephemeral"},"output`},
		},
		{
			name: "no marks at all", change: func(c *loop.Call) { c.Settings.LongCache = true }, requests: 4,
			rules: []refusal{{`"type":"text","cache_control"`, noMark}},
			adjusted: []string{
				"cache_control →marks on blocks",
				"cache_control marks on blocks→",
			}, hasNot: []string{"cache_control"},
		},
		{
			name: "an answer that is too long", change: func(c *loop.Call) { c.Settings.Effort = "" }, rules: []refusal{
				{`"max_tokens":16384`, tooMuch},
			}, requests: 3,
			adjusted: []string{"output limit 16384→8192"}, has: []string{`"max_tokens":8192`},
		},
		{
			name: "an answer that is too long, with a budget", model: "claude-3-7-sonnet", rules: []refusal{
				{`"max_tokens":24576`, strings.Replace(tooMuch, "16384", "24576", 1)},
			},
			adjusted: []string{"output limit 24576→8192"}, has: []string{
				`"max_tokens":8192`,
				`"budget_tokens":6144`,
			}, requests: 3,
		},
		{
			name:     "temperature",
			change:   func(c *loop.Call) { c.Settings = loop.Settings{Temperature: &half} },
			rules:    []refusal{{`"temperature"`, noTemperature}},
			adjusted: []string{"temperature →"}, hasNot: []string{"temperature"}, requests: 3,
		},
		{
			name: "format", change: func(c *loop.Call) { c.Format = format }, config: schema, rules: []refusal{
				{`"format"`, noFormat},
			},
			adjusted: []string{"output_config.format →"}, has: []string{effortHigh}, hasNot: []string{"json_schema"}, requests: 3,
		},
		{
			name: "schema keywords", model: "m", rules: []refusal{{`"oneOf"`, `Unknown name "oneOf" at ` +
				`'tools[0].function_declarations[0].parameters'`}}, requests: 3,
			change: func(c *loop.Call) {
				c.Tools = []loop.Spec{
					{Name: "x", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"oneOf":[],"type":"string"}}}`)},
				}
			},
			adjusted: []string{"schema keywords →type, description, properties, required, items and enum alone"},
			has:      []string{`"input_schema":{"properties":{"a":{"type":"string"}},"type":"object"}`},
		},
		{
			name: "images", change: func(c *loop.Call) { c.Messages = conversation() }, rules: []refusal{{`"image"`, "this " +
				"model does not support image input"}},
			adjusted: []string{"images →a word that there was one"}, has: []string{`(an image of the type image/png,` +
				` which cannot be sent)`}, requests: 3,
		},
		{
			name: "two messages in a row", change: func(c *loop.Call) { c.Messages = conversation() }, requests: 4,
			rules: []refusal{
				{`"role":"user"},{"content":[{"text":"and`, `messages: roles must alternate between "user" and "assistant",` +
					` but found multiple "user" roles in a row`},
				{`"model":"claude-opus-4-7","cache_control"`, noTop},
			},
			adjusted: []string{"messages of one role in a row →one message", "cache_control →marks on blocks"},
			has: []string{
				`"type":"tool_result"},{"text":"and a letter","type":"text","cache_control":{"type":"ephemeral"}}],"role":"user"},` +
					`{"content":[{"id":"c"`,
				`"type":"tool_result"},{"text":"(no text)","type":"text"},{"text":"this","type":"text"}`,
				`which cannot be sent)","type":"text","cache_control":{"type":"ephemeral"}}],"role":"user"}],"max_tokens"`,
			},
		},
		{
			name: "neither format nor effort", change: func(c *loop.Call) { c.Format = format }, config: schema, rules: []refusal{
				{`"output_config"`, noConfig},
			},
			adjusted: []string{
				"output_config.effort high→",
				"output_config.format →",
			}, hasNot: []string{"json_schema", "effort"}, requests: 3,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.rules[0].says == "" { // refused unless the server is to drop it
				tt.rules = nil
			}
			f := refusing(t, tt.rules...)
			if tt.rules == nil {
				f = binding(t)
			}
			req := loop.Call{
				Model:    "claude-opus-4-7",
				System:   "be good",
				Messages: thought(),
				Settings: loop.Settings{Effort: "high"},
			}
			if tt.model != "" {
				req.Model = tt.model
			}
			if tt.change != nil {
				tt.change(&req)
			}
			var config []func(*anthropic.Config)
			if tt.config != nil {
				config = append(config, tt.config)
			}
			client := clientOf(t, f, config...)
			var adjusted []string
			for n := range 2 {
				answer, err := client.Generate(t.Context(), req, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range answer.Adjusted {
					if n == 0 {
						adjusted = append(adjusted, a.Part+" "+a.From+"→"+a.To)
					}
				}
			}
			if diff := cmp.Diff(tt.adjusted, adjusted); diff != "" {
				t.Errorf("adjusted (-want +got):\n%s", diff)
			}
			if f.Count() != tt.requests {
				t.Errorf("%d requests, want %d", f.Count(), tt.requests)
			}
			last := f.Body(t, f.Count()-1)
			if !json.Valid([]byte(last)) {
				t.Errorf("no JSON: %s", last)
			}
			for _, text := range tt.has {
				if !strings.Contains(last, text) {
					t.Errorf("no %s in %s", text, last)
				}
			}
			for _, text := range tt.hasNot {
				if strings.Contains(last, text) {
					t.Errorf("%s in %s", text, last)
				}
			}
		})
	}
}

// binding starts a server that looks at whether thinking belongs to its
// conversation, and can be told to leave it out.
func binding(t *testing.T) *wiretest.Server {
	t.Helper()
	return wiretest.Serve(t, func(w http.ResponseWriter, r *http.Request, _ int, body string) {
		switch {
		case strings.Contains(body, dropping) && strings.Contains(
			r.Header.Get("Anthropic-Beta"),
			"thinking-binding-controls-2026-08-01",
		):
			fmt.Fprint(w, answered)
		default:
			w.WriteHeader(http.StatusBadRequest)
			raw, _ := json.Marshal(otherTalk)
			fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%s}}`, raw)
		}
	})
}

// The settings' own betas stay on beside one that a request switches on.
func TestBetas(t *testing.T) {
	t.Parallel()
	f := binding(t)
	client := clientOf(t, f, func(c *anthropic.Config) { c.Headers = map[string]string{"anthropic-beta": "own-1"} })
	req := loop.Call{Model: "claude-fable-5-1", Messages: thought()}
	if _, err := client.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if got := f.Request(t, 1).Header.Get("Anthropic-Beta"); got != "own-1,thinking-binding-controls-2026-08-01" {
		t.Errorf("betas = %q", got)
	}
	if want := `"thinking":{"type":"adaptive",` + dropping + `}`; !strings.Contains(f.Body(t, 1), want) {
		t.Errorf("no %s in %s", want, f.Body(t, 1))
	}
}

// What earlier processes found is known, but not what was about one conversation.
func TestKnown(t *testing.T) {
	t.Parallel()
	f := wiretest.ServeText(t, wiretest.EventStream, answered)
	client := clientOf(t, f, func(c *anthropic.Config) {
		c.Known = []plan.Adjusted{
			{Model: "claude-opus-4-7", Part: "thinking.display"},
			{Model: "claude-opus-4-7", Part: "thinking blocks, for this request"},
			{Model: "claude-opus-4-7", Part: "output limit", To: "500"},
		}
	})
	req := loop.Call{Model: "claude-opus-4-7", Messages: thought(), Settings: loop.Settings{Effort: "low"}}
	if _, err := client.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`"thinking":{"type":"adaptive"}`, `"signature":"sig"`, `"max_tokens":500`} {
		if !strings.Contains(f.Body(t, 0), text) {
			t.Errorf("no %s in %s", text, f.Body(t, 0))
		}
	}
}

// What cannot be mended is said.
func TestResendHasAnEnd(t *testing.T) {
	t.Parallel()
	f := wiretest.Serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, _ string) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"type":"invalid_request_error","message":"thinking: cache_control: effort `+
			`signature temperature display ttl are all wrong"}}`)
	})
	req := loop.Call{
		Model:    "claude-opus-4-7",
		System:   "s",
		Messages: thought(),
		Settings: loop.Settings{Effort: "max", LongCache: true},
	}
	_, err := clientOf(t, f).Generate(t.Context(), req, nil)
	wiretest.ModelError(t, err, loop.ErrRefused)
	if f.Count() > 9 {
		t.Errorf("%d requests", f.Count())
	}
}

// The marks on blocks move, and the bytes of messages around them do not change.
func TestMarksMove(t *testing.T) {
	t.Parallel()
	f := refusing(t, refusal{`,"cache_control":{"type":"ephemeral"},"stream"`, noTop})
	client := clientOf(t, f)
	all := conversation()
	for n := 1; n <= len(all); n++ {
		before := f.Count()
		if _, err := client.Generate(t.Context(), loop.Call{Model: "m", Messages: all[:n]}, nil); err != nil {
			t.Fatal(err)
		}
		body := f.Body(t, f.Count()-1)
		const mark = `,"cache_control":{"type":"ephemeral"}`
		if got := strings.Count(body, mark); got < 1 || got > 2 || !json.Valid([]byte(body)) {
			t.Errorf("%d marks in %s", got, body)
		}
		plain := wiretest.ServeText(t, wiretest.EventStream, answered)
		unmarked := clientOf(t, plain, func(c *anthropic.Config) { c.NoCache = true })
		if _, err := unmarked.Generate(t.Context(), loop.Call{Model: "m", Messages: all[:n]}, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain.Body(t, 0), strings.ReplaceAll(body, mark, "")); diff != "" {
			t.Errorf("without marks, %d messages, request %d (-want +got):\n%s", n, before, diff)
		}
	}
}
