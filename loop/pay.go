package loop

import (
	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/oneline"
)

// mostWords bounds what a server says in one event, in characters.
const mostWords = 400

// pay counts what a call consumed. What the server says that it cost is the
// truth; nil stands for a server that does not say.
func (l *Loop) pay(model string, used plan.Usage, reported *float64) {
	used = used.Bounded()
	usd, known := l.cfg.Price(model, used)
	report := plan.UsageReport{
		Model:   model,
		Usage:   used,
		CostUSD: usd,
		Priced:  known,
	}
	if reported != nil {
		said := report
		said.CostUSD = *reported
		said.Priced, said.Reported = true, true
		if said.Plausible() {
			report = said
		}
	}
	l.turnUsage, l.turnCost = l.turnUsage.Add(used), l.turnCost+report.CostUSD
	l.conv.pay(used, report.CostUSD)
	l.account.Pay(used, report.CostUSD)
	l.account.GiveBack()
	l.record(report)
}

// payFailed counts what a server reported of a call before it failed.
func (l *Loop) payFailed(model string, me *ModelError) {
	used := me.Usage.Bounded()
	if used.Tokens() <= 0 {
		return
	}
	used.Requests = max(used.Requests, 1)
	l.pay(model, used, nil)
}

// recordAdjusted records what a server did not take of a call.
func (l *Loop) recordAdjusted(model string, changes []plan.Adjusted) {
	for _, a := range changes {
		if a.Model == "" {
			a.Model = model
		}
		a.Part, a.From, a.To = l.redactedLine(a.Part), l.redactedLine(a.From), l.redactedLine(a.To)
		a.Why = l.redactedLine(a.Why)
		l.record(a)
	}
}

// redactedLine are a server's words on one line, bounded and without known secrets.
func (l *Loop) redactedLine(text string) string {
	text = oneline.Of(l.cfg.Redact(text))
	if runes := []rune(text); len(runes) > mostWords {
		text = string(runes[:mostWords-1]) + "…"
	}
	return text
}
