package scripted_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// Thinking comes back with the calls that came with it while thinking is on.
func TestMessagesThinkingComesBack(t *testing.T) {
	t.Parallel()
	for _, redacted := range []string{"false", "true"} {
		c := start(t, `
[[reply]]
turn = 0
reasoning = "Where?"
redacted = `+redacted+`
  [[reply.call]]
  name = "read"
[[reply]]
turn = 1
text = "Done."
`)
		think := func(body string) string {
			return strings.Replace(body, "{", `{"thinking":{"type":"enabled","budget_tokens":1024},`, 1)
		}
		_, data, err := c.postAt("/messages", at("plan", 1), think(askMessages(false, userTurn)))
		var d messageDoc
		if err != nil || json.Unmarshal([]byte(data), &d) != nil || len(d.Content) != 2 {
			t.Fatalf("%v %s", err, data)
		}
		thought, call := string(d.Content[0]), string(d.Content[1])
		if strings.Contains(data, "Where?") != (redacted == "false") ||
			strings.Contains(thought, "redacted_thinking") != (redacted == "true") {
			t.Errorf("redacted %s: %s", redacted, thought)
		}
		result := turnOf("user", resultBlock("toolu_plan_1_1_0_0_r"))
		changed := strings.NewReplacer("Where?", "There?", `"data":"`, `"data":"x`).Replace(thought)
		foreign := strings.NewReplacer(
			`"signature":"`,
			`"signature":"EqQBCgIYAhIM`,
			".",
			"",
			`"data":"`,
			`"data":"EqQBCgIYAhIM`,
		).Replace(thought)
		unchanged := map[string]string{
			"false": "cannot be modified",
			"true":  "Invalid `data` in `redacted_thinking` block",
		}[redacted]
		invalid := map[string]string{"false": "Invalid `signature` in `thinking` block", "true": "Invalid " +
			"`data` in `redacted_thinking` block"}[redacted]
		tests := []struct{ name, body, want string }{
			{"as it was", think(askMessages(false, userTurn, turnOf("assistant", thought, call), result)), ""},
			{"without", think(askMessages(false, userTurn, turnOf("assistant", call), result)), "messages.1.content.0.type: " +
				"Expected `thinking` or `redacted_thinking`, but found `tool_use`"},
			{
				"after the call",
				think(askMessages(false, userTurn, turnOf("assistant", call, thought, textBlock("x")), result)),
				"Expected `thinking` or `redacted_thinking`, but found `tool_use`",
			},
			{"changed", think(askMessages(false, userTurn, turnOf("assistant", changed, call), result)), unchanged},
			{"not its own", think(askMessages(false, userTurn, turnOf("assistant", foreign, call), result)), invalid},
			{"without, thinking being off", askMessages(false, userTurn, turnOf("assistant", call), result), ""},
		}
		for _, tt := range tests {
			t.Run(tt.name+", redacted "+redacted, func(t *testing.T) {
				t.Parallel()
				resp, data, err := c.postAt("/messages", at("plan", 1), tt.body)
				if err != nil || (resp.StatusCode == http.StatusOK) != (tt.want == "") ||
					!strings.Contains(errorOf(data), tt.want) {
					t.Errorf("%v %v %s\nwant %q", resp, err, data, tt.want)
				}
			})
		}
		// Once the user has said something, it need not.
		resp, data, err := c.postAt(
			"/messages",
			at("plan", 1),
			think(askMessages(false, userTurn, turnOf("assistant", call), turnOf("user", resultBlock("toolu_plan_1_1_0_0_r"), textBlock("and?")))),
		)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%v %v %s", resp, err, data)
		}
	}
}

// Thinking that is not shown still comes with a signature, and goes back.
func TestMessagesThinkingOmitted(t *testing.T) {
	t.Parallel()
	c := start(t, "[[reply]]\nturn = 0\nreasoning = 'Where?'\n[[reply.call]]\nname = 'read'\n[[reply]]\ntext = 'Done.'\n")
	think := func(body string) string {
		return strings.Replace(body, "{", `{"thinking":{"type":"adaptive","display":"omitted"},`, 1)
	}
	// The phase is not fit for an id.
	phase := at("Über/"+strings.Repeat("x", 60), 1)
	_, data, err := c.postAt("/messages", phase, think(askMessages(false, userTurn)))
	var d messageDoc
	if err != nil || json.Unmarshal([]byte(data), &d) != nil || len(d.Content) != 2 || strings.Contains(data, "Where?") {
		t.Fatalf("%v %s", err, data)
	}
	call := readMessage(t, data).Calls[0].ID
	said := turnOf("assistant", string(d.Content[0]), string(d.Content[1]))
	resp, data, err := c.postAt("/messages", phase, think(askMessages(false, userTurn, said, turnOf("user", resultBlock(call)))))
	if err != nil || resp.StatusCode != 200 || readMessage(t, data).Text != "Done." || len(call) > 64 {
		t.Errorf("%v %v %s", resp, err, data)
	}
}

// An answer that is not at its end is sent back for the rest of it.
func TestMessagesPause(t *testing.T) {
	t.Parallel()
	c := start(t, `
[[reply]]
user = 1
turn = 0
text = "I begin"
finish = "pause_turn"
[[reply]]
text = "and end."
`)
	_, data, err := c.postAt("/messages", nil, askMessages(false, userTurn))
	if got := readMessage(t, data); err != nil || got.Stop != "pause_turn" || got.Text != "I begin" {
		t.Errorf("%v %+v", err, got)
	}
	_, data, err = c.postAt("/messages", nil, askMessages(true, userTurn, turnOf("assistant", textBlock("I begin"))))
	if got := hearMessages(t, data); err != nil || got.Stop != "end_turn" || got.Text != "and end." {
		t.Errorf("%v %+v", err, got)
	}
	resp, data, err := c.postAt("/messages", nil, askMessages(false, userTurn, saidTurn, userTurn, saidTurn))
	if err != nil || resp.StatusCode != 400 || !strings.Contains(errorOf(data), "prefill") {
		t.Errorf("%v %v %s", resp, err, data)
	}
}

// Two messages of the user in a row are two, as by the other wires; results
// are none.
func TestMessagesPlace(t *testing.T) {
	t.Parallel()
	c := start(t, "[[reply]]\nuser = 1\nturn = 1\ntext = 'b'\n[[reply]]\nuser = 1\ntext = 'a'\n[[reply]]\nuser "+
		"= 3\nabout = 'second'\ntext = 'c'\n")
	called := []string{userTurn, turnOf("assistant", callBlock("x")), turnOf("user", resultBlock("x"))}
	for want, messages := range map[string][]string{
		"a": {turnOf("user", textBlock("one"), textBlock("message"))},
		"b": called,
		"c": append(called, turnOf("user", textBlock("second")), userTurn),
	} {
		_, data, err := c.postAt("/messages", nil, askMessages(false, messages...))
		if got := readMessage(t, data); err != nil || got.Text != want {
			t.Errorf("%v %+v, want %q", err, got, want)
		}
	}
}
