package loop_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// stream is a model whose answer is a row of the table: tokens as they come,
// and how they end.
type stream [][2]string

// Generate implements loop.Model. A final text that is empty means that the
// text is what has come until then; an end without any is a cut stream.
func (s stream) Generate(_ context.Context, _ loop.Call, live func(loop.Delta)) (loop.Answer, error) {
	var said strings.Builder
	for _, ev := range s {
		switch text := ev[1]; ev[0] {
		case "token":
			said.WriteString(text)
			live(loop.Delta{Kind: plan.BlockText, Text: text})
		case "error":
			return loop.Answer{}, &loop.ModelError{Kind: loop.ErrRefused, Message: text}
		case "done":
			if text == "" {
				text = said.String()
			}
			m := plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockText, Text: text}}}
			return loop.Answer{Message: m, Stop: loop.StopEnd}, nil
		}
	}
	return loop.Answer{}, &loop.ModelError{Kind: loop.ErrServed, Message: "the stream broke off"}
}

// TestDrainRows: what a conversation hands over is the answer as it stood when
// it was finished. Where the table keeps the tokens of a stream that was cut,
// this project takes the advice in it: that is a failure and no answer.
func TestDrainRows(t *testing.T) {
	t.Parallel()
	f, err := os.Open("../review/testdata/dirge_verdict.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	n := 0
	for in := bufio.NewScanner(f); in.Scan(); {
		var row struct {
			Name, Recommend string
			Input           struct {
				Kind   string
				Events json.RawMessage
			}
			Expected json.RawMessage
		}
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if row.Input.Kind != "drain" {
			continue
		}
		n++
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			var want struct{ OK, Err *string }
			var answer stream
			if json.Unmarshal(row.Expected, &want) != nil || json.Unmarshal(row.Input.Events, &answer) != nil {
				t.Fatalf("%s cannot be read", row.Name)
			}
			b := setup(t, "[[reply]]\ntext = \"never asked\"\n")
			b.cfg.Model = answer
			end, err := b.loop().Run(context.Background(), plan.UserText("Go."))
			balanced(t, b.j.events())
			if row.Recommend != "" || want.OK == nil {
				me, ok := loop.AsModelError(err)
				if !ok || end.Text != "" || want.Err != nil && !strings.Contains(me.Message, *want.Err) {
					t.Errorf("ended with %+v, %v", end, err)
				}
				return
			}
			if err != nil || end.Text != *want.OK {
				t.Errorf("ended with %q, %v; want %q", end.Text, err, *want.OK)
			}
		})
	}
	if n < 2 {
		t.Fatalf("%d rows", n)
	}
}
