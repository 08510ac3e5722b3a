package chat

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// BenchmarkRequest is what building a request costs with a short and a long
// history of reads. Each sends the whole history; what was said before has been
// encoded before, unless a client is new, which encodes all of it.
func BenchmarkRequest(b *testing.B) {
	for _, turns := range []int{20, 200} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			client := newClient(b)
			benchmarkRequest(b, historyOf(turns), func() *protocol { return client })
		})
		b.Run(fmt.Sprint(turns, "-anew"), func(b *testing.B) {
			benchmarkRequest(b, historyOf(turns), func() *protocol { return newClient(b) })
		})
	}
}

func benchmarkRequest(b *testing.B, call loop.Call, client func() *protocol) {
	b.ReportAllocs()
	for b.Loop() {
		req, err := client().Encode(call, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(req.Body.Size())
	}
}

func newClient(b *testing.B) *protocol {
	client, err := newProtocol(Config{})
	if err != nil {
		b.Fatal(err)
	}
	return client
}

// historyOf is a call after so many turns of one read each.
func historyOf(turns int) loop.Call {
	call := loop.Call{
		Model: "m", System: strings.Repeat("You explore a repository. ", 160), Messages: []plan.Message{plan.UserText("Go.")},
		Tools: []loop.Spec{{Name: "read", Description: strings.Repeat("Reads a file. ", 40), Schema: json.RawMessage(`{"type":"object"}`)}},
	}
	for i := range turns {
		id, text := fmt.Sprint("call_", i), strings.Repeat("a line of a file\n", 12)
		call.Messages = append(call.Messages,
			plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockToolCall, Call: id, Name: "read", Args: `{"path":"f.txt"}`}}},
			plan.Message{Role: plan.RoleTool, Blocks: []plan.Block{{Type: plan.BlockToolResult, Call: id, Name: "read", Text: text}}},
		)
	}
	return call
}
