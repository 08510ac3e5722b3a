package loop_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// twoWrites are the calls of an answer that is not to count.
const twoWrites = `
  [[reply.call]]
  name = "write"
  args = { n = 1 }
  [[reply.call]]
  name = "write"
  args = { n = 2 }
`

// writes is a tool that counts how often it ran.
func writes() (loop.Tool, *atomic.Int32) {
	ran := new(atomic.Int32)
	return tool("write", plan.EffectUnknown, true, func(context.Context, int) string {
		ran.Add(1)
		return "written"
	}), ran
}

func TestADeclinedAnswerRunsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		reply  string // with two writes behind it
		stop   loop.StopReason
		finish string
		says   string
	}{
		{"a filter", "text = 'I write'\nfinish = 'content_filter'", loop.StopFiltered, "", "I write"},
		{"a filter by another name", "finish = 'recitation'", loop.StopFiltered, "recitation", ""},
		{"a refusal", "text = 'I will not.'\nfinish = 'refusal'", loop.StopRefused, "", "I will not."},
		{"the field for it", "refusal = 'I cannot help with that request.'", loop.StopRefused, "", "I cannot help with that request."},
		{"the field beside text", "text = 'Well,'\nrefusal = 'no.'\nfinish = 'stop'", loop.StopRefused, "", "Well,\nno."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			write, ran := writes()
			b := setup(t, "[[reply]]\n"+c.reply+twoWrites, write)
			end := b.run("Go.")
			if end.Reason != loop.Refused || end.Stop != c.stop || end.Finish != c.finish || end.Text != c.says {
				t.Errorf("ended with %+v", end)
			}
			if ran.Load() != 0 {
				t.Errorf("%d calls ran", ran.Load())
			}
			results := b.results()
			for _, r := range results {
				if r.Status != "refused" || !r.Error {
					t.Errorf("%s came to %+v", r.Call, r)
				}
			}
			if len(results) != 2 {
				t.Errorf("%d results", len(results))
			}
			said := lastSaid(b.j.events())
			if !said.Discarded || said.Stop != string(c.stop) || len(said.Calls()) != 2 || said.Text() != c.says {
				t.Errorf("the journal has %+v", said)
			}
			balanced(t, b.j.events())
		})
	}
}

// lastSaid is the last answer, whatever became of it.
func lastSaid(events []plan.Event) (said plan.MessageEnd) {
	for _, ev := range events {
		if m, ok := ev.Body.(plan.MessageEnd); ok && m.Role == plan.RoleAssistant {
			said = m
		}
	}
	return said
}

// TestADeclinedAnswerIsAskedForAgain: what was refused is no part of the
// conversation, for the loop that met it and for one that is restored.
func TestADeclinedAnswerIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for _, restored := range []bool{false, true} {
		t.Run(fmt.Sprint("restored ", restored), func(t *testing.T) {
			t.Parallel()
			write, ran := writes()
			b := setup(t, `
[[reply]]
turn = 0
`+twoWrites+`
  [reply.fault]
  kind = "filter"
[[reply]]
text = "Done."
`, write)
			b.cfg.Limits.Turns = 2
			l := b.loop()
			if end, err := l.Run(context.Background(), plan.UserText("Go.")); err != nil || end.Reason != loop.Refused {
				t.Fatalf("%+v, %v", end, err)
			}
			if restored {
				l = b.loop(b.j.events()...)
			}
			end, err := l.Run(context.Background())
			if err != nil || end.Reason != loop.Completed || end.Text != "Done." || ran.Load() != 2 {
				t.Errorf("%+v, %v; %d calls ran", end, err, ran.Load())
			}
			sent := requestBodies(b)
			if len(sent) != 3 || !bytes.Equal(sent[0], sent[1]) {
				t.Errorf("%d requests, and the second is not the first", len(sent))
			}
			balanced(t, b.j.events())
		})
	}
}

