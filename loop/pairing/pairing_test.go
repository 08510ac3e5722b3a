package pairing

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/internal/casetable"
)

// orphanDiffers lists the rows of the table where this project does something
// else than the system they were taken from.
var orphanDiffers = map[string]string{
	"result-before-use":                  "theirs leaves the early result; ours makes it words and answers the call",
	"result-answered-two-messages-later": "theirs answers the call twice; ours moves the result to its call",
}

func asks(ids ...string) plan.Message {
	m := plan.Message{Role: plan.RoleAssistant}
	for _, id := range ids {
		m.Blocks = append(m.Blocks, plan.Block{Type: plan.BlockToolCall, Call: id, Name: "read", Args: "{}"})
	}
	return m
}

func said(text string) plan.Message {
	return plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockText, Text: text}}}
}

func result(id, text string) plan.Block {
	return plan.Block{Type: plan.BlockToolResult, Call: id, Name: "read", Text: text}
}

func answers(results ...plan.Block) plan.Message {
	return plan.Message{Role: plan.RoleTool, Blocks: results}
}

func lost(id string) plan.Block {
	return plan.Block{Type: plan.BlockToolResult, Call: id, Name: "read", Text: NeverStarted, Error: true}
}

func stray(text string) string {
	return "[result of a call that is not part of this conversation]\n" + text
}

// TestPairingCases plays rows about which result answers which call.
func TestPairingCases(t *testing.T) {
	t.Parallel()
	for _, row := range casetable.ReadKind(t, "dirge_repair.jsonl", "pairing") {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			pairingCase(t, row)
		})
	}
}

func pairingCase(t *testing.T, row casetable.Row) {
	t.Helper()
	type entry struct {
		Role           string   `json:"role"`
		Calls          []string `json:"calls,omitempty"`
		ID             string   `json:"id,omitempty"`
		SyntheticError bool     `json:"synthetic_error,omitempty"`
	}
	var in struct{ Messages []entry }
	var want []entry
	casetable.Parse(t, row.Input, &in)
	casetable.Parse(t, row.Expected, &want)
	var messages []plan.Message
	for _, e := range in.Messages {
		switch e.Role {
		case "assistant":
			messages = append(messages, asks(e.Calls...))
		case "tool":
			messages = append(messages, answers(result(e.ID, "ok")))
		default:
			messages = append(messages, plan.UserText("go on"))
		}
	}
	var got []entry
	for _, m := range Repair(messages) {
		if strings.HasPrefix(m.Text(), stray("")) {
			continue // theirs drops it; ours keeps it as words
		}
		if m.Role != plan.RoleTool {
			e := entry{Role: string(m.Role)}
			for _, c := range m.Calls() {
				e.Calls = append(e.Calls, c.Call)
			}
			got = append(got, e)
			continue
		}
		for _, b := range m.Blocks {
			got = append(got, entry{Role: "tool", ID: b.Call, SyntheticError: b.Error})
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// tableMessage is a message of the table: a result is a part of a user message there.
type tableMessage struct {
	Role    string      `json:"role"`
	Content []tablePart `json:"content"`
}

type tablePart struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Synthetic bool            `json:"synthetic,omitempty"`
}

func fromTable(in []tableMessage) []plan.Message {
	var out []plan.Message
	for _, w := range in {
		tool := plan.Message{Role: plan.RoleTool}
		own := plan.Message{Role: plan.Role(w.Role)}
		for _, p := range w.Content {
			switch p.Type {
			case "text":
				own.Blocks = append(own.Blocks, plan.Block{Type: plan.BlockText, Text: p.Text})
			case "tool_use":
				own.Blocks = append(own.Blocks, plan.Block{Type: plan.BlockToolCall, Call: p.ID, Name: p.Name, Args: string(p.Input)})
			case "tool_result":
				tool.Blocks = append(tool.Blocks, plan.Block{Type: plan.BlockToolResult, Call: p.ToolUseID, Text: p.Content, Error: p.IsError})
			}
		}
		for _, m := range []plan.Message{tool, own} {
			if len(m.Blocks) > 0 {
				out = append(out, m)
			}
		}
	}
	return out
}

func toTable(messages []plan.Message) []tableMessage {
	var out []tableMessage
	for i, m := range messages {
		w := tableMessage{Role: string(m.Role)}
		if m.Role == plan.RoleTool {
			w.Role = "user"
		}
		for _, b := range m.Blocks {
			switch b.Type {
			case plan.BlockText:
				w.Content = append(w.Content, tablePart{Type: "text", Text: b.Text})
			case plan.BlockToolCall:
				w.Content = append(w.Content, tablePart{Type: "tool_use", ID: b.Call, Name: b.Name, Input: json.RawMessage(b.Args)})
			case plan.BlockToolResult:
				p := tablePart{Type: "tool_result", ToolUseID: b.Call, Content: b.Text, IsError: b.Error}
				if b.Text == NeverStarted {
					p.Content, p.Synthetic = "", true
				}
				w.Content = append(w.Content, p)
			}
		}
		if i > 0 && m.Role == plan.RoleUser && messages[i-1].Role == plan.RoleTool {
			last := &out[len(out)-1]
			last.Content = append(last.Content, w.Content...)
			continue
		}
		out = append(out, w)
	}
	return out
}

func TestOrphanCases(t *testing.T) {
	t.Parallel()
	for _, row := range casetable.Read(t, "wayland_orphan.jsonl") {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			var in struct {
				Op       string
				Messages []tableMessage
			}
			casetable.Parse(t, row.Input, &in)
			messages := fromTable(in.Messages)
			if text, ok := strings.CutPrefix(in.Op, "push_user:"); ok {
				messages = append(messages, plan.UserText(text))
			}
			var got []plan.Message
			switch in.Op {
			case "sanitize_for_summary":
				got = WithoutOpenCalls(messages)
			case "repair_results_twice":
				got = Repair(Repair(messages))
			default:
				got = Repair(messages)
			}
			orphanCase(t, row, in.Messages, toTable(got))
		})
	}
}

