package scripted_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/model/scripted"
)

// behind is a scenario of one answer with a call, and another to its result,
// behind a gateway with these settings.
func behind(server string) string {
	return `
[server]
` + server + `
[[reply]]
turn = 0
reasoning = "Where is it, then?"
text = "I look."
usage = { input = 100, output = 30, reasoning = 20 }
  [[reply.call]]
  name = "read"
  args = { path = "a" }
[[reply]]
turn = 1
text = "Done."
`
}

// first asks for the answer with the call, plain, as chat has it.
func (c *client) first() map[string]any {
	c.t.Helper()
	_, data, err := c.post(at("plan", 1), ask(false, user))
	var doc struct {
		Choices []struct{ Message map[string]any }
	}
	if err != nil || json.Unmarshal([]byte(data), &doc) != nil || len(doc.Choices) != 1 {
		c.t.Fatalf("%v %s", err, data)
	}
	return doc.Choices[0].Message
}

// encode is v as JSON.
func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestGatewayWires(t *testing.T) {
	t.Parallel()
	c := start(t, "[server]\nwires = ['chat', 'anthropic']\n[[reply]]\ntext = 'x'\n")
	for _, p := range protocols() {
		resp, data, err := c.postAt(p.path, nil, p.ask(false))
		want := http.StatusOK
		if p.wire == scripted.WireResponses {
			want = http.StatusNotFound
		}
		if err != nil || resp.StatusCode != want {
			t.Errorf("%s: %v %v %s", p.wire, resp, err, data)
		}
	}
}

func TestGatewayWindow(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 200)
	body := map[scripted.Wire]string{
		scripted.WireChat:      ask(false, `{"role":"user","content":"`+long+`"}`),
		scripted.WireResponses: askResponses(false, `{"role":"user","content":"`+long+`"}`),
		scripted.WireAnthropic: askMessages(false, turnOf("user", textBlock(long))),
	}
	tests := []struct {
		name, server string
		status       int
		want         map[scripted.Wire]string
	}{
		{"by default", "window = 100", 400, map[scripted.Wire]string{
			scripted.WireChat:      `"code":"context_length_exceeded"`,
			scripted.WireResponses: "Your input exceeds the context window of this model.",
			scripted.WireAnthropic: "tokens > 100 maximum",
		}},
		{"in words", "window = 100\ntoo_long = { status = 413, words = 'of {window}, {sent}' }", 413, map[scripted.Wire]string{
			scripted.WireChat:      `"message":"of 100, `,
			scripted.WireResponses: `"message":"of 100, `,
			scripted.WireAnthropic: `"message":"of 100, `,
		}},
		{"as a body", "window = 100\ntoo_long = { body = 'n_ctx: {window}' }", 400, map[scripted.Wire]string{
			scripted.WireChat: "n_ctx: 100", scripted.WireResponses: "n_ctx: 100", scripted.WireAnthropic: "n_ctx: 100",
		}},
	}
	for _, tt := range tests {
		c := start(t, "[server]\n"+tt.server+"\n[[reply]]\ntext = 'x'\n")
		for _, p := range protocols() {
			resp, data, err := c.postAt(p.path, nil, body[p.wire])
			if err != nil || resp.StatusCode != tt.status || !strings.Contains(data, tt.want[p.wire]) {
				t.Errorf("%s, %s: %v %v %s", tt.name, p.wire, resp, err, data)
			}
			if resp, data, err := c.postAt(p.path, nil, p.ask(false)); err != nil || resp.StatusCode != 200 {
				t.Errorf("%s, %s: a short request: %v %v %s", tt.name, p.wire, resp, err, data)
			}
		}
	}
}

func TestGatewayModels(t *testing.T) {
	t.Parallel()
	c := start(t, "[server]\nwindow = 4096\nwindow_field = 'max_model_len'\n[[reply]]\ntext = 'x'\n")
	for _, version := range []string{"", "2023-06-01"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.srv.URL()+"/models", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Api-Key", c.srv.Key())
		req.Header.Set("Anthropic-Version", version)
		resp, err := c.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(data), `"max_model_len":4096`) || !json.Valid(data) {
			t.Errorf("%q: %v %s", version, err, data)
		}
	}
}

