package loop_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

const oneTool = `
[[reply]]
turn = 0
text = "Looking."
  [[reply.call]]
  name = "look"
  args = { n = 1 }
[[reply]]
turn = 1
text = "Done."
`

func TestATurnWithAToolCostsTwoCommits(t *testing.T) {
	t.Parallel()
	b := setup(t, oneTool, look())
	if end := b.run("Go."); end.Text != "Done." {
		t.Errorf("the loop ended with %q", end.Text)
	}
	want := [][]plan.EventType{
		{"conv_start", "message_start", "message_end", "turn_start", "request", "message_start"},
		{"message_end", "usage", "tool_start"},
		{"tool_end", "turn_end", "turn_start", "request", "message_start"},
		{"message_end", "usage", "turn_end", "conv_end"},
	}
	var got [][]plan.EventType
	for _, c := range b.j.commits {
		var types []plan.EventType
		for _, ev := range c {
			types = append(types, ev.Type())
		}
		got = append(got, types)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	balanced(t, b.j.events())
	if len(b.j.live) == 0 {
		t.Error("nothing was shown while the answer arrived")
	}
}

func TestEachRequestExtendsTheOneBefore(t *testing.T) {
	t.Parallel()
	b := setup(t, oneTool, look())
	b.run("Go.")
	last := ""
	for _, ev := range b.j.events() {
		req, ok := ev.Body.(plan.Request)
		if !ok {
			continue
		}
		if req.Moved != "" || (last != "" && req.Prefix != last) {
			t.Errorf("request %+v does not extend %s", req, last)
		}
		last = req.Hash
	}
	b.cfg.System = "Be long."
	before := b.j.events()
	if _, err := b.loop(before...).Run(context.Background(), plan.UserText("More.")); err != nil {
		t.Fatal(err)
	}
	for _, ev := range b.j.events()[len(before):] {
		if req, ok := ev.Body.(plan.Request); ok {
			if !strings.Contains(req.Moved, "system prompt") {
				t.Errorf("a changed system prompt is reported as %q", req.Moved)
			}
			return
		}
	}
	t.Error("no request was recorded")
}

func TestParallelResultsKeepCallOrder(t *testing.T) {
	t.Parallel()
	first := make(chan struct{})
	slow := tool("look", plan.EffectReplay, false, func(_ context.Context, n int) string {
		if n == 1 {
			<-first // until the second call's end is recorded
		}
		return fmt.Sprint("saw ", n)
	})
	b := setup(t, `
[[reply]]
turn = 0
  [[reply.call]]
  name = "look"
  args = { n = 1 }
  [[reply.call]]
  name = "look"
  args = { n = 2 }
[[reply]]
turn = 1
text = "Done."
`, slow)
	b.j.onEvent = func(ev plan.Event) {
		if end, ok := ev.Body.(plan.ToolEnd); ok && end.Output == "saw 2" {
			close(first)
		}
	}
	l := b.loop()
	if _, err := l.Run(context.Background(), plan.UserText("Go.")); err != nil {
		t.Fatal(err)
	}
	var ended []string
	for _, r := range b.results() {
		ended = append(ended, r.Output)
	}
	if diff := cmp.Diff([]string{"saw 2", "saw 1"}, ended); diff != "" {
		t.Error("end events are not in the order of completion:", diff)
	}
	var told []string
	for _, m := range l.Messages() {
		for _, block := range m.Blocks {
			if block.Type == plan.BlockToolResult {
				told = append(told, block.Text)
			}
		}
	}
	if diff := cmp.Diff([]string{"saw 1", "saw 2"}, told); diff != "" {
		t.Error("results are not in call order:", diff)
	}
	balanced(t, b.j.events())
}

func TestAStalledSiblingLosesNothing(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	stall := tool("look", plan.EffectReplay, false, func(_ context.Context, n int) string {
		if n == 1 {
			<-release
		}
		return fmt.Sprint("saw ", n)
	})
	b := setup(t, `
[[reply]]
turn = 0
  [[reply.call]]
  name = "look"
  args = { n = 1 }
  [[reply.call]]
  name = "look"
  args = { n = 2 }
[[reply]]
turn = 1
text = "Done."
`, stall)
	// The stalled call is let go only once the other's result is recorded: if
	// results waited for each other, this test would never end.
	b.j.onEvent = func(ev plan.Event) {
		if end, ok := ev.Body.(plan.ToolEnd); ok && end.Output == "saw 2" {
			close(release)
		}
	}
	b.run("Go.")
}

func TestSerialBatchesRunOneByOne(t *testing.T) {
	t.Parallel()
	var running, most atomic.Int32
	write := tool("write", plan.EffectVerifiable, true, func(context.Context, int) string {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		return "ok"
	})
	b := setup(t, `
[[reply]]
turn = 0
  [[reply.call]]
  name = "look"
  args = { n = 1 }
  [[reply.call]]
  name = "write"
  args = { n = 2 }
  [[reply.call]]
  name = "write"
  args = { n = 3 }
[[reply]]
turn = 1
text = "Done."
`, look(), write)
	b.run("Go.")
	if most.Load() != 1 {
		t.Errorf("%d writes ran at once", most.Load())
	}
	// The intent of a later call is recorded only once the earlier one is done.
	var order []string
	for _, ev := range b.j.events() {
		switch body := ev.Body.(type) {
		case plan.ToolStart:
			order = append(order, "start "+string(body.Args))
		case plan.ToolEnd:
			order = append(order, "end")
		}
	}
	want := []string{`start {"n":1}`, "end", `start {"n":2}`, "end", `start {"n":3}`, "end"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
}

func TestWhatAModelIsToldAboutBadCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, call string
		want       []string
		status     string
	}{
		{"not offered", `name = "write"` + "\nargs = { n = 1 }", []string{"write is for later"}, "refused"},
		{"unknown", `name = "lok"` + "\nargs = { n = 1 }", []string{`no tool named "lok"`, "look"}, "refused"},
		{"wrong type", `name = "look"` + "\nargs = { n = \"one\" }", []string{"n: expected integer", `string "one"`}, "invalid"},
		{"missing", `name = "look"` + "\nargs = { }", []string{`missing "n"`}, "invalid"},
		{"extra", `name = "look"` + "\nargs = { n = 1, m = 2 }", []string{`unknown field "m"`}, "invalid"},
		{"no JSON", `name = "look"` + "\nraw = '{\"n\" 1}'", []string{"not valid JSON"}, "invalid"},
		{"broken off", `name = "write"` + "\nraw = '{\"n\": 1'", []string{"broke off"}, "invalid"},
		{"no object", `name = "look"` + "\nraw = '[1]'", []string{"expected object", "array [1]"}, "invalid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, "[[reply]]\nturn = 0\n[[reply.call]]\n"+c.call+"\n[[reply]]\nturn = 1\ntext = \"Done.\"\n", look())
			if c.name == "broken off" {
				b.cfg.Tools = append(b.cfg.Tools, tool("write", plan.EffectVerifiable, true, func(context.Context, int) string { return "" }))
			}
			b.cfg.Refuse = func(name string) string {
				if name == "write" {
					return "write is for later"
				}
				return ""
			}
			b.run("Go.")
			got := b.results()[0]
			if !got.Error || got.Status != c.status {
				t.Errorf("error %v, status %q", got.Error, got.Status)
			}
			for _, want := range c.want {
				if !strings.Contains(got.Output, want) {
					t.Errorf("the model reads %q, which does not say %q", got.Output, want)
				}
			}
			balanced(t, b.j.events())
		})
	}
}

