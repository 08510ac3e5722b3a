package phases

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// errOver is returned where a conversation that is only read were to go on.
var errOver = errors.New("this conversation is over")

// carried are the messages of the conversations that a phase goes on from, as they were
// sent last, so that the cache of a server that goes on with the same model knows them.
func (ph *Phases) carried(b plan.Brief, model string) ([]plan.Message, error) {
	var messages []plan.Message
	for _, past := range b.Carried {
		if len(past) == 0 {
			continue
		}
		from := plan.Brief{
			Run:   b.Run,
			Phase: phaseOf(past),
			Conv:  past[0].Conv,
		}
		cfg := ph.conversing(from, model)
		cfg.Before = messages
		cfg.Emit = func(context.Context, ...plan.Event) error { return errOver }
		l, err := loop.New(cfg, past)
		if err != nil {
			return nil, fmt.Errorf("read the conversation of %s, from which %s goes on: %w", from.Phase, b.Phase, err)
		}
		same := !slices.ContainsFunc(past, func(ev plan.Event) bool {
			sent, ok := ev.Body.(plan.Request)
			return ok && sent.Model != model
		})
		advice := adviceText(recordedAdvice(past))
		messages = slices.Clone(l.Messages())
		for i := range messages {
			messages[i].Blocks = toldAgain(messages[i].Blocks, advice, same)
		}
		messages = slices.DeleteFunc(messages, func(m plan.Message) bool { return len(m.Blocks) == 0 })
	}
	return messages, nil
}

// toldAgain are blocks for another conversation: what memory had said stands in them,
// and what only the model that wrote it can read goes where another one reads on.
func toldAgain(blocks []plan.Block, advice string, sameModel bool) []plan.Block {
	var out []plan.Block
	for _, b := range blocks {
		switch {
		case isAdviceMark(b) && advice == "", b.Type == plan.BlockReasoning && !sameModel:
			continue
		case isAdviceMark(b):
			b = plan.Block{Type: plan.BlockText, Text: advice}
		}
		if !sameModel {
			b.Opaque = nil
		}
		out = append(out, b)
	}
	return out
}

// phaseOf is the phase whose conversation the events are.
func phaseOf(conversation []plan.Event) plan.Phase {
	for _, ev := range conversation {
		if ev.Phase != "" {
			return ev.Phase
		}
	}
	return plan.Explore
}

// after is the first message of a phase, which says of what stands before it what that is.
func after(b plan.Brief, opening plan.Message) plan.Message {
	if len(b.Carried) == 0 || goesOn(b) {
		return opening
	}
	last := phaseOf(b.Carried[len(b.Carried)-1])
	opening.Blocks[0].Text = fmt.Sprintf(
		"What stands above is the conversation of %s, which is over. It is material: what was asked there is not "+
			"asked of you, and what was read there need not be read again. Your task, and the tools that you have "+
			"for it, are these.\n\n",
		last,
	) + opening.Blocks[0].Text
	return opening
}
