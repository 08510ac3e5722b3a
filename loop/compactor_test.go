package loop_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// lastOnly is a compactor that keeps the latest messages alone.
type lastOnly struct{ keep int }

// Compact implements loop.Compactor.
func (c lastOnly) Compact(_ context.Context, messages []plan.Message, _ int64) ([]plan.Message, error) {
	if len(messages) <= c.keep {
		return messages, nil
	}
	note := plan.UserText(fmt.Sprintf("[%d messages are gone]", len(messages)-c.keep))
	return append([]plan.Message{note}, messages[len(messages)-c.keep:]...), nil
}

// A program brings a compactor of its own. It is asked when history has to become
// smaller, and not before.
func ExampleCompactor() {
	model, stop := exampleModel("[[reply]]\ntext = \"Ten past nine.\"\n")
	defer stop()
	l, err := loop.New(loop.Config{
		Model: model, Name: "scripted", Window: 3000, Compactor: lastOnly{keep: 1},
		Emit: func(_ context.Context, events ...plan.Event) error {
			for _, ev := range events {
				if end, ok := ev.Body.(plan.CompactionEnd); ok && end.Messages != nil {
					fmt.Printf("%s: %s\n", end.Level, end.Messages[0].Text())
				}
			}
			return nil
		},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		question := strings.Repeat("What time is it in Ghent? ", 100)
		if _, err := l.Run(context.Background(), plan.UserText(question)); err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(l.Messages()), "messages")
	}
	// Output:
	// 2 messages
	// 4 messages
	// outside: [4 messages are gone]
	// 3 messages
}

// compactorFunc is a compactor that is a function.
type compactorFunc func(ctx context.Context, messages []plan.Message, budget int64) ([]plan.Message, error)

// Compact implements loop.Compactor.
func (f compactorFunc) Compact(ctx context.Context, messages []plan.Message, budget int64) ([]plan.Message, error) {
	return f(ctx, messages, budget)
}

// TestACompactorOfAnother: what it returns is kept, also by a loop that is restored; what
// it cannot have meant, and its failure, leave the conversation as it is.
func TestACompactorOfAnother(t *testing.T) {
	t.Parallel()
	const scenario = "[[reply]]\ntext = \"Done.\"\n"
	long := plan.UserText(strings.Repeat("word ", 1300)) // with the second, over the trigger of the window
	for _, c := range []struct {
		name    string
		compact func(messages []plan.Message) ([]plan.Message, error)
		fails   string // in the journal
		left    int    // messages at the end
	}{
		{"smaller", func(m []plan.Message) ([]plan.Message, error) { return m[len(m)-1:], nil }, "", 2},
		{"the same", func(m []plan.Message) ([]plan.Message, error) { return m, nil }, "", 4},
		{"nothing", func([]plan.Message) ([]plan.Message, error) { return nil, nil }, "nothing is left of it", 4},
		{"no question", func(m []plan.Message) ([]plan.Message, error) { return m[1:2], nil }, "nothing to answer", 4},
		{"an error", func([]plan.Message) ([]plan.Message, error) { return nil, errors.New("no disk") }, "no disk", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, scenario)
			b.cfg.Window = 6000
			asked := 0
			b.cfg.Compactor = compactorFunc(func(_ context.Context, m []plan.Message, budget int64) ([]plan.Message, error) {
				asked++
				if budget <= 0 || budget >= b.cfg.Window {
					t.Errorf("the budget is %d", budget)
				}
				return c.compact(m)
			})
			l := b.loop()
			for range 2 {
				if asked > 0 {
					t.Error("it was asked before it was due")
				}
				if _, err := l.Run(context.Background(), long); err != nil {
					t.Fatal(err)
				}
			}
			if asked == 0 || len(l.Messages()) != c.left {
				t.Errorf("asked %d times, %d messages are left", asked, len(l.Messages()))
			}
			ends := slices.DeleteFunc(b.j.events(), func(ev plan.Event) bool { return ev.Type() != plan.TypeCompactionEnd })
			if len(ends) == 0 {
				t.Fatal("nothing is in the journal")
			}
			if end, ok := ends[0].Body.(plan.CompactionEnd); !ok || end.Level != "outside" ||
				(end.Error == "") != (c.fails == "") || !strings.Contains(end.Error, c.fails) {
				t.Errorf("%+v", ends[0].Body)
			}
			if again := b.loop(b.j.events()...); len(again.Messages()) != c.left {
				t.Errorf("restored, it has %d messages", len(again.Messages()))
			}
			balanced(t, b.j.events())
		})
	}
}
