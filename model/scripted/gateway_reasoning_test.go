package scripted_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// What came with an answer has to go back with it, under its own name.
func TestGatewayReasoning(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"reasoning_content", "reasoning", "think", "reasoning_details"} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			c := start(t, behind("needs_reasoning = true\nreasoning_field = '"+field+"'"))
			message := c.first()
			id := message["tool_calls"].([]any)[0].(map[string]any)["id"].(string)
			send := func(m map[string]any) (status int, said string) {
				t.Helper()
				resp, data, err := c.post(at("plan", 1), ask(false, user, encode(t, m), result(id)))
				if err != nil {
					t.Fatal(err)
				}
				return resp.StatusCode, errorOf(data)
			}
			if status, said := send(message); status != 200 {
				t.Errorf("as it came: %d %s", status, said)
			}
			less := map[string]any{"role": "assistant", "content": "I look.", "tool_calls": message["tool_calls"]}
			if status, said := send(less); status != 400 || !strings.Contains(said, field) {
				t.Errorf("without: %d %s", status, said)
			}
			other := map[string]string{
				"reasoning_content": "reasoning",
				"reasoning":         "reasoning_content",
				"think":             "reasoning",
				"reasoning_details": "reasoning_content",
			}[field]
			less[other] = "Where is it, then?"
			if status, said := send(less); status != 400 || !strings.Contains(said, `unknown field "`+other+`"`) {
				t.Errorf("as %s: %d %s", other, status, said)
			}
		})
	}
}

// Pieces of reasoning, put together, are what a plain answer has.
func TestGatewayReasoningStreams(t *testing.T) {
	t.Parallel()
	c := start(t, behind("reasoning_field = 'reasoning_details'\nneeds_reasoning = true"))
	message := c.first()
	id := message["tool_calls"].([]any)[0].(map[string]any)["id"].(string)
	_, data, err := c.post(at("plan", 1), ask(true, user))
	if err != nil {
		t.Fatal(err)
	}
	var details []any
	reasoning := ""
	for _, e := range events(t, data) {
		var d struct {
			Choices []struct {
				Delta struct {
					Reasoning string
					Details   []any `json:"reasoning_details"`
				}
			}
		}
		if e != "[DONE]" && json.Unmarshal([]byte(e), &d) == nil && len(d.Choices) == 1 {
			reasoning += d.Choices[0].Delta.Reasoning
			details = append(details, d.Choices[0].Delta.Details...)
		}
	}
	if reasoning != message["reasoning"] || len(details) < 3 {
		t.Errorf("%q, %d details", reasoning, len(details))
	}
	for name, change := range map[string]func(d []any) []any{
		"in pieces":        func(d []any) []any { return d },
		"put together":     func([]any) []any { return message["reasoning_details"].([]any) },
		"without the last": func(d []any) []any { return d[:len(d)-1] },
		"without the text": func(d []any) []any { return d[len(d)-1:] },
		"without an index": func(d []any) []any {
			for _, one := range d {
				delete(one.(map[string]any), "index")
			}
			return d
		},
	} {
		var d []any
		if json.Unmarshal([]byte(encode(t, details)), &d) != nil {
			t.Fatal(name)
		}
		m := map[string]any{
			"role":              "assistant",
			"content":           "I look.",
			"tool_calls":        message["tool_calls"],
			"reasoning_details": change(d),
		}
		resp, data, err := c.post(at("plan", 1), ask(false, user, encode(t, m), result(id)))
		if err != nil || (resp.StatusCode == 200) != (name == "in pieces" || name == "put together") {
			t.Errorf("%s: %v %v %s", name, resp, err, data)
		}
	}
	// What another server said has none of it.
	if resp, data, err := c.post(at("plan", 1), ask(false, user, calls("a"), result("a"))); err != nil || resp.StatusCode != 200 {
		t.Errorf("another server's: %v %v %s", resp, err, data)
	}
}

func TestGatewayThink(t *testing.T) {
	t.Parallel()
	c := start(t, behind("reasoning_field = 'think'"))
	_, data, err := c.post(at("plan", 1), ask(true, user))
	if err != nil {
		t.Fatal(err)
	}
	if got := listen(t, data); got.Text != "<think>\nWhere is it, then?\n</think>\n\nI "+
		"look." || got.Reasoning != "" || got.Text != c.first()["content"] {
		t.Errorf("%+v", got)
	}
}

// An empty reasoning has to come back as well, so it is shown.
func TestGatewayEmptyReasoning(t *testing.T) {
	t.Parallel()
	c := start(t, strings.Replace(behind("needs_reasoning = true"), `reasoning = "Where is it, then?"`, "", 1))
	if got, ok := c.first()["reasoning_content"]; !ok || got != "" {
		t.Errorf("%q %v", got, ok)
	}
	_, data, err := c.post(at("plan", 1), ask(true, user))
	if err != nil || !strings.Contains(data, `"reasoning_content":""`) {
		t.Errorf("%v %s", err, data)
	}
}

func TestGatewayExtraContent(t *testing.T) {
	t.Parallel()
	c := start(t, behind("extra_content = true"))
	message := c.first()
	id := message["tool_calls"].([]any)[0].(map[string]any)["id"].(string)
	for _, tt := range []struct {
		name   string
		change func(call map[string]any)
		status int
	}{
		{"as it came", func(map[string]any) {}, 200},
		{"another", func(call map[string]any) {
			call["extra_content"] = map[string]any{"google": map[string]any{"thought_signature": "x"}}
		}, 400},
		{"none", func(call map[string]any) { delete(call, "extra_content") }, 400},
	} {
		tt.change(message["tool_calls"].([]any)[0].(map[string]any))
		resp, data, err := c.post(at("plan", 1), ask(false, user, encode(t, message), result(id)))
		if err != nil || resp.StatusCode != tt.status ||
			tt.status == 400 && !strings.Contains(data, "missing a thought_signature") {
			t.Errorf("%s: %v %v %s", tt.name, resp, err, data)
		}
	}
	_, data, err := c.post(at("plan", 1), ask(true, user))
	if err != nil || strings.Count(data, `"thought_signature"`) != 1 {
		t.Errorf("%v %s", err, data)
	}
}
