package phases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/review"
)

// diffLimit is how much of a diff a reviewer is shown, in bytes; the rest can
// be read in the tree.
const diffLimit = 60_000

// review runs the Review phase behind walls. Its exit is a judgement: a verdict
// that is malformed or rests on something unproven is asked for once more, and
// then counts as NEEDS_FIX.
func (ph *Phases) review(ctx context.Context, b plan.Brief, emit plan.Emit) (out plan.Outcome, err error) {
	room, err := ph.room(ctx, b.Phase)
	if err != nil {
		return out, err
	}
	defer func() { err = leave(ctx, room, b, emit, &out, err) }()
	ran := newWitness(b.Past)
	s, err := ph.open(ctx, b, room, &loop.Format{Name: "verdict", Schema: ph.cfg.Kit.Verdict}, ran.watch(emit))
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.tools.Close()) }()

	ok, err := s.ask(ctx, 0, plan.UserText(ph.reviewPrompt(b)))
	if err != nil || !ok {
		return plan.Outcome{Park: s.parked}, err
	}
	evidence := func() review.Evidence {
		return review.Evidence{Ran: ran.commands(), Checks: b.Checks, Baseline: b.Base, Gaps: b.Gaps, Text: s.end.Text}
	}
	j, again := assess(s.end.Text, evidence())
	if again == "" && s.told < 2 {
		return plan.Outcome{Judgement: &j}, nil
	}
	ok, err = s.ask(ctx, 1, plan.UserText(again))
	if err != nil || !ok {
		return plan.Outcome{Park: s.parked}, err
	}
	if j, again = assess(s.end.Text, evidence()); again != "" {
		j = settle(s.end.Text, evidence())
	}
	return plan.Outcome{Judgement: &j}, nil
}

// assess reads a verdict and weighs it. The text that comes back is what to
// ask the reviewer, if it has to be asked again.
func assess(text string, ev review.Evidence) (plan.Judgement, string) {
	v, err := review.Parse(text)
	if err != nil {
		return plan.Judgement{}, review.Reask(err, nil)
	}
	j, doubt := review.Judge(v, ev)
	if doubt != nil {
		return plan.Judgement{}, review.Reask(nil, doubt)
	}
	return j, ""
}

// settle is the judgement when asking again did not help.
func settle(text string, ev review.Evidence) plan.Judgement {
	v, err := review.Parse(text)
	if err != nil {
		return review.Final(text, err, nil, v, ev)
	}
	_, doubt := review.Judge(v, ev)
	return review.Final(text, nil, doubt, v, ev)
}

func (ph *Phases) reviewPrompt(b plan.Brief) string {
	checks := "No check was run by the workflow: there is none that it knows of. What you run is the only evidence."
	if len(b.Checks) > 0 {
		checks = "The workflow ran these checks on this tree:\n\n" + fence("checks", "", checkList(b.Checks, true))
		if len(b.Base) > 0 {
			checks += "\n\nBefore the work began they stood like this:\n\n" + fence("checks-before", "", checkList(b.Base, false))
		}
	}
	diff := "Nothing was changed in the tree."
	if b.Diff != "" {
		diff = "All changes since the start of the work:\n\n" + fence("diff", "", cut(b.Diff, diffLimit, "read the files themselves"))
	}
	gaps := ""
	if len(b.Gaps) > 0 {
		gaps = "An earlier review of this work named gaps. Check for each open one whether it is really closed now, and use its id if it is not:\n\n" + knownGaps(b.Gaps)
	}
	return compose(ph.cfg.Kit.Prompts["review"], map[string]string{
		"INSTRUCTIONS": ph.instructions(), "REQUEST": request(b),
		"PLAN": fence("plan", "", b.Plan.Text), "DIFF": diff, "CHECKS": checks, "GAPS": gaps,
	})
}

func knownGaps(gaps []plan.Gap) string {
	text := ""
	for _, g := range gaps {
		text += fmt.Sprintf("- %s, %s (%s): %s\n", g.ID, g.Status, g.Severity, g.Gap)
	}
	return fence("known-gaps", "", text)
}

// witness remembers the commands that ran in a conversation and how they
// ended, from the events themselves.
type witness struct {
	mu      sync.Mutex
	started map[string]string // call → command
	ran     []plan.RanCommand
}

func newWitness(past []plan.Event) *witness {
	w := &witness{started: map[string]string{}}
	for _, ev := range past {
		w.see(ev)
	}
	return w
}

// watch passes events on and takes note of those that were recorded.
func (w *witness) watch(emit plan.Emit) plan.Emit {
	return func(ctx context.Context, events ...plan.Event) error {
		if err := emit(ctx, events...); err != nil {
			return err
		}
		for _, ev := range events {
			w.see(ev)
		}
		return nil
	}
}

func (w *witness) see(ev plan.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch b := ev.Body.(type) {
	case plan.ToolStart:
		var args struct {
			Command string `json:"command"`
		}
		if b.Name == "bash" && json.Unmarshal(b.Args, &args) == nil {
			w.started[b.Call] = args.Command
		}
	case plan.ToolEnd:
		if command, ok := w.started[b.Call]; ok && b.ExitCode != nil && b.Status == "" {
			w.ran = append(w.ran, plan.RanCommand{Command: command, ExitCode: *b.ExitCode})
		}
	}
}

func (w *witness) commands() []plan.RanCommand {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]plan.RanCommand(nil), w.ran...)
}
