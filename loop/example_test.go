package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/chat"
	"github.com/plan-engine/plan/model/scripted"
	"github.com/plan-engine/plan/model/wire"
)

// clock is a tool that tells the time, always the same.
type clock struct{}

func (clock) Info() loop.Info {
	return loop.Info{
		Spec: loop.Spec{
			Name: "clock", Description: "Tells the time in a city.",
			Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`),
		},
		Effect: plan.EffectReplay,
	}
}

func (clock) Run(_ context.Context, in loop.Input) (loop.Result, error) {
	var args struct{ City string }
	if err := json.Unmarshal(in.Args, &args); err != nil {
		return loop.Failed(err.Error()), nil
	}
	return loop.Result{Output: "It is ten past nine in " + args.City + "."}, nil
}

// exampleModel is a model that plays a part over the real protocol.
func exampleModel(scenario string) (model loop.Model, stop func()) {
	s, err := scripted.Parse([]byte(scenario))
	if err != nil {
		log.Fatal(err)
	}
	server, err := scripted.Start(context.Background(), s, scripted.Config{})
	if err != nil {
		log.Fatal(err)
	}
	client, err := chat.New(chat.Config{Config: wire.Config{
		BaseURL: server.URL(),
		Key:     func(context.Context) (string, error) { return server.Key(), nil },
	}})
	if err != nil {
		log.Fatal(err)
	}
	return client, func() {
		client.Close()
		_ = server.Close()
	}
}

const asksTheClock = `
[[reply]]
turn = 0
  [[reply.call]]
  name = "clock"
  args = { city = "Ghent" }
[[reply]]
turn = 1
text = "Ten past nine."
`

// A loop with one tool. Emit is where its events go: a program that wants to
// resume keeps them.
func Example() {
	model, stop := exampleModel(asksTheClock)
	defer stop()
	l, err := loop.New(loop.Config{
		Model: model, Name: "scripted", System: "Be brief.",
		Tools: []loop.Tool{clock{}},
		Emit: func(_ context.Context, events ...plan.Event) error {
			for _, ev := range events {
				if end, ok := ev.Body.(plan.ToolEnd); ok {
					fmt.Println(end.Name, "said:", end.Output)
				}
			}
			return nil
		},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	end, err := l.Run(context.Background(), plan.UserText("What time is it in Ghent?"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(end.Reason, "-", end.Text)
	// Output:
	// clock said: It is ten past nine in Ghent.
	// completed - Ten past nine.
}

// Steering reaches a conversation between two turns.
func Example_steering() {
	model, stop := exampleModel(`
[[reply]]
user = 1
  [[reply.call]]
  name = "clock"
  args = { city = "Ghent" }
[[reply]]
user = 2
text = "Good morning."
`)
	defer stop()
	var queue loop.Queue
	l, err := loop.New(loop.Config{
		Model: model, Name: "scripted", Tools: []loop.Tool{clock{}}, Mail: &queue,
		Emit: func(_ context.Context, events ...plan.Event) error {
			for _, ev := range events {
				switch b := ev.Body.(type) {
				case plan.ToolStart:
					queue.Put(loop.Steer, "Just say good morning.")
				case plan.Steering:
					fmt.Println("steered:", b.Text)
				}
			}
			return nil
		},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	end, err := l.Run(context.Background(), plan.UserText("What time is it in Ghent?"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(end.Text)
	// Output:
	// steered: Just say good morning.
	// Good morning.
}

// A call that needs a person's yes suspends the loop. The decision may come
// much later, to another process that has nothing but the events.
func Example_confirmation() {
	model, stop := exampleModel(asksTheClock)
	defer stop()
	var journal []plan.Event
	cfg := loop.Config{
		Model: model, Name: "scripted", Tools: []loop.Tool{clock{}},
		Hooks: loop.Hooks{BeforeTool: func(context.Context, loop.ToolCall) loop.Decision {
			return loop.Decision{Verb: loop.Confirm, Reason: "a person has to look at the clock"}
		}},
		Emit: func(_ context.Context, events ...plan.Event) error {
			for _, ev := range events {
				if !ev.Live() {
					journal = append(journal, ev)
				}
			}
			return nil
		},
	}
	l, err := loop.New(cfg, nil)
	if err != nil {
		log.Fatal(err)
	}
	end, err := l.Run(context.Background(), plan.UserText("What time is it in Ghent?"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: may %s run? %s\n", end.Reason, end.Waiting[0].Name, end.Waiting[0].Why)

	var queue loop.Queue // after a restart
	queue.Rule(loop.Approve, end.Waiting[0], "")
	cfg.Mail = &queue
	if l, err = loop.New(cfg, journal); err != nil {
		log.Fatal(err)
	}
	if end, err = l.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(end.Reason, "-", end.Text)
	// Output:
	// waiting: may clock run? a person has to look at the clock
	// completed - Ten past nine.
}

// A scheduler can own the loop and run one turn at a time.
func ExampleLoop_RunTurn() {
	model, stop := exampleModel(asksTheClock)
	defer stop()
	l, err := loop.New(loop.Config{
		Model: model, Name: "scripted", Tools: []loop.Tool{clock{}},
		Emit: func(context.Context, ...plan.Event) error { return nil },
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	end, err := l.RunTurn(context.Background(), plan.UserText("What time is it in Ghent?"))
	for err == nil && end.Reason == loop.More {
		fmt.Println("another turn")
		end, err = l.RunTurn(context.Background())
	}
	fmt.Println(end.Text, err)
	// Output:
	// another turn
	// another turn
	// Ten past nine. <nil>
}

// A tool that is run elsewhere: the loop hands its calls over and takes their
// results back, perhaps in another process.
func ExampleLoop_Submit() {
	model, stop := exampleModel(asksTheClock)
	defer stop()
	var journal []plan.Event
	cfg := loop.Config{
		Model: model, Name: "scripted", Tools: []loop.Tool{sundial{}}, Run: "R1", Conv: "c1",
		Emit: func(_ context.Context, events ...plan.Event) error {
			for _, ev := range events {
				if !ev.Live() {
					journal = append(journal, ev)
				}
			}
			return nil
		},
	}
	l, err := loop.New(cfg, nil)
	if err != nil {
		log.Fatal(err)
	}
	end, err := l.Run(context.Background(), plan.UserText("What time is it in Ghent?"))
	if err != nil {
		log.Fatal(err)
	}
	kept, err := json.Marshal(end.Continuation)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(end.Reason)

	var c loop.Continuation // later
	if err := json.Unmarshal(kept, &c); err != nil {
		log.Fatal(err)
	}
	fmt.Println("to be run:", c.Calls[0].Name, string(c.Calls[0].Args))
	if l, err = loop.New(cfg, journal); err != nil {
		log.Fatal(err)
	}
	end, err = l.Submit(context.Background(), c, loop.Submission{Call: c.Calls[0].Call, Result: loop.Result{Output: "ten past nine"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(end.Reason, "-", end.Text)
	// Output:
	// external
	// to be run: clock {"city":"Ghent"}
	// completed - Ten past nine.
}

// sundial is a clock that another one reads.
type sundial struct{ clock }

func (s sundial) Info() loop.Info {
	info := s.clock.Info()
	info.External = true
	return info
}

// A sub-agent has tools and a conversation of its own; its last words are the
// result of the call.
func ExampleSubAgent() {
	model, stop := exampleModel(`
[[reply]]
about = "Ask the clock"
turn = 0
  [[reply.call]]
  name = "clock"
  args = { city = "Ghent" }
[[reply]]
about = "Ask the clock"
turn = 1
text = "Ten past nine."
[[reply]]
turn = 0
  [[reply.call]]
  name = "task"
  args = { task = "Ask the clock in Ghent." }
[[reply]]
turn = 1
text = "The helper says: ten past nine."
`)
	defer stop()
	l, err := loop.New(loop.Config{
		Model: model, Name: "scripted", Conv: "c1",
		Tools: []loop.Tool{loop.SubAgent(loop.Delegate{Tools: []loop.Tool{clock{}}})},
		Emit: func(_ context.Context, events ...plan.Event) error {
			for _, ev := range events {
				if end, ok := ev.Body.(plan.ToolEnd); ok {
					fmt.Println(ev.Conv, end.Name, "said:", end.Output)
				}
			}
			return nil
		},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	end, err := l.Run(context.Background(), plan.UserText("What time is it in Ghent?"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(end.Text)
	// Output:
	// c1.0.0 clock said: It is ten past nine in Ghent.
	// c1 task said: Ten past nine.
	// The helper says: ten past nine.
}

// A conversation goes on from a history that was kept elsewhere: the model has
// not answered its last message yet.
func ExampleLoop_Continue() {
	model, stop := exampleModel(asksTheClock)
	defer stop()
	l, err := loop.New(loop.Config{
		Model: model, Name: "scripted", Tools: []loop.Tool{clock{}},
		Emit: func(context.Context, ...plan.Event) error { return nil },
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	history := plan.UserText("What time is it in Ghent?")
	end, err := l.Continue(context.Background(), loop.Branch, history)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(end.Reason, "-", end.Text)
	// Output: completed - Ten past nine.
}

// A program that decides about calls itself takes the continuation back with a
// ruling. A yes is for this call alone.
func ExampleLoop_Resume() {
	model, stop := exampleModel(asksTheClock)
	defer stop()
	l, err := loop.New(loop.Config{
		Model: model, Name: "scripted", Tools: []loop.Tool{clock{}},
		Hooks: loop.Hooks{BeforeTool: func(context.Context, loop.ToolCall) loop.Decision {
			return loop.Decision{Verb: loop.Confirm, Reason: "the clock is fragile"}
		}},
		Emit: func(context.Context, ...plan.Event) error { return nil },
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	end, err := l.Run(context.Background(), plan.UserText("What time is it in Ghent?"))
	if err != nil {
		log.Fatal(err)
	}
	for end.Reason == loop.Waiting {
		call := end.Waiting[0]
		fmt.Printf("%s %s: %s\n", call.Name, call.Args, call.Why)
		end, err = l.Resume(context.Background(), *end.Continuation, loop.Ruled{
			Call:   call.Call,
			Ruling: loop.Ruling{Approved: true},
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(end.Text)
	// Output:
	// clock {"city":"Ghent"}: the clock is fragile
	// Ten past nine.
}

// Of two hooks at one moment the stricter decision counts.
func ExampleJoin() {
	model, stop := exampleModel(asksTheClock)
	defer stop()
	lets := loop.Hooks{BeforeTool: func(context.Context, loop.ToolCall) loop.Decision {
		return loop.Decision{Verb: loop.Pass}
	}}
	blocks := loop.Hooks{BeforeTool: func(context.Context, loop.ToolCall) loop.Decision {
		return loop.Decision{Verb: loop.Block, Reason: "no clocks today"}
	}}
	l, err := loop.New(loop.Config{
		Model: model, Name: "scripted", Tools: []loop.Tool{clock{}},
		Hooks: loop.Join(lets, blocks),
		Emit: func(_ context.Context, events ...plan.Event) error {
			for _, ev := range events {
				if end, ok := ev.Body.(plan.ToolEnd); ok {
					fmt.Println(end.Status, "-", end.Output)
				}
			}
			return nil
		},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := l.Run(context.Background(), plan.UserText("What time is it in Ghent?")); err != nil {
		log.Fatal(err)
	}
	// Output: refused - Blocked: no clocks today
}