func TestAPanicIsAResult(t *testing.T) {
	t.Parallel()
	b := setup(t, oneTool, tool("look", plan.EffectReplay, false, func(context.Context, int) string { panic("boom") }))
	if end := b.run("Go."); end.Text != "Done." {
		t.Errorf("the loop ended with %q", end.Text)
	}
	if got := b.results()[0]; !got.Error || !strings.Contains(got.Output, "boom") {
		t.Errorf("the model reads %+v", got)
	}
}

func TestAToolErrorStopsTheRun(t *testing.T) {
	t.Parallel()
	broken := look().(fake)
	broken.run = func(context.Context, loop.Input) (loop.Result, error) {
		return loop.Result{}, errors.New("the disk is gone")
	}
	b := setup(t, oneTool, broken)
	_, err := b.loop().Run(context.Background(), plan.UserText("Go."))
	if err == nil || !strings.Contains(err.Error(), "the disk is gone") {
		t.Errorf("got %v", err)
	}
}

func TestSecretsAreReplacedBeforeAnybodySeesThem(t *testing.T) {
	t.Parallel()
	leak := look().(fake)
	leak.run = func(context.Context, loop.Input) (loop.Result, error) {
		full := []byte("all of hunter2hunter2")
		return loop.Result{Output: "key hunter2hunter2, more in blob:" + plan.NewBlob(full).Hash, Full: full}, nil
	}
	b := setup(t, oneTool, leak)
	b.cfg.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2hunter2", "[secret]") }
	b.run("Go.")
	for _, ev := range b.j.events() {
		line, err := ev.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(line), "hunter2") {
			t.Errorf("the journal has %s", line)
		}
		for _, blob := range ev.Blobs {
			if strings.Contains(string(blob.Data), "hunter2") {
				t.Errorf("a blob has %s", blob.Data)
			}
			if end := ev.Body.(plan.ToolEnd); end.Blob != blob.Hash || !strings.Contains(end.Output, blob.Hash) {
				t.Errorf("the result does not lead to its blob: %+v", end)
			}
		}
	}
}

