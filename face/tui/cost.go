package tui

import (
	"cmp"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan/face/tui/story"
	"github.com/plan-engine/plan/host/costs"
	"github.com/plan-engine/plan/internal/amount"
)

// showCost shows what a run consumed: all of it, and by phase.
func (m *model) showCost(v *view, _ string) tea.Cmd {
	s := v.story
	total := s.Costs.Total()
	u := total.Usage
	var b strings.Builder
	fmt.Fprintf(&b, "- cost: %s\n- requests: %d\n- input: %s tokens, of which %s from a cache\n- output: %s tokens\n",
		amount.Cost(total.USD, total.Unpriced == 0), u.Requests, amount.Tokens(u.Input), amount.Tokens(u.Cached),
		amount.Tokens(u.Output))
	if s.Context > 0 {
		fmt.Fprintf(&b, "- the newest request: %s tokens", amount.Tokens(s.Context))
		if w := m.window(s); w > 0 {
			fmt.Fprintf(&b, ", %d%% of what %s takes", s.Context*100/w, s.Model)
		}
		b.WriteString("\n")
	}
	for _, row := range s.Costs.Rows {
		b.WriteString(costRow(row))
	}
	fmt.Fprintf(&b, "\nWhat the input was for: `plan show %s --cost`", v.id)
	return func() tea.Msg { return read("Cost", b.String(), story.Prose, nil) }
}

// costRow is what one model consumed in a phase, for one purpose.
func costRow(r costs.Row) string {
	name := string(r.Phase)
	if r.Attempt > 1 {
		name += fmt.Sprintf(" %d", r.Attempt)
	}
	switch r.For {
	case costs.ForSummary:
		name += ", summaries"
	case costs.ForTask:
		name += ", sub-agents"
	}
	return fmt.Sprintf(
		"\n## %s\n\n- %s: %s, %s\n- input: %s tokens, of which %s from a cache; output: %s tokens\n",
		name,
		clean(cmp.Or(r.Model, "a model")),
		amount.Count(int64(r.Calls), "request"),
		amount.Cost(r.USD, r.Unpriced == 0),
		amount.Tokens(r.Usage.Input),
		amount.Tokens(r.Usage.Cached),
		amount.Tokens(r.Usage.Output),
	)
}
