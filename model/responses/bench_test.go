package responses

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
)

// BenchmarkEncode is what building a request costs with a short and a long
// history of reads, with and without reasoning. Each sends the whole history; what
// was said before has been encoded before, unless a client is new, which encodes
// all of it.
func BenchmarkEncode(b *testing.B) {
	for _, turns := range []int{20, 200} {
		for _, reasons := range []bool{false, true} {
			name := fmt.Sprint(turns)
			if reasons {
				name += "-reasoning"
			}
			call := historyOf(turns, reasons)
			b.Run(name, func(b *testing.B) {
				p := newProtocol()
				benchmarkEncode(b, call, func() *protocol { return p })
			})
			b.Run(name+"-anew", func(b *testing.B) { benchmarkEncode(b, call, newProtocol) })
		}
	}
}

func newProtocol() *protocol { return &protocol{provider: "default", structured: wire.StructuredAuto} }

func benchmarkEncode(b *testing.B, call loop.Call, protocol func() *protocol) {
	b.ReportAllocs()
	for b.Loop() {
		req, err := protocol().Encode(call, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(req.Body.Size())
	}
}

// BenchmarkAnswer is what reading a streamed answer costs.
func BenchmarkAnswer(b *testing.B) {
	var stream strings.Builder
	send := func(kind, fields string) {
		fmt.Fprintf(&stream, "event: %s\ndata: {\"type\":%q,\"output_index\":0,\"item_id\":\"fc_1\",%s}\n\n", kind, kind, fields)
	}
	send("response.output_item.added", `"item":{"id":"fc_1","type":"function_call","call_id":"a","name":"write","arguments":""}`)
	for range 1000 {
		send("response.function_call_arguments.delta", `"delta":"a word of it "`)
	}
	send("response.completed", `"response":{"status":"completed","model":"m","output":[]}`)
	text := stream.String()
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	p := newProtocol()
	for b.Loop() {
		a := p.Begin(loop.Call{}, wire.Request{}, func(loop.Delta) {})
		for ev, err := range p.Events(io.LimitReader(strings.NewReader(text), int64(len(text)))) {
			if err != nil || a.Add(ev) != nil {
				b.Fatal(err)
			}
		}
		if !a.Complete() {
			b.Fatal("not complete")
		}
	}
}

// historyOf is a call after so many turns of one read each.
func historyOf(turns int, reasons bool) loop.Call {
	call := loop.Call{
		Model:    "m",
		System:   strings.Repeat("You explore a repository. ", 160),
		Messages: []plan.Message{plan.UserText("Go.")},
		Tools: []loop.Spec{{
			Name:        "read",
			Description: strings.Repeat("Reads a file. ", 40),
			Schema:      json.RawMessage(`{"type":"object"}`),
		}},
	}
	for i := range turns {
		id, text := fmt.Sprint("call_", i), strings.Repeat("a line of a file\n", 12)
		said := plan.Message{Role: plan.RoleAssistant}
		read := plan.Block{Type: plan.BlockToolCall, Call: id, Name: "read", Args: `{"path":"f.txt"}`}
		if reasons {
			said.Blocks = append(said.Blocks, plan.Block{
				Type: plan.BlockReasoning,
				Opaque: wire.Seal(Name, "default", map[string]json.RawMessage{
					fieldID:        json.RawMessage(fmt.Sprintf(`"rs_%d"`, i)),
					fieldEncrypted: json.RawMessage(`"` + strings.Repeat("gAAAAABk", 100) + `"`),
					fieldSummary:   json.RawMessage("[]"),
				}),
			})
			read.Opaque = wire.Seal(Name, "default", map[string]json.RawMessage{fieldID: json.RawMessage(fmt.Sprintf(`"fc_%d"`, i))})
		}
		said.Blocks = append(said.Blocks, read)
		result := plan.Block{Type: plan.BlockToolResult, Call: id, Name: "read", Text: text}
		call.Messages = append(call.Messages, said, plan.Message{Role: plan.RoleTool, Blocks: []plan.Block{result}})
	}
	return call
}