func orphanCase(t *testing.T, row casetable.Row, in, got []tableMessage) {
	var want struct {
		Unchanged       bool
		Messages        []tableMessage
		Count           int
		Last            []tablePart
		NoToolResults   bool     `json:"no_tool_results"`
		TextContains    string   `json:"text_contains"`
		NoEmptyMessages bool     `json:"no_empty_messages"`
		OursDemoted     []string `json:"ours_demoted"`
		OursResultIDs   []string `json:"ours_result_ids"`
	}
	casetable.Parse(t, row.Expected, &want)
	if want.Unchanged {
		want.Messages = in
	}
	if want.Messages != nil {
		if diff := cmp.Diff(want.Messages, got); diff != "" && len(want.Messages)+len(got) > 0 {
			t.Error(diff)
		}
		return
	}
	var results, texts []string
	for _, w := range got {
		if len(w.Content) == 0 {
			t.Error("a message is empty")
		}
		for _, p := range w.Content {
			if p.Type == "tool_result" {
				results = append(results, p.ToolUseID)
			}
			texts = append(texts, p.Text)
		}
	}
	if want.Count > 0 {
		if len(got) != want.Count {
			t.Fatalf("%d messages: %+v", len(got), got)
		}
		if diff := cmp.Diff(want.Last, got[len(got)-1].Content); diff != "" {
			t.Error(diff)
		}
		return
	}
	all := strings.Join(texts, "\n")
	switch {
	case want.NoToolResults:
		if len(results) > 0 || !strings.Contains(all, want.TextContains) {
			t.Errorf("became %+v", got)
		}
	case want.OursDemoted != nil:
		// The call is answered after it, and what came early is words.
		if diff := cmp.Diff(want.OursDemoted, results); diff != "" || !strings.Contains(all, "early") || orphanDiffers[row.Name] == "" {
			t.Errorf("became %+v", got)
		}
	case want.OursResultIDs != nil:
		if diff := cmp.Diff(want.OursResultIDs, results); diff != "" || orphanDiffers[row.Name] == "" || got[1].Content[0].Content != "ok" {
			t.Errorf("became %+v", got)
		}
	case want.TextContains != "" || want.NoEmptyMessages:
		if !strings.Contains(all, want.TextContains) {
			t.Errorf("became %+v", got)
		}
	default:
		t.Fatalf("no test for %s", row.Expected)
	}
}

