package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/sampling"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/chat"
	"github.com/plan-engine/plan/model/scripted"
	"github.com/plan-engine/plan/model/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// journal keeps what a loop emits, as a real one would: commits of durable
// events, and live events beside them.
type journal struct {
	mu      sync.Mutex
	commits [][]plan.Event
	live    []plan.Event
	seq     int64
	fail    int // fail this commit, counted from 1
	onLive  func(plan.Event)
	onEvent func(plan.Event)
}

func (j *journal) emit(_ context.Context, events ...plan.Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if events[0].Live() {
		j.live = append(j.live, events...)
		if j.onLive != nil {
			j.onLive(events[0])
		}
		return nil
	}
	if j.fail > 0 && len(j.commits)+1 == j.fail {
		return fmt.Errorf("disk full")
	}
	kept := make([]plan.Event, len(events))
	for i, ev := range events {
		j.seq++
		ev.Seq, ev.Attempt = j.seq, 1
		kept[i] = ev
		if j.onEvent != nil {
			j.onEvent(ev)
		}
	}
	j.commits = append(j.commits, kept)
	return nil
}

// sampledCuts is after how many of its commits a long conversation is gone on with
// where samples are played.
const sampledCuts = 8

// cuts are the commits after which a conversation is gone on with: the first, the
// last, and a sample of those between.
func cuts(t *testing.T, commits [][]plan.Event) []int {
	t.Helper()
	var between []int
	for at := 1; at < len(commits)-1; at++ {
		between = append(between, at)
	}
	return slices.Concat([]int{0}, sampling.Pick(sampling.New(t), sampledCuts, between), []int{len(commits) - 1})
}

func (j *journal) events() []plan.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []plan.Event
	for _, c := range j.commits {
		out = append(out, c...)
	}
	return out
}

// fake is a tool made of a function.
type fake struct {
	info loop.Info
	run  func(ctx context.Context, in loop.Input) (loop.Result, error)
}

func (f fake) Info() loop.Info { return f.info }
func (f fake) Run(ctx context.Context, in loop.Input) (loop.Result, error) {
	return f.run(ctx, in)
}

// tool makes a tool that takes {"n": integer} and answers with run's text.
func tool(name, effect string, serial bool, run func(ctx context.Context, n int) string) loop.Tool {
	return fake{
		info: loop.Info{
			Spec: loop.Spec{
				Name: name, Description: name,
				Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`),
			},
			Effect: effect, Serial: serial, Writes: serial,
		},
		run: func(ctx context.Context, in loop.Input) (loop.Result, error) {
			var args struct{ N int }
			if err := json.Unmarshal(in.Args, &args); err != nil {
				return loop.Result{}, err
			}
			return loop.Result{Output: run(ctx, args.N)}, nil
		},
	}
}

// look is a replay-safe tool that answers with its argument.
func look() loop.Tool {
	return tool("look", plan.EffectReplay, false, func(_ context.Context, n int) string { return fmt.Sprintf("saw %d", n) })
}

// bench is a loop under test with the scripted model behind the real client.
type bench struct {
	t      *testing.T
	server *scripted.Server
	j      *journal
	cfg    loop.Config
	slept  []time.Duration
}

func setup(t *testing.T, scenario string, tools ...loop.Tool) *bench {
	t.Helper()
	s, err := scripted.Parse([]byte(scenario))
	if err != nil {
		t.Fatal(err)
	}
	server, err := scripted.Start(context.Background(), s, scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := chat.New(chat.Config{Config: wire.Config{
		BaseURL: server.URL(),
		Key:     func(context.Context) (string, error) { return server.Key(), nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bench{t: t, server: server, j: &journal{}}
	b.cfg = loop.Config{
		Model: client, Name: scripted.Model, System: "Be brief.", Tools: tools,
		Conv: "c1", Attempt: 1, Emit: b.j.emit, Rand: func() float64 { return 0.5 },
		Sleep: func(ctx context.Context, d time.Duration) error {
			b.slept = append(b.slept, d)
			return ctx.Err()
		},
	}
	return b
}

func (b *bench) loop(past ...plan.Event) *loop.Loop {
	b.t.Helper()
	l, err := loop.New(b.cfg, past)
	if err != nil {
		b.t.Fatal(err)
	}
	return l
}

// run runs a new conversation to its end.
func (b *bench) run(prompt string) loop.End {
	b.t.Helper()
	end, err := b.loop().Run(context.Background(), plan.UserText(prompt))
	if err != nil {
		b.t.Fatal(err)
	}
	return end
}

// results are the outputs of the tool_end events, in the order of the journal.
func (b *bench) results() []plan.ToolEnd {
	var out []plan.ToolEnd
	for _, ev := range b.j.events() {
		if end, ok := ev.Body.(plan.ToolEnd); ok {
			out = append(out, end)
		}
	}
	return out
}

// balanced fails the test unless everything that was started ended exactly
// once, and in between.
func balanced(t *testing.T, events []plan.Event) {
	t.Helper()
	open, used := map[string]bool{}, map[string]plan.Usage{}
	begin := func(key string) {
		if open[key] {
			t.Errorf("%s starts twice", key)
		}
		open[key] = true
	}
	end := func(key string) {
		if !open[key] {
			t.Errorf("%s ends without a start", key)
		}
		delete(open, key)
	}
	for _, ev := range events {
		_, told := used[ev.Conv] // else an earlier version wrote it
		if told && ev.Type() != plan.TypeConvStart && ev.Type() != plan.TypeHook && !open[ev.Conv] {
			t.Errorf("%s is recorded outside of %s", ev.Type(), ev.Conv)
		}
		switch b := ev.Body.(type) {
		case plan.ConvStart:
			begin(ev.Conv)
			used[ev.Conv] = plan.Usage{}
		case plan.ConvEnd:
			end(ev.Conv)
			if b.Usage != used[ev.Conv] {
				t.Errorf("%s ends with %+v, and used %+v", ev.Conv, b.Usage, used[ev.Conv])
			}
		case plan.UsageReport:
			used[ev.Conv] = used[ev.Conv].Add(b.Usage)
		case plan.TurnStart:
			begin(ev.Conv + " turn")
		case plan.TurnEnd:
			end(ev.Conv + " turn")
		case plan.MessageStart:
			begin(ev.Conv + " message " + string(b.Role))
		case plan.MessageEnd:
			end(ev.Conv + " message " + string(b.Role))
		case plan.ToolStart:
			begin(ev.Conv + " tool " + b.Call)
		case plan.ToolEnd:
			end(ev.Conv + " tool " + b.Call)
			if !open[ev.Conv+" turn"] {
				t.Errorf("tool %s ends outside of a turn", b.Call)
			}
		}
	}
	for key := range open {
		t.Errorf("%s never ends", key)
	}
}
