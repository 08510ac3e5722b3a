package phases

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/review"
)

// review runs the Review phase behind walls. Its exit is a judgement: a verdict
// that is malformed or rests on something unproven is asked for once more, and
// then counts as NEEDS_FIX.
func (ph *Phases) review(ctx context.Context, b plan.Brief, s *session) (out plan.Outcome, err error) {
	if err := s.ask(ctx, 0, plan.UserText(ph.reviewPrompt(b))); err != nil {
		return out, err
	}
	evidence := func() review.Evidence {
		commands, empty := s.ran.commands()
		return review.Evidence{Ran: commands, Empty: empty, Checks: b.Checks, Baseline: b.Base, Gaps: b.Gaps, Text: s.end.Text, Findings: b.Noticed, Later: b.Attempt > 1}
	}
	j, again := assess(s.end.Text, evidence())
	if again == "" && s.told < 2 {
		return plan.Outcome{Judgement: &j}, nil
	}
	if err := s.ask(ctx, 1, plan.UserText(again)); err != nil {
		return out, err
	}
	if j, again = assess(s.end.Text, evidence()); again != "" {
		j = settle(s.end.Text, evidence())
	}
	return plan.Outcome{Judgement: &j}, nil
}

// assess reads a verdict and weighs it. The text that comes back is what to
// ask the reviewer, if it has to be asked again.
func assess(text string, ev review.Evidence) (plan.Judgement, string) {
	v, err := review.Parse(review.Answer{Text: text})
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
	v, err := review.Parse(review.Answer{Text: text, Again: true})
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
	return compose(ph.cfg.Kit.Prompts["review"], map[string]string{
		"INSTRUCTIONS": ph.instructions(), "REQUEST": request(b),
		"PLAN": fence("plan", "", b.Plan.Text), "DIFF": changeText(b), "CHECKS": checks,
		"NOTICED": noticedText(b.Noticed), "GAPS": gapText(b.Gaps),
	})
}

// witness remembers the commands that ran in a conversation and how they
// ended, from the events themselves.
type witness struct {
	mu      sync.Mutex
	started map[string]string // call → command
	ran     []plan.RanCommand
	empty   []string // passed, and ran no test
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
		command, ok := w.started[b.Call]
		switch {
		case !ok || b.ExitCode == nil || b.Status != "":
		case *b.ExitCode == 0 && testsNothing(b.Output):
			w.empty = append(w.empty, command)
		default:
			w.ran = append(w.ran, plan.RanCommand{Command: command, ExitCode: *b.ExitCode})
		}
	}
}

func (w *witness) commands() (ran []plan.RanCommand, empty []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ran), slices.Clone(w.empty)
}
