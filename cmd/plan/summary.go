package main

import (
	"slices"
	"time"

	"github.com/plan-engine/plan"
)

// tally is what a run came to: a fold over its events, enough for the summary
// at its end. The zero value is the tally of a run without events.
type tally struct {
	run   plan.RunID
	start plan.RunStart
	state plan.State
	why   string // of the last move of the state machine, or of the end
	// parked is set while the run is parked, ended when it reached its end.
	parked  *plan.Parked
	ended   bool
	failure *plan.Failure // the last error shown

	report  string
	plan    *plan.PlanDoc // the latest version
	verdict *plan.VerdictGiven
	gaps    []plan.Gap // in the order they were opened
	drifts  []plan.Drift
	// findings are those of the latest review.
	findings []plan.Finding
	checks   []checkTally
	// diff is known at the end of a run. Who shows a parked run may set it.
	diff *plan.DiffStat

	usage    plan.Usage
	cost     float64 // USD
	unpriced bool    // some call had no known price
	// inherited is what the run that this one was forked from used up to there.
	inherited     plan.Usage
	inheritedCost float64 // USD

	phases   []phaseTally
	total    time.Duration // working time: parked time is not in it
	inChecks time.Duration // the part of total that was spent in checks
	last     time.Time     // of the last durable event
}

// checkTally is one check by its command.
type checkTally struct {
	command          string
	baseline, latest *plan.CheckResult
}

// phaseTally is one attempt of a phase.
type phaseTally struct {
	phase   plan.Phase
	attempt int
	open    bool
	took    time.Duration
	turns   int
	tools   int
	usage   plan.Usage
	cost    float64
	// unpriced says that some call of this attempt had no known price.
	unpriced bool
}

// clone returns a copy that can go on by itself.
func (t *tally) clone() *tally {
	if t == nil {
		return &tally{}
	}
	c := *t
	c.gaps, c.drifts, c.findings = slices.Clone(t.gaps), slices.Clone(t.drifts), slices.Clone(t.findings)
	c.checks = slices.Clone(t.checks)
	c.phases = slices.Clone(t.phases)
	return &c
}

// Add takes the next event of the run. Live events change nothing.
func (t *tally) Add(e plan.Event) {
	if e.Live() || e.Body == nil {
		return
	}
	t.pass(e)
	if t.run == "" {
		t.run = e.Run
	}
	switch b := e.Body.(type) {
	case plan.PhaseStart, plan.PhaseEnd, plan.MessageEnd, plan.ToolEnd, plan.UsageReport:
		t.addWork(e)
	case plan.Report:
		t.report = b.Text
	case plan.PlanMade:
		t.plan = &b.PlanDoc
	case plan.CheckEnd:
		t.addCheck(b.CheckResult)
	case plan.VerdictGiven:
		t.verdict = &b
	case plan.GapChange:
		t.addGap(b.Gap)
	case plan.FindingMade:
		t.findings = append(t.findings, b.Finding)
	case plan.Failure:
		t.failure = &b
	default:
		t.addState(e.Body)
	}
}

// addState follows where the run stands.
func (t *tally) addState(body plan.Body) {
	switch b := body.(type) {
	case plan.RunStart:
		t.start, t.state = b, plan.Unstarted
	case plan.StateChange:
		t.state, t.why = b.To, b.Why
		if b.To == plan.Reviewing {
			t.findings = nil
		}
	case plan.Parked:
		t.parked = &b
	case plan.Unparked:
		t.parked, t.failure = nil, nil
	case plan.Drift:
		t.drifts = append(t.drifts, b)
	case plan.RunEnd:
		t.state, t.ended, t.parked = b.Outcome, true, nil
		if b.Why != "" {
			t.why = b.Why
		}
		t.usage, t.cost, t.unpriced = b.Usage, b.CostUSD, !b.Priced
		t.diff = &b.Diff
	}
}

