package phases

import (
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
)

// products tell Explore what it may hand over: a report, a finished plan, or either of them.
func (ph *Phases) products() map[string]string {
	prompts := ph.cfg.Kit.Prompts
	out := map[string]string{"REPORT": prompts["report"], "WAY": "", "FORM": ""}
	switch ph.cfg.Way {
	case plan.WayAuto:
		out["WAY"], out["FORM"] = prompts["either"], ph.planForm()
	case plan.WayShort:
		out["REPORT"], out["WAY"], out["FORM"] = "", prompts["short"], ph.planForm()
	}
	return out
}

// planForm is the form of a plan, and how long it may be where that is bounded.
func (ph *Phases) planForm() string {
	form := ph.cfg.Kit.Prompts["form"]
	if ph.cfg.PlanSize == plan.PlanShort {
		form = strings.TrimSpace(form + "\n\n" + ph.cfg.Kit.Prompts["brief"])
	}
	return form
}

// planParts are the headings that a report does not have and every plan does.
var planParts = lazy.Regexp(`(?im)^#{1,6}\s+(files|steps|verify)\s*:?\s*$`)

// isPlan reports whether a text is a finished plan in the form that is asked for,
// and not a report that speaks of one.
func isPlan(text string) bool {
	parts := map[string]bool{}
	for _, m := range planParts().FindAllStringSubmatch(unwrap(text), -1) {
		parts[strings.ToLower(m[1])] = true
	}
	return parts["files"] && parts["steps"]
}

// openLine is where a report says what it leaves to Plan.
var openLine = lazy.Regexp(`(?im)^\W*\*\*What is open\*\*[\s:,.–—-]*(?:in one line[\s:]*)?(.*)$`)

// stillOpen is what a report leaves to Plan, in a line; "" where it does not say.
func stillOpen(report string) string {
	m := openLine().FindStringSubmatch(report)
	if m == nil {
		return ""
	}
	const most = 300
	open := strings.TrimSpace(m[1])
	if len(open) > most {
		open = strings.ToValidUTF8(open[:most], "") + "…"
	}
	return open
}

// reported is what Explore found, for Plan; "" where it handed over a plan.
func reported(b plan.Brief) string {
	if b.Report == "" || len(b.Carried) > 0 { // it is the last that was said there
		return ""
	}
	return fence("report", "", b.Report)
}
