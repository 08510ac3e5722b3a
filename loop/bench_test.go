package loop_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/chat"
	"github.com/plan-engine/plan/model/scripted"
	"github.com/plan-engine/plan/model/wire"
)

// BenchmarkTurn measures a turn with a tool that does nothing, beside the same
// request made by the client alone on the same server.
func BenchmarkTurn(b *testing.B) {
	scenario, err := scripted.Parse([]byte(repeating))
	if err != nil {
		b.Fatal(err)
	}
	server, err := scripted.Start(context.Background(), scenario, scripted.Config{})
	if err != nil {
		b.Fatal(err)
	}
	client, err := chat.New(chat.Config{Config: wire.Config{BaseURL: server.URL(), Key: func(context.Context) (string, error) { return server.Key(), nil }}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		client.Close()
		_ = server.Close()
	})
	n := 0
	nothing := tool("look", plan.EffectReplay, false, func(context.Context, int) string {
		n++
		return fmt.Sprint(n)
	})
	const turns = 20 // of one conversation, so that histories are alike
	b.Run("loop", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			l, err := loop.New(loop.Config{
				Model: client, Name: scripted.Model, Tools: []loop.Tool{nothing}, Limits: plan.Limits{Turns: turns}, Attempt: 1,
				Emit: func(context.Context, ...plan.Event) error { return nil },
			}, nil)
			if err != nil {
				b.Fatal(err)
			}
			if end, err := l.Run(context.Background(), plan.UserText("Go.")); err != nil || end.Reason != loop.Limited {
				b.Fatal(end, err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*turns), "µs/turn")
	})
	b.Run("client", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			call := loop.Call{Model: scripted.Model, Tools: []loop.Spec{nothing.Info().Spec}, Messages: []plan.Message{plan.UserText("Go.")}}
			for i := range turns {
				ans, err := client.Generate(context.Background(), call, func(loop.Delta) {})
				if err != nil {
					b.Fatal(err)
				}
				c := ans.Message.Calls()[0]
				call.Messages = append(call.Messages, ans.Message, plan.Message{
					Role: plan.RoleTool, Blocks: []plan.Block{{Type: plan.BlockToolResult, Call: c.Call, Name: c.Name, Text: fmt.Sprint(i)}},
				})
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*turns), "µs/turn")
	})
}