// pass credits the time since the last event to what was going on: the check
// that ends with this event, or else the open phase.
func (t *tally) pass(e plan.Event) {
	if e.Time.IsZero() {
		return
	}
	since := e.Time.Sub(t.last)
	forking := t.start.ForkedFrom != nil && e.Seq == t.start.ForkedFrom.Seq+1 // nobody worked until then
	known := !t.last.IsZero() && since > 0 && t.parked == nil && !forking
	t.last = e.Time
	if !known {
		return
	}
	t.total += since
	if _, ok := e.Body.(plan.CheckEnd); ok {
		t.inChecks += since
	} else if p := t.openPhase(); p != nil {
		p.took += since
	}
}

// openPhase returns the attempt that is running, or nil.
func (t *tally) openPhase() *phaseTally {
	if n := len(t.phases); n > 0 && t.phases[n-1].open {
		return &t.phases[n-1]
	}
	return nil
}

// addWork counts what phases do.
func (t *tally) addWork(e plan.Event) {
	if b, ok := e.Body.(plan.PhaseStart); ok {
		t.openAttempt(e, b.Resumed)
		return
	}
	p := t.openPhase()
	if b, ok := e.Body.(plan.UsageReport); ok && b.Inherited {
		t.inherited, t.inheritedCost = t.inherited.Add(b.Usage), t.inheritedCost+b.CostUSD
	} else if ok {
		t.usage, t.cost = t.usage.Add(b.Usage), t.cost+b.CostUSD
		t.unpriced = t.unpriced || !b.Priced
		if p != nil {
			p.usage, p.cost = p.usage.Add(b.Usage), p.cost+b.CostUSD
			p.unpriced = p.unpriced || !b.Priced
		}
	}
	if p == nil {
		return
	}
	switch b := e.Body.(type) {
	case plan.PhaseEnd:
		p.open = false
	case plan.MessageEnd: // a turn is an answered call
		if b.Role == plan.RoleAssistant && !b.Discarded && e.Parent == "" {
			p.turns++
		}
	case plan.ToolEnd:
		p.tools++
	}
}

// openAttempt starts counting an attempt, or goes on with one that is resumed.
func (t *tally) openAttempt(e plan.Event, resumed bool) {
	if p := t.openPhase(); p != nil {
		p.open = false
	}
	if n := len(t.phases); resumed && n > 0 && t.phases[n-1].phase == e.Phase && t.phases[n-1].attempt == e.Attempt {
		t.phases[n-1].open = true
		return
	}
	t.phases = append(t.phases, phaseTally{phase: e.Phase, attempt: e.Attempt, open: true})
}

// addCheck keeps a result; a check that was stopped has none.
func (t *tally) addCheck(r plan.CheckResult) {
	if r.Cancelled || r.Source == plan.CheckSetup {
		return
	}
	i := slices.IndexFunc(t.checks, func(c checkTally) bool { return c.command == r.Command })
	if i < 0 {
		i = len(t.checks)
		t.checks = append(t.checks, checkTally{command: r.Command})
	}
	if r.Baseline {
		t.checks[i].baseline = &r
	} else {
		t.checks[i].latest = &r
	}
}

// baselineOf returns what a check said before the work, or nil.
func (t *tally) baselineOf(command string) *plan.CheckResult {
	for _, c := range t.checks {
		if c.command == command {
			return c.baseline
		}
	}
	return nil
}

func (t *tally) addGap(g plan.Gap) {
	i := slices.IndexFunc(t.gaps, func(old plan.Gap) bool { return old.ID == g.ID })
	if i < 0 {
		t.gaps = append(t.gaps, g)
		return
	}
	if g.Gap == "" {
		g.Gap = t.gaps[i].Gap
	}
	if g.Severity == "" {
		g.Severity = t.gaps[i].Severity
	}
	t.gaps[i] = g
}

// phaseTime is the time of all attempts of one phase.
type phaseTime struct {
	phase plan.Phase
	took  time.Duration
}

// phaseTimes sums the attempts of each phase, in the order of first start.
func (t *tally) phaseTimes() []phaseTime {
	var out []phaseTime
	for _, p := range t.phases {
		i := slices.IndexFunc(out, func(x phaseTime) bool { return x.phase == p.phase })
		if i < 0 {
			i = len(out)
			out = append(out, phaseTime{phase: p.phase})
		}
		out[i].took += p.took
	}
	return out
}
