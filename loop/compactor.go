package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/compact"
)

// Compactor makes a conversation smaller.
type Compactor interface {
	// Compact returns messages that say the same in fewer tokens, if possible in budget:
	// tool descriptions and system prompt come on top. It is called only when that is due,
	// and must not modify its argument. What it returns is recorded and is what the
	// conversation goes on from; the same messages, or ones that are hardly smaller, leave
	// it as it is. An error is recorded, and the conversation goes on as it is. After
	// several in a row it is asked more rarely.
	Compact(ctx context.Context, messages []plan.Message, budget int64) ([]plan.Message, error)
}

// compaction is one time that history is made smaller.
type compaction struct {
	l      *Loop
	due    compact.Occasion
	tokens int64 // of the request
	out    compact.Outcome
}

// Compact implements [Compactor], as a conversation does it that has no other: it
// shortens old results, and where the level says so a summary stands for the middle.
func (c *compaction) Compact(ctx context.Context, messages []plan.Message, _ int64) (view []plan.Message, err error) {
	view, c.out, err = c.l.compactor.Shrink(ctx, c.due, messages, c.tokens, c.l.summarise)
	return view, err
}

// levelOutside is the level of a compaction that [Config.Compactor] made.
const levelOutside = "outside"

// compactionLevel is the level that the journal names.
func (l *Loop) compactionLevel() string {
	if l.cfg.Compactor != nil {
		return levelOutside
	}
	return string(l.compactor.Level)
}

// shrink has the messages made smaller, by whom the conversation has for it.
func (l *Loop) shrink(
	ctx context.Context, due compact.Occasion, tokens int64,
) ([]plan.Message, compact.Outcome, error) {
	own := &compaction{l: l, due: due, tokens: tokens}
	var by Compactor = own
	if l.cfg.Compactor != nil {
		by = l.cfg.Compactor
	}
	view, err := by.Compact(ctx, l.messages, l.compactor.Budget(due, l.messages, tokens))
	if l.cfg.Compactor == nil {
		return view, own.out, err
	}
	unchanged := compact.Outcome{Before: tokens, After: tokens}
	if err == nil {
		err = l.fitToGoOn(view)
	}
	if err != nil {
		return l.messages, unchanged, fmt.Errorf("compact the conversation: %w", err)
	}
	return slices.Clone(view), l.compactor.Outcome(l.messages, view, tokens), nil
}

// fitToGoOn says what is wrong with messages that a model is to answer.
func (l *Loop) fitToGoOn(view []plan.Message) error {
	if len(view) == 0 {
		return errors.New("nothing is left of it")
	}
	if last := view[len(view)-1]; last.Role == plan.RoleAssistant || last.Role == plan.RoleExtension {
		return errors.New("what is left of it has nothing to answer at its end")
	}
	return nil
}
