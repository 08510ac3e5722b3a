package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/amount"
	"github.com/plan-engine/plan/internal/sanitize"
)

// reported takes what Explore hands over: its last words, so they are known.
func (s *Story) reported(e plan.Event, b plan.Report) {
	if b.Text == "" {
		return
	}
	s.add(e, Block{
		Kind:  Reported,
		Label: "report",
		Title: "what Explore found",
		Note:  lines(b.Text),
		Text:  sanitize.Text(b.Text),
		Known: true,
	})
}

// planned takes a version of the plan. It is known where the model just wrote it as it is.
func (s *Story) planned(e plan.Event, b plan.PlanMade) {
	s.Plan = &b.PlanDoc
	title := fmt.Sprintf("version %d", b.Version)
	if b.By != "" {
		title += ", by a " + b.By
	}
	block := Block{
		Kind:  Planned,
		Label: "plan",
		Title: sanitize.Line(title),
		Text:  sanitize.Text(b.Text),
	}
	if s.lastWords() == strings.TrimSpace(block.Text) {
		block.Known, block.Note = true, lines(b.Text)
	}
	s.add(e, block)
}

// lastWords is what the assistant said last.
func (s *Story) lastWords() string {
	for _, block := range slices.Backward(s.Blocks) {
		if block.Kind == Reply {
			return strings.TrimSpace(block.Text)
		}
	}
	return ""
}

// lines says how long a text is.
func lines(text string) string {
	return amount.Count(int64(strings.Count(strings.TrimSpace(text), "\n")+1), "line")
}
