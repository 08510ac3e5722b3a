package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/phases"
)

// Bounds on what a run is told of the one before it, in bytes.
const (
	beforePlan   = 12 << 10
	beforeChange = 16 << 10
	beforeReport = 6 << 10
)

// outcomeText is what a final run came to, as data for the run that continues it: what
// was asked, its plan, its change, what its review found missing and what was left open.
func (h *Host) outcomeText(ctx context.Context, run *engine.Run) (string, error) {
	parts := []string{
		fmt.Sprintf("The earlier run ended %s%s.", run.State, reasonOf(run)),
		phases.Fence("earlier-request", "", strings.Join(append([]string{run.Start.Request}, run.Guidance...), "\n\n")),
	}
	add := func(tag, text string, most int) {
		if strings.TrimSpace(text) != "" {
			parts = append(parts, phases.Fence(tag, "", shorter(text, most)))
		}
	}
	if p := run.Plan(); p != nil {
		add("earlier-plan", p.Text, beforePlan)
	} else {
		add("earlier-report", run.Report, beforeReport)
	}
	change, err := h.ChangeOf(ctx, run)
	if err != nil {
		return "", err
	}
	diff, err := change.Diff(ctx)
	if err != nil {
		return "", err
	}
	add("earlier-change", diff, beforeChange)
	add("earlier-open", openPoints(run), beforeReport)
	return strings.Join(parts, "\n\n"), nil
}

// reasonOf says why a run ended as it did, where that is known.
func reasonOf(run *engine.Run) string {
	if run.Outcome == nil || strings.TrimSpace(run.Outcome.Why) == "" {
		return ""
	}
	return ": " + strings.TrimRight(FirstLine(run.Outcome.Why), ". ")
}

// openPoints lists what a run left open: gaps, what its implementer and its plan named,
// and checks that do not pass.
func openPoints(run *engine.Run) string {
	var out strings.Builder
	item := func(label, text string) {
		fmt.Fprintf(&out, "- %s: %s\n", label, strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  "))
	}
	for _, g := range run.Gaps {
		if g.Open() {
			item("gap "+g.ID+" ("+g.Severity+")", g.Gap)
		}
	}
	for _, c := range run.Checks {
		if !c.Passed() {
			item("check that does not pass", "`"+c.Command+"`")
		}
	}
	if n := len(run.Verdicts); n > 0 {
		last := run.Verdicts[n-1]
		for label, list := range map[string][]string{
			"left open by the implementer": last.Open,
			"accepted by the plan":         last.Accepted,
			"remark of the reviewer":       last.Notes,
		} {
			for _, text := range list {
				item(label, text)
			}
		}
	}
	return out.String()
}

// filesChanged names a few of the files that changed.
func filesChanged(paths []string) string {
	const most = 5
	if len(paths) == 1 {
		return "1 file changed: " + paths[0]
	}
	more := ""
	if len(paths) > most {
		paths, more = paths[:most], ", …"
	}
	return fmt.Sprintf("%d files changed: %s%s", len(paths), strings.Join(paths, ", "), more)
}
