package story

import (
	"fmt"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/internal/sanitize"
)

// addLetter tells what a person said while the run went on, where it was heard.
func (s *Story) addLetter(e plan.Event, text string, after bool) {
	s.markDelivered(e, text, after)
	note := "guidance"
	if after {
		note = "follow-up"
	}
	turn := s.Turn
	if e.Turn != nil {
		turn = *e.Turn + 1
	}
	if turn > 0 {
		note += fmt.Sprintf(", heard at turn %d", turn)
	}
	s.add(e, Block{
		Kind:  Prompted,
		Label: "you",
		Note:  note,
		Text:  sanitize.Text(text),
	})
}

// filtered tells of a letter that was not let through, or decided nothing.
func (s *Story) filtered(e plan.Event, b plan.Filtered) {
	s.tell(e, Odd, "letter", oneline.Join(": ", b.Action, b.Why))
	for i := range s.Letters {
		if l := &s.Letters[i]; b.Action == "reject" && l.Heard == 0 && l.Text == sanitize.Text(b.Text) {
			l.Lost, l.Why = true, sanitize.Line(b.Why)
		}
	}
}

// addDecision tells what a person is asked, and what was decided by whom.
func (s *Story) addDecision(e plan.Event) {
	switch b := e.Body.(type) {
	case plan.ApprovalRequired:
		title := "may it call " + b.Name + "?"
		if b.Name == plan.PlanTool {
			title = fmt.Sprintf("may version %d of the plan be carried out?", b.Version)
		}
		block := s.add(e, Block{
			Kind:  Asked,
			Mood:  Running,
			Label: "asks",
			Title: sanitize.Line(title),
			Form:  Diff,
		})
		if b.Name != plan.PlanTool {
			block.Text = sanitize.Text(plan.ShownCall(b.Effect, b.Args))
		}
		s.waits[b.Call] = block
	case plan.Question:
		block := s.add(e, Block{
			Kind:  Asked,
			Mood:  Running,
			Label: "asks",
			Title: sanitize.Line(firstLine(b.Question)),
			Text:  sanitize.Text(b.Question),
			Form:  Output,
		})
		s.waits[b.Call] = block
	case plan.ApprovalResolved:
		mood, words := Good, "allowed"
		if !b.Approved {
			mood, words = Bad, "denied"
		}
		if b.Scope != plan.ScopeOnce {
			words += " for this " + b.Scope
		}
		if b.Scope == plan.ScopeAlways {
			words = "allowed always"
		}
		s.decided(e, b.Call, mood, words, b.By, b.Reason)
	case plan.Answered:
		s.decided(e, b.Call, Good, "answered", b.By, b.Text)
	}
}

// decided ends what was asked.
func (s *Story) decided(e plan.Event, call string, mood Mood, words, by, reason string) {
	block := s.waits[call]
	if block == nil {
		block = s.add(e, Block{Kind: Asked, Label: "asks", Title: sanitize.Line(call)})
	}
	delete(s.waits, call)
	if by != "" && by != "person" {
		words += " by " + by
	}
	block.Mood, block.Note = mood, sanitize.Line(oneline.Join(": ", words, firstLine(reason)))
	change(block)
}
