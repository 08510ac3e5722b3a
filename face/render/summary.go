package render

import (
	"slices"
	"time"

	"github.com/plan-engine/plan"
)

// Tally is what a run came to: a fold over its events, enough for the summary
// at its end. The zero value is the tally of a run without events.
type Tally struct {
	run   plan.RunID
	start plan.RunStart
	state plan.State
	Why   string // of the last move of the state machine, or of the end
	// parked is set while the run is parked, ended when it reached its end.
	parked  *plan.Parked
	ended   bool
	failure *plan.Failure // the last error shown

	report  string
	plan    *plan.PlanDoc // the latest version
	Verdict *plan.VerdictGiven
	Gaps    []plan.Gap // in the order they were opened
	drifts  []plan.Drift
	leftOut []string // files that some snapshot does not have
	// findings are those of the latest review.
	findings []plan.Finding
	Checks   []checkTally
	// trials are the runs that were made to weigh the latest verdict.
	trials []plan.CheckResult
	// Diff is known at the end of a run. Who shows a parked run may set it.
	Diff *plan.DiffStat

	Usage    plan.Usage
	Cost     float64 // USD
	Unpriced bool    // some call had no known price
	// inherited is what the run that this one was forked from used up to there.
	inherited     plan.Usage
	inheritedCost float64 // USD

	Phases   []phaseTally
	Total    time.Duration // working time: parked time is not in it
	inChecks time.Duration // the part of total that was spent in checks
	last     time.Time     // of the last durable event
}

// checkTally is one check by its command.
type checkTally struct {
	command          string
	baseline, Latest *plan.CheckResult
}

// phaseTally is one attempt of a phase.
type phaseTally struct {
	Phase   plan.Phase
	Attempt int
	Open    bool
	Took    time.Duration
	Turns   int
	Tools   int
	Usage   plan.Usage
	Cost    float64
	// Unpriced says that some call of this attempt had no known price.
	Unpriced bool
}

// Clone returns a copy that can go on by itself.
func (t *Tally) Clone() *Tally {
	if t == nil {
		return &Tally{}
	}
	c := *t
	c.Gaps, c.drifts, c.findings = slices.Clone(t.Gaps), slices.Clone(t.drifts), slices.Clone(t.findings)
	c.leftOut = slices.Clone(t.leftOut)
	c.Checks = slices.Clone(t.Checks)
	c.Phases = slices.Clone(t.Phases)
	return &c
}

// Add takes the next event of the run. Live events change nothing.
func (t *Tally) Add(e plan.Event) {
	if e.Live() || e.Body == nil {
		return
	}
	t.pass(e)
	if t.run == "" {
		t.run = e.Run
	}
	t.count(e)
}

func (t *Tally) addMove(b plan.StateChange) {
	t.state, t.Why = b.To, b.Why
	if b.To == plan.Reviewing {
		t.findings, t.trials = nil, nil
	}
}

func (t *Tally) addEnd(b plan.RunEnd) {
	t.state, t.ended, t.parked = b.Outcome, true, nil
	if b.Why != "" {
		t.Why = b.Why
	}
	t.Usage, t.Cost, t.Unpriced = b.Usage, b.CostUSD, !b.Priced
	t.Diff = &b.Diff
}

// pass credits the time since the last event to what was going on: the check
// that ends with this event, or else the open phase.
func (t *Tally) pass(e plan.Event) {
	if e.Time.IsZero() {
		return
	}
	since := e.Time.Sub(t.last)
	forking := t.start.ForkedFrom != nil && e.Seq == t.start.ForkedFrom.Seq+1 // no process worked on it until then
	known := !t.last.IsZero() && since > 0 && t.parked == nil && !forking
	t.last = e.Time
	if !known {
		return
	}
	t.Total += since
	if _, ok := e.Body.(plan.CheckEnd); ok {
		t.inChecks += since
	} else if p := t.openPhase(); p != nil {
		p.Took += since
	}
}

// openPhase returns the attempt that is running, or nil.
func (t *Tally) openPhase() *phaseTally {
	if n := len(t.Phases); n > 0 && t.Phases[n-1].Open {
		return &t.Phases[n-1]
	}
	return nil
}

// addWork counts what phases do.
func (t *Tally) addWork(e plan.Event) {
	if b, ok := e.Body.(plan.PhaseStart); ok {
		t.openAttempt(e, b.Resumed)
		return
	}
	p := t.openPhase()
	if b, ok := e.Body.(plan.UsageReport); ok && b.Inherited {
		t.inherited, t.inheritedCost = t.inherited.Add(b.Usage), t.inheritedCost+b.CostUSD
	} else if ok {
		t.Usage, t.Cost = t.Usage.Add(b.Usage), t.Cost+b.CostUSD
		t.Unpriced = t.Unpriced || !b.Priced
		if p != nil {
			p.Usage, p.Cost = p.Usage.Add(b.Usage), p.Cost+b.CostUSD
			p.Unpriced = p.Unpriced || !b.Priced
		}
	}
	if p == nil {
		return
	}
	switch b := e.Body.(type) {
	case plan.PhaseEnd:
		p.Open = false
	case plan.MessageEnd: // a turn is an answered call
		if b.Role == plan.RoleAssistant && !b.Discarded && e.Parent == "" && e.Turn != nil {
			p.Turns++
		}
	case plan.ToolEnd:
		p.Tools++
	}
}

// openAttempt starts counting an attempt, or goes on with one that is resumed.
func (t *Tally) openAttempt(e plan.Event, resumed bool) {
	if p := t.openPhase(); p != nil {
		p.Open = false
	}
	if n := len(t.Phases); resumed && n > 0 && t.Phases[n-1].Phase == e.Phase && t.Phases[n-1].Attempt == e.Attempt {
		t.Phases[n-1].Open = true
		return
	}
	t.Phases = append(t.Phases, phaseTally{
		Phase:   e.Phase,
		Attempt: e.Attempt,
		Open:    true,
	})
}

// addCheck keeps a result; a check that was stopped has none.
func (t *Tally) addCheck(r plan.CheckResult) {
	if r.Cancelled || r.Source == plan.CheckSetup {
		return
	}
	if r.Evidence != "" {
		t.trials = append(t.trials, r)
		return
	}
	i := slices.IndexFunc(t.Checks, func(c checkTally) bool { return c.command == r.Command })
	if i < 0 {
		i = len(t.Checks)
		t.Checks = append(t.Checks, checkTally{command: r.Command})
	}
	if r.Baseline {
		t.Checks[i].baseline = &r
	} else {
		t.Checks[i].Latest = &r
	}
}

// failing counts the checks that fail after the last change.
func (t *Tally) failing() int {
	n := 0
	for _, c := range t.Checks {
		if c.Latest != nil && c.Latest.Fails() {
			n++
		}
	}
	return n
}

// baselineOf returns what a check said before the work, or nil.
func (t *Tally) baselineOf(command string) *plan.CheckResult {
	for _, c := range t.Checks {
		if c.command == command {
			return c.baseline
		}
	}
	return nil
}

// phaseTime is the time of all attempts of one phase.
type phaseTime struct {
	phase    plan.Phase
	duration time.Duration
}

// phaseTimes sums the attempts of each phase, in the order of first start.
func (t *Tally) phaseTimes() []phaseTime {
	var out []phaseTime
	for _, p := range t.Phases {
		i := slices.IndexFunc(out, func(x phaseTime) bool { return x.phase == p.Phase })
		if i < 0 {
			i = len(out)
			out = append(out, phaseTime{phase: p.Phase})
		}
		out[i].duration += p.Took
	}
	return out
}