func TestGatewayTruncates(t *testing.T) {
	t.Parallel()
	for _, usage := range []string{"", "usage = { input = 900, cached = 800, output = 3 }\n"} {
		c := start(t, "[server]\ntruncates = 5\n[[reply]]\ntext = 'x'\n"+usage)
		for _, p := range protocols() {
			_, data, err := c.postAt(p.path, nil, p.ask(false))
			if err != nil {
				t.Fatal(err)
			}
			if got := p.read(t, data); got.Input != 5 || got.Cached > 5 {
				t.Errorf("%s: %+v", p.wire, got)
			}
		}
	}
}

func TestGatewayRefuses(t *testing.T) {
	t.Parallel()
	with := func(params, message string) string {
		return `{"model":"m",` + params + `"messages":[` + message + `]}`
	}
	const (
		tool = `"tools":[{"type":"function","function":{"name":"read","strict":true,"parameters":{"type":"object",` +
			`"properties":{"pattern":{"type":"string"}},"additionalProperties":false}}}],`
		image = `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}`
	)
	tests := []struct{ refuses, body, want string }{
		{"max_tokens", with(`"max_tokens":5,`, user), "Unsupported parameter: 'max_tokens' is not supported " +
			"with this model. Use 'max_completion_tokens' instead."},
		{"max_completion_tokens", with(`"max_completion_tokens":5,`, user), "Use 'max_tokens' instead."},
		{"max_tokens", with(`"max_completion_tokens":5,`, user), ""},
		{"temperature", with(`"temperature":0.5,`, user), "'temperature'"},
		{
			"temperature=0.5",
			with(`"temperature":0.5,`, user),
			"Unsupported value: 'temperature' does not support '0.5' with this model.",
		},
		{"temperature=0.5", with(`"temperature":1,`, user), ""},
		{"reasoning_effort=high", with(`"reasoning_effort":"high",`, user), "'reasoning_effort' does not support 'high'"},
		{"reasoning_effort=high", with(`"reasoning_effort":"low",`, user), ""},
		{"stream_options", ask(true, user), "'stream_options'"},
		{"stream_options.include_usage", ask(true, user), "'stream_options.include_usage'"},
		{"parallel_tool_calls", with(tool+`"parallel_tool_calls":true,`, user), "'parallel_tool_calls'"},
		{"strict", with(tool, user), "tools[0].function.strict: Extra inputs are not permitted"},
		{"schema:additionalProperties", with(tool, user), `Unknown name "additionalProperties"`},
		{"schema:pattern", with(tool, user), ""}, // it is the name of a property
		{"developer", with("", `{"role":"developer","content":"s"},`+user), "unknown variant `developer`"},
		{"developer", with("", system+","+user), ""},
		{"null_content", with("", user+","+calls("a")+","+result("a")), "messages[1].content: Input should be a valid string"},
		{"repeated_roles", with("", user+","+user), `found multiple "user" roles in a row`},
		{"repeated_roles", with("", system+","+user+","+calls("a", "b")+","+result("a")+","+result("b")), ""},
		{"images", with("", image), "does not support image input"},
		{"thinking", with(`"thinking":{"type":"enabled"},`, user), "'thinking'"},
	}
	for i, tt := range tests {
		t.Run(fmt.Sprint(i, " ", tt.refuses), func(t *testing.T) {
			t.Parallel()
			c := start(t, "[server]\nrefuses = ['"+tt.refuses+"']\n[[reply]]\ntext = 'x'\n")
			resp, data, err := c.post(nil, tt.body)
			if err != nil || (resp.StatusCode == 200) != (tt.want == "") || !strings.Contains(errorOf(data), tt.want) {
				t.Errorf("%v %v %s\nwant %q", resp, err, data, tt.want)
			}
		})
	}
}

