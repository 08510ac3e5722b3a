package wiretest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
)

// Answer is an answer of a server, and what a client must make of it.
type Answer struct {
	Name   string
	Events []string // of a stream
	Raw    string   // or the whole body
	Type   string   // content type; default EventStream
	Blocks []plan.Block
	Stop   loop.StopReason // default StopEnd
	Finish string          // the server's own word
	Usage  plan.Usage      // of one request
	Cost   float64
	Late   bool // what was shown while it came is not all that it came to
}

// Answers tries answers of the model m-1. Stream writes events as the wire does.
func Answers(t *testing.T, stream func(events ...string) string, open func(*Server) *wire.Client, tests []Answer) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.Name, func(t *testing.T) {
			t.Parallel()
			raw, contentType := tt.Raw, tt.Type
			if raw == "" {
				raw = stream(tt.Events...)
			}
			if contentType == "" {
				contentType = EventStream
			}
			var streamed Shown
			client := open(Serve(t, Text(contentType, raw)))
			got, err := client.Generate(t.Context(), Call("m", "hi"), streamed.Add)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want(), got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if !tt.Late {
				streamed.Check(t, got.Message)
			}
		})
	}
}

// want is the answer that the client must return.
func (a Answer) want() loop.Answer {
	want := loop.Answer{
		Message: plan.Message{Role: plan.RoleAssistant, Blocks: a.Blocks},
		Stop:    a.Stop,
		Usage:   a.Usage,
		Model:   "m-1",
		Finish:  a.Finish,
	}
	if want.Stop == "" {
		want.Stop = loop.StopEnd
	}
	if a.Cost != 0 {
		want.CostUSD = &a.Cost
	}
	want.Usage.Requests = 1
	return want
}

// Shown is what was shown of an answer while it came.
type Shown struct {
	text, reasoning string
	calls           map[string]string
}

// Add takes the next piece.
func (s *Shown) Add(d loop.Delta) {
	switch d.Kind {
	case plan.BlockText:
		s.text += d.Text
	case plan.BlockReasoning:
		s.reasoning += d.Text
	case plan.BlockToolCall:
		if s.calls == nil {
			s.calls = map[string]string{}
		}
		s.calls[d.Call+" "+d.Name] += d.Text
	}
}

// Check compares what was shown with the whole message.
func (s *Shown) Check(t testing.TB, m plan.Message) {
	t.Helper()
	var want Shown
	for _, b := range m.Blocks {
		d := loop.Delta{Kind: b.Type, Text: b.Text}
		if b.Type == plan.BlockToolCall {
			d.Text, d.Call, d.Name = b.Args, b.Call, b.Name
		}
		want.Add(d)
	}
	if diff := cmp.Diff(want, *s, cmp.AllowUnexported(Shown{})); diff != "" {
		t.Errorf("what was shown (-want +got):\n%s", diff)
	}
}

// TextBlock is a block of text.
func TextBlock(text string) plan.Block { return plan.Block{Type: plan.BlockText, Text: text} }

// CallBlock is a call of a tool.
func CallBlock(id, name, args string) plan.Block {
	return plan.Block{
		Type: plan.BlockToolCall,
		Call: id,
		Name: name,
		Args: args,
	}
}

// History is a conversation of many turns, to measure with.
func History(turns int) loop.Call {
	call := Call("m", "Go.")
	call.System = strings.Repeat("You explore a repository. ", 160)
	call.Tools = []loop.Spec{{
		Name:        "read",
		Description: strings.Repeat("Reads a file. ", 40),
		Schema:      json.RawMessage(`{"type":"object"}`),
	}}
	for i := range turns {
		id := fmt.Sprint("call_", i)
		result := plan.Block{
			Type: plan.BlockToolResult,
			Call: id,
			Name: "read",
			Text: strings.Repeat("a line of a file\n", 12),
		}
		call.Messages = append(
			call.Messages,
			plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{CallBlock(id, "read", `{"path":"f.txt"}`)}},
			plan.Message{Role: plan.RoleTool, Blocks: []plan.Block{result}},
		)
	}
	return call
}

// Encode measures how requests are written, by a protocol of its own each time or
// by the same one.
func Encode(b *testing.B, call loop.Call, mends wire.Mends, protocol func() wire.Protocol) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		req, err := protocol().Encode(call, mends)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(req.Body.Size())
	}
}
