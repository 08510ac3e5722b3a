package acp

import (
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/plan-engine/plan"
)

// steps are the entries of a plan as an editor shows them: those of the plan that is
// carried out, and its review. Until there is one they are the phases.
type steps struct {
	text  []string // of the plan
	files [][]string
	begun int // the step that is worked on
	state plan.State
}

// see looks at an event, and reports whether the entries are others now.
func (s *steps) see(ev plan.Event) bool {
	switch b := ev.Body.(type) {
	case plan.StateChange:
		s.state = b.To
	case plan.PlanMade:
		s.text = stepsOf(b.Text)
		s.begun = 0
		s.files = make([][]string, len(s.text))
		for name := range b.Files {
			for i, text := range s.text {
				if strings.Contains(text, name) {
					s.files[i] = append(s.files[i], name)
				}
			}
		}
	case plan.ToolStart:
		return s.touch(b)
	default:
		return false
	}
	return true
}

// touch moves on to the step that names a file which a call changes.
func (s *steps) touch(b plan.ToolStart) bool {
	if s.state != plan.Implementing || b.Intent == nil {
		return false
	}
	before := s.begun
	for _, f := range b.Intent.Files {
		for i := s.begun; i < len(s.files); i++ {
			if slices.Contains(s.files[i], f.Path) {
				s.begun = i
				break
			}
		}
	}
	return s.begun != before
}

// entries are what the editor shows.
func (s *steps) entries() []sdk.PlanEntry {
	entry := func(text string, status sdk.PlanEntryStatus) sdk.PlanEntry {
		return sdk.PlanEntry{
			Content:  cleanLine(text),
			Priority: sdk.PlanEntryPriorityMedium,
			Status:   status,
		}
	}
	if len(s.text) == 0 {
		var out []sdk.PlanEntry
		for _, state := range plan.ActiveStates() {
			out = append(out, entry(string(state), s.status(state)))
		}
		return out
	}
	var out []sdk.PlanEntry
	for i, text := range s.text {
		status := s.status(plan.Implementing)
		if status == sdk.PlanEntryStatusInProgress {
			switch {
			case i < s.begun:
				status = sdk.PlanEntryStatusCompleted
			case i > s.begun:
				status = sdk.PlanEntryStatusPending
			}
		}
		out = append(out, entry(text, status))
	}
	return append(out, entry("Review", s.status(plan.Reviewing)))
}

// status is where the work of a state stands.
func (s *steps) status(of plan.State) sdk.PlanEntryStatus {
	states := plan.ActiveStates()
	now := slices.Index(states, s.state)
	switch at := slices.Index(states, of); {
	case s.state == of:
		return sdk.PlanEntryStatusInProgress
	case at < now || s.state == plan.Approved:
		return sdk.PlanEntryStatusCompleted
	}
	return sdk.PlanEntryStatusPending
}

// stepsOf are the first lines of a plan's numbered steps.
func stepsOf(text string) []string {
	var out []string
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			in = strings.HasPrefix(strings.ToLower(title), "steps")
			continue
		}
		number, step, ok := strings.Cut(line, ". ")
		if in && ok && isNumber(number) {
			out = append(out, step)
		}
	}
	return out
}

// isNumber reports whether a text is a short number.
func isNumber(text string) bool {
	return text != "" && len(text) <= 3 && strings.Trim(text, "0123456789") == ""
}