func TestGatewayRefusesOnOtherWires(t *testing.T) {
	t.Parallel()
	c := start(t, "[server]\nrefuses = ['reasoning.effort=high', 'temperature', 'thinking']\nrefuse_words "+
		"= 'no {name} here'\naccepts = ['provider']\n[[reply]]\ntext = 'x'\n")
	for body, want := range map[string]string{
		strings.Replace(askResponses(false, userItem), "{", `{"reasoning":{"effort":"high"},`, 1): "no reasoning.effort here",
		strings.Replace(askResponses(false, userItem), "{", `{"reasoning":{"effort":"low"},`, 1):  "",
		strings.Replace(askResponses(false, userItem), "{", `{"provider":{"order":["a"]},`, 1):    "",
	} {
		resp, data, err := c.postAt("/responses", nil, body)
		if err != nil || (resp.StatusCode == 200) != (want == "") || errorOf(data) != want {
			t.Errorf("%s\n%v %v %s", body, resp, err, data)
		}
	}
	for body, want := range map[string]string{
		strings.Replace(askMessages(false, userTurn), "{", `{"thinking":{"type":"adaptive"},`, 1): "no thinking here",
		strings.Replace(askMessages(false, userTurn), "{", `{"provider":1,`, 1):                   "",
	} {
		resp, data, err := c.postAt("/messages", nil, body)
		if err != nil || (resp.StatusCode == 200) != (want == "") || errorOf(data) != want {
			t.Errorf("%s\n%v %v %s", body, resp, err, data)
		}
	}
}

func TestGatewayUsageAndFinish(t *testing.T) {
	t.Parallel()
	c := start(t, behind("no_finish = true\nusage_without_reasoning = true\ncost = 0.0123"))
	_, data, err := c.post(at("plan", 1), ask(true, user))
	if err != nil {
		t.Fatal(err)
	}
	got := listen(t, data)
	if got.Finish != "" || !got.Done || got.Usage.Completion != 10 || got.Usage.Total != 130 ||
		!strings.Contains(data, `"cost":0.0123`) {
		t.Errorf("%+v\n%s", got, data)
	}
	_, data, err = c.postAt("/responses", at("plan", 1), askResponses(false, userItem))
	if err != nil || !strings.Contains(data, `"cost":0.0123`) || readResponse(t, data).Output != 30 {
		t.Errorf("%v %s", err, data)
	}
}

func TestGatewayCallsAsText(t *testing.T) {
	t.Parallel()
	for way, want := range map[string]string{
		"tool_call":     "<tool_call>\n{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}\n</tool_call>",
		"mistral":       `[TOOL_CALLS][{"name":"read","arguments":{"path":"a"}}]`,
		"mistral_named": `[TOOL_CALLS]read{"path":"a"}`,
		"llama":         `<|python_tag|>{"name":"read","parameters":{"path":"a"}}`,
		"harmony":       `<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path":"a"}<|call|>`,
		"kimi": `<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0` +
			`<|tool_call_argument_begin|>{"path":"a"}<|tool_call_end|><|tool_calls_section_end|>`,
		"functions": `functions.read({"path":"a"})`,
	} {
		for _, inside := range []string{"false", "true"} {
			c := start(t, behind("calls_as_text = '"+way+"'\nin_reasoning = "+inside))
			for _, p := range protocols() {
				_, data, err := c.postAt(p.path, at("plan", 1), p.ask(true))
				if err != nil {
					t.Fatal(err)
				}
				text, reasoning := "I look.\n"+want, "Where is it, then?"
				if inside == "true" {
					text, reasoning = "I look.", reasoning+"\n"+want
				}
				got := p.hear(t, data)
				want := []string{text, reasoning, p.stop["stop"]}
				if diff := cmp.Diff(want, []string{got.Text, got.Reasoning, got.Stop}); diff != "" || got.Calls != nil {
					t.Errorf("%s, %s:\n%s%v", way, p.wire, diff, got.Calls)
				}
			}
		}
	}
}

func TestGatewaySilenceAndComments(t *testing.T) {
	t.Parallel()
	c := start(t, behind("silence = '30ms'\ncomments = true"))
	for _, p := range protocols() {
		begin := time.Now()
		resp, err := c.doAt(t.Context(), p.path, at("plan", 1), p.ask(true))
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(begin)
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || took < 30*time.Millisecond || !strings.HasPrefix(string(data), ": scripted\n\n") {
			t.Errorf("%s: headers after %s, %v\n%s", p.wire, took, err, data)
		}
	}
}

