package review

import (
	"strings"

	"github.com/plan-engine/plan"
)

func mustClose(gap string) plan.Missing {
	return plan.Missing{Gap: gap, Severity: plan.SeverityMust}
}

// unprovenGaps are what a doubt leaves to do.
func unprovenGaps(d *Doubt) []plan.Missing {
	if d.Kind == DoubtShown || len(d.Claims) == 0 {
		gap := "Unproven: " + d.Why
		for _, c := range d.Claims {
			gap += "\n- " + strings.ReplaceAll(c, "\n", "\n  ")
		}
		return []plan.Missing{mustClose(gap)}
	}
	var out []plan.Missing
	for _, c := range d.Claims {
		out = append(out, mustClose("Unproven: "+c))
	}
	return out
}

// reviewGap is a review that becomes a gap as it stands.
func reviewGap(head, text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return strings.TrimRight(head, ":") + "."
	}
	return head + "\n" + cut(text, maxText)
}
