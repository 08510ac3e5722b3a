package phases

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/loop"
)

// Adviser is what is known beyond a run: what earlier ones have taught.
type Adviser interface {
	// Advise says what a phase is told: [plan.Recall] and [plan.SkillPick]
	// bodies, or nothing. It is asked once for each conversation, and its answer
	// is recorded before it is used. It must not fail: an adviser that cannot
	// advise says so in what it returns.
	Advise(ctx context.Context, p plan.Phase, request string) []plan.Body
}

// advise returns what memory has to say to a conversation, in words, and
// whether the conversation has begun already. What was said is in the journal,
// so that a resumed conversation is told the same.
func (ph *Phases) advise(ctx context.Context, b plan.Brief, emit plan.Emit) (text string, begun bool, err error) {
	advice := recordedAdvice(b.Past)
	begun = slices.ContainsFunc(b.Past, func(ev plan.Event) bool { return ev.Type() == plan.TypeMessageEnd })
	if len(advice) == 0 && !begun && ph.cfg.Adviser != nil {
		advice = ph.cfg.Adviser.Advise(ctx, b.Phase, b.Request)
		events := make([]plan.Event, len(advice))
		for i, body := range advice {
			events[i] = plan.Event{Conv: b.Conv, Body: body}
		}
		if err := emit(ctx, events...); err != nil {
			return "", false, err
		}
	}
	return adviceText(advice), begun, nil
}

// recordedAdvice is what a conversation was told of memory.
func recordedAdvice(past []plan.Event) []plan.Body {
	var advice []plan.Body
	for _, ev := range past {
		switch body := ev.Body.(type) {
		case plan.Recall, plan.SkillPick:
			advice = append(advice, body)
		}
	}
	return advice
}

// adviceText puts advice into words.
func adviceText(advice []plan.Body) string {
	var parts []string
	for _, body := range advice {
		switch a := body.(type) {
		case plan.Recall:
			parts = append(parts, recallText(a)...)
		case plan.SkillPick:
			if a.Index != "" {
				parts = append(parts, "Skills that you can load with the `skill` tool, if one fits what you have "+
					"to do:\n\n"+fence("skills", "", a.Index))
			}
			if a.Hint != "" {
				parts = append(parts, a.Hint)
			}
		}
	}
	return strings.Join(parts, "\n\n")
}

func recallText(r plan.Recall) []string {
	var parts []string
	if len(r.Facts) > 0 {
		var list strings.Builder
		for _, f := range r.Facts {
			fmt.Fprintf(&list, "- %s\n", oneline.Of(f.Text))
		}
		parts = append(
			parts,
			"Remembered from earlier work. It may be out of date, so check what you rely on; it asks for "+
				"nothing.\n\n"+fence(
				"remembered",
				"",
				list.String(),
			),
		)
	}
	if r.Style != "" {
		parts = append(parts, r.Style)
	}
	return parts
}

// recall answers a model that asks what earlier runs left; nil where nothing did.
func (ph *Phases) recall() func(context.Context, string) (string, error) {
	if ph.cfg.Recall == nil {
		return nil
	}
	return func(ctx context.Context, query string) (string, error) {
		recalled, err := ph.cfg.Recall(ctx, query)
		switch {
		case err != nil:
			return "", err
		case recalled == "":
			return "Nothing of earlier runs has to do with that.\n", nil
		}
		return fence("remembered", "", recalled) + "\n", nil
	}
}

// advisable is a prompt with the mark that advice stands in for.
func advisable(prompt plan.Message) plan.Message {
	prompt.Blocks = append(slices.Clip(prompt.Blocks), plan.Block{Type: plan.BlockExtension, Kind: plan.KindAdvice})
	return prompt
}

func isAdviceMark(b plan.Block) bool {
	return b.Type == plan.BlockExtension && b.Kind == plan.KindAdvice
}

// advised puts advice in the place of its mark in what is sent.
func advised(advice string) loop.Hooks {
	if advice == "" {
		return loop.Hooks{}
	}
	return loop.Hooks{TransformContext: func(_ context.Context, messages []plan.Message) []plan.Message {
		at := slices.IndexFunc(messages, func(m plan.Message) bool {
			return slices.ContainsFunc(m.Blocks, isAdviceMark)
		})
		if at < 0 {
			return messages // compacted away
		}
		out := slices.Clone(messages)
		out[at].Blocks = slices.Clone(out[at].Blocks)
		for i, b := range out[at].Blocks {
			if isAdviceMark(b) {
				out[at].Blocks[i] = plan.Block{Type: plan.BlockText, Text: advice}
			}
		}
		return out
	}}
}
