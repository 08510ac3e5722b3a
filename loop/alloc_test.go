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

// turnAllocations is how often a turn of a conversation of twenty allocates, the
// model's server in this process included. It was measured; the test fails
// where it is twice as much.
const turnAllocations = 1600

//nolint:paralleltest // allocations are counted for the whole process
func TestTurnAllocations(t *testing.T) {
	scenario, err := scripted.Parse([]byte(repeating))
	if err != nil {
		t.Fatal(err)
	}
	server, err := scripted.Start(context.Background(), scenario, scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client, err := chat.New(chat.Config{Config: wire.Config{BaseURL: server.URL(), Key: func(context.Context) (string, error) { return server.Key(), nil }}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	n := 0
	nothing := tool("look", plan.EffectReplay, false, func(context.Context, int) string {
		n++
		return fmt.Sprint(n)
	})
	const turns = 20
	got := testing.AllocsPerRun(5, func() {
		l, err := loop.New(loop.Config{
			Model: client, Name: scripted.Model, Tools: []loop.Tool{nothing}, Limits: plan.Limits{Turns: turns}, Attempt: 1,
			Emit: func(context.Context, ...plan.Event) error { return nil },
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if end, err := l.Run(context.Background(), plan.UserText("Go.")); err != nil || end.Reason != loop.Limited {
			t.Fatal(end, err)
		}
	}) / turns
	t.Logf("%.0f allocations a turn", got)
	if got > 2*turnAllocations {
		t.Errorf("a turn allocates %.0f times; it was %d", got, turnAllocations)
	}
}