func TestFaultsOfGateways(t *testing.T) {
	t.Parallel()
	for _, p := range protocols() {
		c := start(
			t,
			strings.Replace(behind(""), "[[reply]]\nturn = 1", "[reply.fault]\nkind = 'reasoning_only'\n[[reply]]\nturn = 1", 1),
		)
		_, data, err := c.postAt(p.path, at("plan", 1), p.ask(true))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.hear(t, data); got.Reasoning != "Where is it, then?" || got.Text != "" || got.Calls != nil ||
			got.Stop != p.stop["stop"] {
			t.Errorf("%s: reasoning only: %+v", p.wire, got)
		}

		c = start(t, strings.Replace(behind(""), "[[reply]]\nturn = 1", "[reply.fault]\nkind = 'failed'\n[[reply]]\nturn = 1", 1))
		_, data, err = c.postAt(p.path, at("plan", 1), p.ask(true))
		if err != nil {
			t.Fatal(err)
		}
		stop := map[scripted.Wire]string{scripted.WireResponses: "failed"}[p.wire]
		if got := p.hear(t, data); got.Failed != "scripted fault: the model failed" || got.Output != 30 || got.Stop != stop {
			t.Errorf("%s: failed: %+v", p.wire, got)
		}
	}
	c := start(
		t,
		faulty("kind = 'status'\nstatus = 429\nheaders = { \"x-ratelimit-reset-requests\" = '4s', Retry-After-Ms = '4000' }\n"),
	)
	resp, _, err := c.post(at("plan", 1), ask(true, user))
	if err != nil || resp.Header.Get("X-Ratelimit-Reset-Requests") != "4s" || resp.Header.Get("Retry-After-Ms") != "4000" {
		t.Errorf("%v %v", resp, err)
	}
}

func TestGatewayErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"wires = ['soap']", `server: wire "soap" is not one of chat, responses, anthropic`},
		{"refuses = ['a b']", `server: refuses "a b"`},
		{"refuses = ['a=']", `server: refuses "a="`},
		{"reasoning_field = 'x'", `reasoning_field "x" is not one of`},
		{"calls_as_text = 'x'", `calls_as_text "x" is not one of`},
		{"in_reasoning = true", "say how calls are written"},
		{"refuse_words = 'x'", "no use without refuses"},
		{"silence = '-1s'", "cannot be negative"},
		{"cost = nan", "give dollars from 0 up"},
		{"window = -1", "cannot be negative"},
		{"too_long = { status = 400 }", "no use without a window"},
		{"window_field = 'max_model_len'", "no use without a window"},
		{"window = 5\ntoo_long = { status = 200 }", "give one from 400 to 599"},
		{"window = 5\ntoo_long = { words = 'a', body = 'b' }", "give one of them"},
		{"windows = 5", `line 3: unknown key "server.windows"`},
	} {
		_, err := scripted.Parse([]byte("name = 'x'\n[server]\n" + c.in + "\n[[reply]]\ntext = 'x'\n"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v\nwant an error with %q", c.in, err, c.want)
		}
	}
}

// FuzzRequest checks that no request of any wire brings the server down.
func FuzzRequest(f *testing.F) {
	s, err := scripted.Parse([]byte(behind("refuses = ['strict', 'images', 'schema:format', 'a.b=c']\naccepts " +
		"= ['x']\nextra_content = true\nreasoning_field = 'reasoning_details'\nneeds_reasoning = true\nwindow = 9999")))
	if err != nil {
		f.Fatal(err)
	}
	srv, err := scripted.Start(f.Context(), s, scripted.Config{})
	if err != nil {
		f.Fatal(err)
	}
	plain := &http.Client{Transport: &http.Transport{}}
	f.Cleanup(func() {
		srv.Close()
		plain.CloseIdleConnections()
	})
	for i, p := range protocols() {
		f.Add(i, p.ask(true))
	}
	f.Add(0, ask(false, user, calls("call_plan_1_1_0_0_d_t"), result("call_plan_1_1_0_0_d_t")))
	f.Add(1, askResponses(false, fullItem, saidItem, `{"type":"reasoning","summary":[],`+
		`"encrypted_content":"eA.x"}`, callItem("call_x_1_r"), resultItem("call_x_1_r")))
	f.Add(2, askMessages(false, userTurn, turnOf("assistant", `{"type":"thinking","thinking":"x",`+
		`"signature":"eA.x"}`, callBlock("a_r")), turnOf("user", marked(resultBlock("a_r"), "1h"))))
	f.Fuzz(func(t *testing.T, wire int, body string) {
		list := protocols()
		p := list[((wire%len(list))+len(list))%len(list)]
		c := &client{t: t, srv: srv, http: plain}
		resp, data, err := c.postAt(p.path, nil, body)
		if err != nil || resp.StatusCode >= 500 {
			t.Errorf("%s: %v %v %s", p.wire, resp, err, data)
		}
	})
}