func TestRepair(t *testing.T) {
	t.Parallel()
	user := plan.UserText("x")
	extension := plan.Message{Role: plan.RoleExtension, Blocks: []plan.Block{{Type: plan.BlockExtension, Kind: "k"}}}
	image := plan.Block{Type: plan.BlockImage, Data: "AA=="}
	inUser := plan.Message{Role: plan.RoleUser, Blocks: []plan.Block{result("a", "1"), {Type: plan.BlockText, Text: "and"}}}
	tests := []struct {
		name     string
		in, want []plan.Message
	}{
		{"missing in the middle", []plan.Message{asks("a", "b", "c"), answers(result("a", "1"), result("c", "3"))}, []plan.Message{asks("a", "b", "c"), answers(result("a", "1"), lost("b"), result("c", "3"))}},
		{"out of order", []plan.Message{asks("a", "b"), answers(result("b", "2"), result("a", "1"))}, []plan.Message{asks("a", "b"), answers(result("a", "1"), result("b", "2"))}},
		{"a second result", []plan.Message{asks("a"), answers(result("a", "1")), user, answers(result("a", "2"))}, []plan.Message{asks("a"), answers(result("a", "1")), user}},
		{"two late results", []plan.Message{asks("a"), user, answers(result("a", "1")), answers(result("a", "2"))}, []plan.Message{asks("a"), answers(result("a", "1")), user}},
		{"one id twice, answered late", []plan.Message{asks("a", "a"), user, answers(result("a", "1"), result("a", "2"))}, []plan.Message{asks("a", "a"), answers(result("a", "1"), result("a", "2")), user}},
		{"a stray one among others", []plan.Message{asks("a"), answers(result("a", "1"), result("z", "9"))}, []plan.Message{asks("a"), answers(result("a", "1")), plan.UserText(stray("9"))}},
		{"a stray one with nothing in it", []plan.Message{user, answers(result("z", " "))}, []plan.Message{user}},
		{"results in a user message", []plan.Message{asks("a"), inUser}, []plan.Message{asks("a"), answers(result("a", "1")), plan.UserText("and")}},
		{"one id twice in a message", []plan.Message{asks("a", "a"), answers(result("a", "1"), result("a", "2"))}, nil},
		{"one id twice, answered once", []plan.Message{asks("a", "a"), answers(result("a", "1"))}, []plan.Message{asks("a", "a"), answers(result("a", "1"), lost("a"))}},
		{"an id used again goes with its latest use", []plan.Message{asks("a"), user, asks("a"), answers(result("a", "2"))}, []plan.Message{asks("a"), answers(lost("a")), user, asks("a"), answers(result("a", "2"))}},
		{"one message per result", []plan.Message{asks("a", "b"), answers(result("a", "1")), extension, answers(result("b", "2"))}, nil},
		{"an extension between", []plan.Message{asks("a"), extension, answers(result("a", "1")), user}, nil},
		{"other blocks stay", []plan.Message{asks("a"), user, answers(result("a", "1"), image)}, []plan.Message{asks("a"), answers(result("a", "1")), user, answers(image)}},
		{"a result in what the model said", []plan.Message{{Role: plan.RoleAssistant, Blocks: []plan.Block{result("z", "9"), {Type: plan.BlockText, Text: "t"}}}}, []plan.Message{plan.UserText(stray("9")), said("t")}},
		{"whole groups stay as they are", []plan.Message{asks("a", "b"), answers(result("a", "1")), answers(result("b", "2")), asks("c")}, []plan.Message{asks("a", "b"), answers(result("a", "1")), answers(result("b", "2")), asks("c"), answers(lost("c"))}},
		{"an empty conversation", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := tt.want
			if want == nil {
				want = tt.in
			}
			if diff := cmp.Diff(want, Repair(tt.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWithoutOpenCalls(t *testing.T) {
	t.Parallel()
	both := asks("a", "b")
	got := WithoutOpenCalls([]plan.Message{plan.UserText("x"), both, answers(result("b", "2")), asks("c"), answers(result("z", "9"))})
	want := []plan.Message{plan.UserText("x"), asks("b"), answers(result("b", "2")), plan.UserText(stray("9"))}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(both.Blocks) != 2 {
		t.Error("the message was changed")
	}
}

//nolint:paralleltest // the allocations of other tests would be counted
func TestRepairOfWhatIsWholeCostsNothing(t *testing.T) {
	var in []plan.Message
	for range 50 {
		in = append(in, plan.UserText("x"), asks("a", "b"), answers(result("a", "1"), result("b", "2")), said("y"))
	}
	if got := Repair(in); &got[0] != &in[0] || len(got) != len(in) {
		t.Error("another slice came back")
	}
	if n := testing.AllocsPerRun(100, func() { Repair(in) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// conversations makes random lists of messages, most of them broken.
func conversations() *rapid.Generator[[]plan.Message] {
	id := rapid.SampledFrom([]string{"a", "b", "c"})
	block := rapid.Custom(func(t *rapid.T) plan.Block {
		switch rapid.IntRange(0, 5).Draw(t, "type") {
		case 0:
			return plan.Block{Type: plan.BlockText, Text: rapid.StringMatching(`[x-z]{1,3}`).Draw(t, "text")}
		case 1, 2:
			return plan.Block{Type: plan.BlockToolCall, Call: id.Draw(t, "call"), Name: "read", Args: "{}"}
		default:
			return result(id.Draw(t, "result"), rapid.SampledFrom([]string{"1", "2", ""}).Draw(t, "said"))
		}
	})
	role := rapid.SampledFrom([]plan.Role{plan.RoleUser, plan.RoleAssistant, plan.RoleAssistant, plan.RoleTool, plan.RoleTool, plan.RoleExtension})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) plan.Message {
		return plan.Message{Role: role.Draw(t, "role"), Blocks: rapid.SliceOfN(block, 0, 4).Draw(t, "blocks")}
	}), 0, 8)
}

// invalid says what is wrong with a conversation, in its own way.
func invalid(messages []plan.Message) error {
	var due []string
	for i, m := range messages {
		if m.Role == plan.RoleExtension {
			continue
		}
		if m.Role != plan.RoleTool && len(due) > 0 {
			return fmt.Errorf("message %d comes before the results of %v", i, due)
		}
		for _, b := range m.Blocks {
			switch {
			case b.Type == plan.BlockToolCall && m.Role == plan.RoleAssistant:
				due = append(due, b.Call)
			case b.Type == plan.BlockToolResult:
				if m.Role != plan.RoleTool || len(due) == 0 || due[0] != b.Call {
					return fmt.Errorf("message %d answers %s, due is %v", i, b.Call, due)
				}
				due = due[1:]
			}
		}
	}
	if len(due) > 0 {
		return fmt.Errorf("no results of %v", due)
	}
	return nil
}

// others are the blocks that a repair has no business with, in order.
func others(messages []plan.Message) []plan.Block {
	out := []plan.Block{}
	for _, m := range messages {
		for _, b := range m.Blocks {
			switch {
			case m.Role == plan.RoleExtension, b.Type == plan.BlockToolCall:
				out = append(out, b)
			case b.Type == plan.BlockText && !strings.HasPrefix(b.Text, stray("")):
				out = append(out, b)
			}
		}
	}
	return out
}

func TestRepairProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := conversations().Draw(t, "messages")
		before := fmt.Sprintf("%+v", in)
		got := Repair(in)
		if err := invalid(got); err != nil {
			t.Fatalf("%v: %+v", err, got)
		}
		if after := fmt.Sprintf("%+v", in); after != before {
			t.Fatalf("the input became %s", after)
		}
		if (invalid(in) == nil) != (len(in) == 0 || len(got) > 0 && &got[0] == &in[0]) {
			t.Fatalf("what is whole was changed, or what is broken was not: %+v", got)
		}
		if again := Repair(got); len(got) > 0 && &again[0] != &got[0] {
			t.Fatalf("repaired again: %+v", again)
		}
		if diff := cmp.Diff(others(in), others(got)); diff != "" {
			t.Fatal(diff)
		}
		if err := invalid(WithoutOpenCalls(in)); err != nil {
			t.Fatal(err)
		}
	})
}
