package chat

import (
	"encoding/json"
	"testing"

	sdk "github.com/openai/openai-go/v3"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/wire"
)

// FuzzPlainMessages: what is written without the SDK has the SDK's bytes.
func FuzzPlainMessages(f *testing.F) {
	f.Add("one\ntwo", "call_1", "read", `{"path":"<a> & b"}`, uint8(2))
	f.Add("", "", "", "", uint8(1))
	f.Add("\u2028 \xff \x01 é", "<", "\"", "{", uint8(0))
	f.Add("", "c", "", "", uint8(3))
	f.Fuzz(func(t *testing.T, text, call, name, args string, calls uint8) {
		answer := plan.Message{
			Role:   plan.RoleAssistant,
			Blocks: []plan.Block{{Type: plan.BlockReasoning, Text: "hm"}, {Type: plan.BlockText, Text: text}},
		}
		for range calls % 4 {
			answer.Blocks = append(answer.Blocks, plan.Block{Type: plan.BlockToolCall, Call: call, Name: name, Args: args})
		}
		var e encoder
		plain, short := e.plainMessage(answer, &wire.Optionals{})
		whole, long := e.assistantMessage(answer, &wire.Optionals{})
		if short != long {
			t.Fatalf("it is written plainly: %v, by the SDK: %v", short, long)
		}
		if short {
			sameBytes(t, plain, whole)
		}
		answer.Blocks[0].Opaque = wire.Seal(Name, "here", map[string]json.RawMessage{partReasoning: json.RawMessage("null")})
		e.provider = "here"
		plain, short = e.plainMessage(answer, &wire.Optionals{})
		if whole, long = e.assistantMessage(answer, &wire.Optionals{}); short && long {
			sameBytes(t, plain, whole)
		}
		sameBytes(t, toolResult{Content: text, Call: call, Role: "tool"}, sdk.ToolMessage(text, call))
	})
}

func sameBytes(t *testing.T, plain, whole any) {
	t.Helper()
	got, err := wire.Join(0, plain)
	if err != nil {
		t.Fatal(err)
	}
	want, err := wire.Join(0, whole)
	if err != nil || string(got) != string(want) {
		t.Errorf("%v\n%s\n%s", err, got, want)
	}
}
