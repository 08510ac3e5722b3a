package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

const pruning = `
[[reply]]
user = 2
text = "Done."
[[reply]]
turn = 0
  [[reply.call]]
  name = "look"
  args = { n = 1 }
[[reply]]
turn = 1
  [[reply.call]]
  name = "look"
  args = { n = 2 }
[[reply]]
turn = 2
  [[reply.call]]
  name = "prune"
  args = { tokens = 1, memo = "1 was nothing" }
`

// TestPrune takes the oldest group out and leaves a memo; a process that takes
// over at any commit sends the same bytes.
func TestPrune(t *testing.T) {
	t.Parallel()
	prune := fake{
		info: loop.Info{
			Spec:   loop.Spec{Name: "prune", Schema: json.RawMessage(`{"type":"object","properties":{"tokens":{"type":"integer"},"memo":{"type":"string"}},"required":["tokens"]}`)},
			Effect: plan.EffectReplay, Prunes: true,
		},
		run: func(context.Context, loop.Input) (loop.Result, error) { return loop.Result{Output: "soon"}, nil },
	}
	b := setup(t, pruning, look(), prune)
	l := b.loop()
	if _, err := l.Run(context.Background(), plan.UserText("Go.")); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, m := range l.Messages() {
		for _, block := range m.Blocks {
			switch block.Type {
			case plan.BlockToolCall:
				said = append(said, block.Name+block.Args)
			default:
				words := strings.Split(block.Text, "\n")
				said = append(said, words[len(words)-1])
			}
		}
	}
	want := []string{"Go.", "1 was nothing", `look{"n":2}`, "saw 2", `prune{"memo":"1 was nothing","tokens":1}`, "soon", "Done."}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
	balanced(t, b.j.events())
	for cut := range b.j.commits {
		again := setup(t, pruning, look(), prune)
		again.j.commits = append([][]plan.Event(nil), b.j.commits[:cut+1]...)
		l2 := again.loop(again.j.events()...)
		if _, err := l2.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(l.Messages(), l2.Messages()); diff != "" {
			t.Error(fmt.Sprint("after commit ", cut+1, ":\n", diff))
		}
	}
}
