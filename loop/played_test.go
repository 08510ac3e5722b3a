package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// player is a model made of a function, which is told how many calls came before.
type player struct {
	mu    sync.Mutex
	calls []loop.Call
	play  func(n int, call loop.Call) (loop.Answer, error)
}

// Generate implements loop.Model.
func (p *player) Generate(_ context.Context, call loop.Call, _ func(loop.Delta)) (loop.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, call)
	return p.play(len(p.calls)-1, call)
}

// played is a loop under test with a model made of a function.
func played(t *testing.T, play func(n int, call loop.Call) (loop.Answer, error), tools ...loop.Tool) (*bench, *player) {
	t.Helper()
	p := &player{play: play}
	b := &bench{t: t, j: &journal{}}
	b.cfg = loop.Config{
		Model:   p,
		Name:    "m",
		System:  "Be brief.",
		Tools:   tools,
		Conv:    "c1",
		Attempt: 1,
		Emit:    b.j.emit,
		Rand:    func() float64 { return 0.5 },
		Sleep: func(ctx context.Context, d time.Duration) error {
			b.slept = append(b.slept, d)
			return ctx.Err()
		},
	}
	return b, p
}

// says is an answer in words.
func says(text string) loop.Answer {
	return answered(plan.Block{Type: plan.BlockText, Text: text})
}

// looks is an answer that calls look.
func looks(n int) loop.Answer {
	ans := answered(plan.Block{Type: plan.BlockToolCall, Call: fmt.Sprint("call", n), Name: "look", Args: fmt.Sprintf(`{"n":%d}`, n)})
	ans.Stop = loop.StopTools
	return ans
}

func answered(blocks ...plan.Block) loop.Answer {
	return loop.Answer{
		Message: plan.Message{Role: plan.RoleAssistant, Blocks: blocks},
		Stop:    loop.StopEnd,
		Usage:   plan.Usage{Requests: 1, Output: 10},
	}
}

// thought is a block of reasoning.
func thought(text string) plan.Block { return plan.Block{Type: plan.BlockReasoning, Text: text} }

// sizeOf is about how many tokens a server counts for a call.
func sizeOf(call loop.Call) int64 {
	n := len(call.System)
	for _, m := range call.Messages {
		for _, b := range m.Blocks {
			n += len(b.Text) + len(b.Args)
		}
	}
	return int64(n / 4)
}

// asked is a call as its bytes.
func asked(t *testing.T, call loop.Call) string {
	t.Helper()
	data, err := json.Marshal(call)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// those picks the bodies of one type from a journal.
func those[B plan.Body](events []plan.Event) []B {
	var out []B
	for _, ev := range events {
		if b, ok := ev.Body.(B); ok {
			out = append(out, b)
		}
	}
	return out
}