// What a model must not read, but may write, is kept from it whichever way a tool says it.
func TestWhatToolsSayIsRedactedForReaders(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(in loop.Input) (loop.Result, error){
		"a result": func(loop.Input) (loop.Result, error) { return loop.Result{Output: "hunter2"}, nil },
		"the whole of one": func(loop.Input) (loop.Result, error) {
			return loop.Result{Output: "see", Full: []byte("hunter2")}, nil
		},
		"an update": func(in loop.Input) (loop.Result, error) {
			in.Update("hunter2")
			return loop.Result{Output: "see"}, nil
		},
		"a crash": func(loop.Input) (loop.Result, error) { panic("hunter2") },
		"an error": func(loop.Input) (loop.Result, error) {
			return loop.Result{}, errors.New("hunter2")
		},
	} {
		leak := look().(fake)
		leak.run = func(_ context.Context, in loop.Input) (loop.Result, error) { return run(in) }
		b := setup(t, oneTool, leak)
		b.cfg.RedactRead = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }
		if _, err := b.loop().Run(t.Context(), plan.UserText("Go.")); err != nil && name != "an error" {
			t.Fatal(err)
		}
		for _, ev := range append(b.j.events(), b.j.live...) {
			line, err := ev.AppendJSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, blob := range ev.Blobs {
				line = append(line, blob.Data...)
			}
			if strings.Contains(string(line), "hunter2") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	endless := `
[[reply]]
  [reply.usage]
  input = 100
  output = 10
  [[reply.call]]
  name = "look"
  args = { n = 1 }
`
	price := func(_ string, u plan.Usage) (float64, bool) { return float64(u.Requests) / 10, true }
	for _, c := range []struct {
		limits plan.Limits
		kind   string
		turns  int
	}{
		{plan.Limits{Turns: 3}, "turns", 3},
		{plan.Limits{Tokens: 250}, "tokens", 3},
		{plan.Limits{CostUSD: 0.2}, "cost", 2},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			var seen atomic.Int32 // each look shows something new, or it would be no progress
			b := setup(t, endless, tool("look", plan.EffectReplay, false, func(context.Context, int) string {
				return fmt.Sprint("saw ", seen.Add(1))
			}))
			b.cfg.Limits, b.cfg.Price = c.limits, price
			end := b.run("Go.")
			if end.Limit == nil || end.Limit.Kind != c.kind {
				t.Fatalf("ended with %+v", end)
			}
			if got := len(b.server.Requests()); got != c.turns {
				t.Errorf("%d requests, want %d", got, c.turns)
			}
			balanced(t, b.j.events())

			// A loop that is rebuilt with a higher limit goes on.
			b.cfg.Limits = plan.Limits{Turns: 5}
			b.cfg.Price = nil
			end, err := b.loop(b.j.events()...).Run(context.Background())
			if err != nil || end.Limit == nil || end.Limit.Kind != "turns" || end.Limit.Value != 5 {
				t.Errorf("went on to %+v, %v", end, err)
			}
		})
	}
}

func TestCancelIsQuickAndBalanced(t *testing.T) {
	t.Parallel()
	stubborn := make(chan struct{})
	t.Cleanup(func() { close(stubborn) })
	hang := "[[reply]]\n[reply.fault]\nkind = \"hang\"\n"
	for _, c := range []struct {
		name, scenario string
		tool           loop.Tool
		when           plan.EventType
	}{
		{"while the model is silent", hang, look(), plan.TypeRequest},
		{"while a tool runs", oneTool, tool("look", plan.EffectReplay, false, func(ctx context.Context, _ int) string {
			<-ctx.Done()
			return "stopped"
		}), plan.TypeToolStart},
		{"while a tool does not listen", oneTool, tool("look", plan.EffectUnknown, true, func(context.Context, int) string {
			<-stubborn
			return "never"
		}), plan.TypeToolStart},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, c.scenario, c.tool)
			ctx, cancel := context.WithCancelCause(context.Background())
			why := errors.New("enough")
			var once sync.Once
			var at time.Time
			b.j.onEvent = func(ev plan.Event) {
				if ev.Type() == c.when {
					once.Do(func() { at = time.Now(); cancel(why) })
				}
			}
			_, err := b.loop().Run(ctx, plan.UserText("Go."))
			if took := time.Since(at); took > time.Second { // what is stopped would never end by itself
				t.Errorf("stopping took %s", took)
			}
			if !errors.Is(err, why) {
				t.Errorf("got %v", err)
			}
			balanced(t, b.j.events())
		})
	}
}

func TestAJournalThatFailsStopsBeforeTheEffect(t *testing.T) {
	t.Parallel()
	for fail := 1; fail <= 3; fail++ {
		var ran atomic.Int32
		b := setup(t, oneTool, tool("look", plan.EffectUnknown, true, func(context.Context, int) string {
			ran.Add(1)
			return "ok"
		}))
		b.j.fail = fail
		if _, err := b.loop().Run(context.Background(), plan.UserText("Go.")); err == nil {
			t.Fatalf("commit %d failed and the loop went on", fail)
		}
		if fail == 1 && len(b.server.Requests()) != 0 {
			t.Error("the model was called although the prompt could not be recorded")
		}
		if want := int32(fail / 3); ran.Load() != want {
			t.Errorf("commit %d failed: the tool ran %d times, want %d", fail, ran.Load(), want)
		}
	}
}
