package compact

import (
	"context"
	"fmt"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/pairing"
)

// Summarise asks a model for the summary of a section.
type Summarise func(ctx context.Context, s Section) (string, error)

// Shrink makes a request of this many tokens smaller. It trims, and where that
// is not enough lets a summary stand for the middle of the conversation. Where no
// summary can be had, trimming harder has to do; the error then says why.
func (c *Compactor) Shrink(
	ctx context.Context, o Occasion, messages []plan.Message, tokens int64, summarise Summarise,
) ([]plan.Message, Outcome, error) {
	gently := c.Level == Full && (o == DueAuto || o == DueNow)
	view, out := c.trim(o, messages, tokens, gently)
	if !c.short(o, out.After) {
		return view, out, nil
	}
	// People's words and open calls aside, what is summarised is the record.
	s, ok := c.cut(pairing.WithoutOpenCalls(view), out.After)
	if !ok {
		view, out = c.trim(o, messages, tokens, false)
		return view, out, nil
	}
	summary, err := summarise(ctx, s)
	if err == nil {
		var with Outcome
		if view, with, err = c.assemble(s, summary); err == nil {
			with.Before, with.Blobs = out.Before, out.Blobs
			view, with = c.trimRefused(o, view, with)
			return view, with, nil
		}
	}
	view, out = c.trim(o, messages, tokens, false)
	return view, out, fmt.Errorf("summarise the conversation: %w", err)
}

// trimRefused trims a conversation with its summary harder, where the request
// was refused as too long and the summary alone does not make it fit.
func (c *Compactor) trimRefused(o Occasion, view []plan.Message, out Outcome) ([]plan.Message, Outcome) {
	if o != DueNow || c.Room.sendable(out.After) {
		return view, out
	}
	view, hard := c.trim(o, view, out.After, false)
	out.After = hard.After
	out.Blobs = append(out.Blobs, hard.Blobs...)
	return view, out
}

// Fit is as much of a section as the window of the model that summarises it
// takes, in tokens; 0 for one that is not known.
func (c *Compactor) Fit(s Section, window int64) Section {
	for window > 0 {
		prompt, most := c.Prompt(s)
		if c.Size([]plan.Message{prompt})+int64(most) < window-window/20 {
			break
		}
		less, ok := s.Lighter()
		if !ok {
			break
		}
		s = less
	}
	return s
}