// TestNoCallOfACutAnswerRuns: the calls before the last are whole, but what the
// model would have said after them is not known.
func TestNoCallOfACutAnswerRuns(t *testing.T) {
	t.Parallel()
	write, ran := writes()
	b := setup(t, "[[reply]]\nturn = 0\nfinish = 'length'"+twoWrites+`
[[reply]]
turn = 1
  [[reply.call]]
  name = "write"
  args = { n = 1 }
[[reply]]
text = "Done."
`, write)
	if end := b.run("Go."); end.Reason != loop.Completed || end.Text != "Done." || end.Cut {
		t.Errorf("ended with %+v", end)
	}
	if ran.Load() != 1 {
		t.Errorf("%d calls ran", ran.Load())
	}
	for i, r := range b.results() {
		if cut := i < 2; cut != (r.Status == "invalid" && strings.Contains(r.Output, "smaller answers")) {
			t.Errorf("call %d came to %+v", i, r)
		}
	}
	balanced(t, b.j.events())
}

// TestAnEmptyAnswerThatEndsEarlyIsNoSilence: it is not asked for again as one
// that says nothing is.
func TestAnEmptyAnswerThatEndsEarlyIsNoSilence(t *testing.T) {
	t.Parallel()
	for finish, want := range map[string]loop.EndReason{"content_filter": loop.Refused, "length": loop.Completed} {
		frame := fmt.Sprintf(`{"id":"c","model":"m","choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, finish)
		b := setup(t, "[[reply]]\ntext = 'x'\n[reply.fault]\nkind = 'garbage'\nafter_chunks = 1\ntimes = 0\nbody = '"+frame+"'\n")
		end := b.run("Go.")
		if end.Reason != want || end.Cut != (finish == "length") {
			t.Errorf("%s ended with %+v", finish, end)
		}
		if n := len(b.server.Requests()); n != 1 {
			t.Errorf("%s: %d requests", finish, n)
		}
	}
}

// TestACutAnswerOfAnEarlierVersion: that one ran the calls before the last, and
// what its journal says of each of them counts.
func TestACutAnswerOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	write, ran := writes()
	b := setup(t, "[[reply]]\nturn = 1\ntext = \"Done.\"\n", write)
	answer := plan.Message{Role: plan.RoleAssistant}
	for n := range 3 {
		answer.Blocks = append(answer.Blocks, plan.Block{
			Type: plan.BlockToolCall,
			Call: fmt.Sprint("w", n),
			Name: "write",
			Args: fmt.Sprintf(`{"n":%d}`, n),
		})
	}
	first := 0
	var past []plan.Event
	for _, body := range []plan.Body{
		plan.MessageStart{Role: plan.RoleUser},
		plan.MessageEnd{Message: plan.UserText("Go.")},
		plan.TurnStart{Trigger: plan.TriggerUser},
		plan.MessageStart{Role: plan.RoleAssistant},
		plan.MessageEnd{Message: answer, Stop: string(loop.StopLength)},
		plan.ToolStart{Call: "w2", Name: "write", Args: []byte(`{"n":2}`)},
		plan.ToolEnd{Call: "w2", Name: "write", Error: true, Output: "cut off", Status: "invalid"},
		plan.ToolStart{Call: "w0", Name: "write", Args: []byte(`{"n":0}`), Effect: plan.EffectUnknown},
		plan.ToolEnd{Call: "w0", Name: "write", Output: "written"},
	} {
		past = append(past, plan.Event{Conv: "c1", Attempt: 1, Turn: &first, Body: body})
	}
	end, err := b.loop(past...).Run(context.Background())
	if err != nil || end.Text != "Done." || ran.Load() != 1 {
		t.Fatalf("%+v, %v; %d calls ran", end, err, ran.Load())
	}
	if r := b.results(); len(r) != 1 || r[0].Call != "w1" || r[0].Error {
		t.Errorf("it went on with %+v", r)
	}
	balanced(t, append(past, b.j.events()...))
}
