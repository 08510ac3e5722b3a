package responses

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
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
				wiretest.Encode(b, call, nil, func() wire.Protocol { return p })
			})
			b.Run(name+"-anew", func(b *testing.B) {
				wiretest.Encode(b, call, nil, func() wire.Protocol { return newProtocol() })
			})
		}
	}
}

func newProtocol() *protocol { return &protocol{provider: "default", structured: wire.StructuredAuto} }

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

// historyOf is a call after so many turns of one read each, with or without
// reasoning before it.
func historyOf(turns int, reasons bool) loop.Call {
	call := wiretest.History(turns)
	for i := 0; reasons && i < turns; i++ {
		answer := &call.Messages[1+2*i]
		answer.Blocks[0].Opaque = wire.Seal(Name, "default", map[string]json.RawMessage{
			fieldID: json.RawMessage(fmt.Sprintf(`"fc_%d"`, i)),
		})
		answer.Blocks = slices.Insert(answer.Blocks, 0, plan.Block{
			Type: plan.BlockReasoning,
			Opaque: wire.Seal(Name, "default", map[string]json.RawMessage{
				fieldID:        json.RawMessage(fmt.Sprintf(`"rs_%d"`, i)),
				fieldEncrypted: json.RawMessage(`"` + strings.Repeat("gAAAAABk", 100) + `"`),
				fieldSummary:   json.RawMessage("[]"),
			}),
		})
	}
	return call
}
