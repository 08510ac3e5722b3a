package render

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/costs"
)

// kindName is what stands for a kind in a table.
func kindName(r costs.InputRow) string {
	switch r.Kind {
	case plan.PartResult:
		return "results of " + cmp.Or(r.Tool, "tools")
	case plan.PartSystem:
		return "system prompt"
	case plan.PartSchemas:
		if r.Tool == plan.OutsideTools {
			return "schemas from outside"
		}
		return "tool schemas"
	case plan.PartHandedOver:
		return "handed over"
	case plan.PartAnswer:
		return "its own answers"
	case plan.PartLetter:
		return "letters and notices"
	case plan.PartSummary:
		return "what was summarised"
	case costs.KindReRead:
		return "re-reads"
	case costs.KindRetry:
		return "retries"
	case costs.KindSummary:
		return "making summaries"
	case costs.KindUnknown:
		return "not told"
	}
	return r.Kind
}

// isTold reports whether it is known what a row was for.
func isTold(r costs.InputRow) bool { return r.Kind != costs.KindUnknown && r.Kind != costs.KindSummary }

// inputTable lays out where the input went.
func inputTable(c *costs.Costs, l Look) []string {
	rows := c.Input()
	if !slices.ContainsFunc(rows, isTold) {
		return nil // an earlier version's run: there is nothing to tell
	}
	table := [][]string{{"INPUT OF", "FOR", "TOKENS", "NEW", "CACHED", "SHARE"}}
	var total, guessed float64
	for _, r := range rows {
		total += r.Tokens()
		guessed += r.Guessed
	}
	add := func(name string, r costs.InputRow) {
		table = append(table, []string{
			name,
			kindName(r),
			Tokens(costs.Round(r.Tokens())),
			Tokens(costs.Round(r.New)),
			Tokens(costs.Round(r.Cached)),
			fmt.Sprintf("%d%%", costs.Round(100*r.Tokens()/total)),
		})
	}
	for i, r := range rows {
		first := i == 0 || rows[i-1].Phase != r.Phase || rows[i-1].Attempt != r.Attempt || rows[i-1].For != r.For
		name := ""
		if first {
			name = phaseName(costs.Row{Phase: r.Phase, Attempt: r.Attempt, For: r.For}, true)
		}
		add(name, r)
	}
	for i, r := range c.InputKinds() {
		name := ""
		if i == 0 {
			name = "all phases"
		}
		add(name, r)
	}
	lines := append([]string{""}, l.Columns(table, 2, 3, 4, 5)...)
	if guessed > 0 {
		lines = append(lines, "", fmt.Sprintf(
			"%s of it are a guess, at %d bytes each: the server did not report them.",
			Count(int(costs.Round(guessed)), "token"), costs.BytesPerToken))
	}
	return lines
}
