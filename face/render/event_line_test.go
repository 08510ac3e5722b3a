package render

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

// TestEventsAreALineEach: an event is one line, whatever it holds, with its seq first.
func TestEventsAreALineEach(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 14, 9, 26, 53, 589_000_000, time.UTC)
	heredoc := json.RawMessage(`{"command":"cat > a <<'E'\nline \"a\"\nE"}`)
	for _, c := range []struct {
		body plan.Body
		want string
	}{
		{plan.ToolStart{Name: "bash", Args: heredoc}, "tool_start        bash: cat > a <<'E' …"},
		{
			plan.ToolEnd{Name: "bash", ExitCode: exitCode(1), DurationMS: 8200, Output: "FAIL\nmore"},
			"tool_end          bash, 8.2s, exit 1: FAIL …",
		},
		{plan.ToolEnd{Name: "write", Status: "refused", Output: "no"}, "tool_end          write, 0ms, refused: no"},
		{
			plan.MessageEnd{Message: plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{
				{Type: plan.BlockText, Text: "I look.\nThen I write."},
				{Type: plan.BlockToolCall, Name: "bash", Args: string(heredoc)},
			}}},
			"message_end       assistant I look. … → bash cat > a <<'E' …",
		},
		{plan.Steering{Text: "mind\nthe spelling", Letter: 3}, `steering          text="mind …" letter=3`},
		{plan.FollowUp{Text: "then a note"}, `follow_up         text="then a note"`},
		{plan.StateChange{From: plan.Planning, To: plan.Implementing}, "state             from=planning to=implementing"},
		{plan.PhaseStart{Tools: []string{"read", "grep"}}, "phase_start       tools=read,grep"},
		{plan.Drift{Files: []string{"a", "b", "c", "d", "e"}, Total: 5}, "drift             files=5 total=5"},
		{
			plan.UsageReport{Usage: plan.Usage{Requests: 1, Input: 12}, Priced: true},
			"usage             usage.requests=1 usage.input=12 priced",
		},
		{plan.Unknown{Kind: "later", Raw: json.RawMessage(`{"n":[{"a":1}],"x":null}`)}, "later             n=1"},
	} {
		var out strings.Builder
		v := NewEventLines(&out, Options{})
		v.Event(plan.Event{Seq: 12, Time: at, Phase: plan.Implement, Attempt: 2, Body: c.body})
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		want := "   12  09:26:53.589  implement 2  " + c.want + "\n"
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.body.Type(), diff)
		}
	}
	var out strings.Builder
	events := append(wholeStory().events, nastyEvents(t)...)
	showAll(NewEventLines(&out, Options{Width: func() int { return 60 }}), events)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != len(events) {
		t.Errorf("%d lines for %d events", len(lines), len(events))
	}
	for _, line := range lines {
		if cellWidth(line) > 59 || unsafeIn(line) != "" {
			t.Errorf("%d columns: %q", cellWidth(line), line)
		}
	}
}

// TestTranscriptShowsTextsAsTexts: what a patch, a script or a file says is read as it
// was written, and not as JSON.
func TestTranscriptShowsTextsAsTexts(t *testing.T) {
	t.Parallel()
	call := func(name string, args map[string]any) plan.Block {
		data, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		return plan.Block{Type: plan.BlockToolCall, Name: name, Args: string(data)}
	}
	e := plan.Event{Seq: 1, Body: plan.MessageEnd{Message: plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{
		{Type: plan.BlockText, Text: "first\n\nlast"},
		call("apply_patch", map[string]any{"patch": "@@\n-a \"x\"\n+\tb\n"}),
		call("write", map[string]any{"path": "a.go", "content": "x\ny", "mode": 7}),
		call("read", map[string]any{"path": "a \"b\".go"}),
		{Type: plan.BlockToolCall, Name: "odd", Args: "no JSON"},
	}}}}
	asks := plan.Event{Seq: 2, Body: plan.ApprovalRequired{Name: "bash", Args: json.RawMessage(`{"command":"a\nb"}`)}}
	for color, want := range map[bool]string{
		false: `
assistant
  first

  last
  → apply_patch
    patch:
      @@
      -a "x"
      +    b
  → write {"mode":7,"path":"a.go"}
    content:
      x
      y
  → read {"path":"a \"b\".go"}
  → odd no JSON

waits for a yes  bash
  command: a
  b
`,
		true: "      \x1b[31m-a \"x\"\x1b[0m\n      \x1b[32m+    b\x1b[0m\n",
	} {
		var out strings.Builder
		if err := WriteTranscript(&out, eventSeq([]plan.Event{e, asks}, nil), Options{Color: color}); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); color && !strings.Contains(got, want) || !color && got != want {
			t.Errorf("%s", cmp.Diff(want, got))
		}
	}
}
