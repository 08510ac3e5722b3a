package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/looplab/fsm"

	"github.com/plan-engine/plan"
)

// The events that move a run.
const (
	evExplore   = "explore"   // begin with Explore
	evImplement = "implement" // begin with a plan that is there already
	evReview    = "review"    // begin with a change that is there already
	evReport    = "report"
	evAnswer    = "answer" // the report answers the question that the run was asked
	evRevise    = "revise" // write the plan anew: a critique or a person wants it changed
	evPlanOnly  = "plan_only"
	evPlan      = "plan"
	evBuilt     = "built"
	evApprove   = "approve"
	evFix       = "fix"
	evRecheck   = "recheck" // a required check fails: back to the same attempt, before a review is paid for
	evExhaust   = "exhaust"
	evBlock     = "block"
	evReplan    = "replan"
	evFail      = "fail"
	evCancel    = "cancel"
)

// move is one row of the table.
type move struct {
	event string
	from  []plan.State
	to    plan.State
}

// stage is a state in which a phase works.
type stage struct {
	state plan.State
	// work runs the phase and moves on. A park that comes back leaves the run
	// where it stands.
	work func(*Engine, context.Context) (*plan.Parked, error)
}

// stages are the states in which a phase works.
func stages() []stage {
	return []stage{
		{plan.Exploring, (*Engine).explore},
		{plan.Planning, (*Engine).plan},
		{plan.Implementing, (*Engine).implement},
		{plan.Reviewing, (*Engine).review},
	}
}

// explore is the simplest step: it prepares for the checks, runs its phase and moves on with what came of
// it, a report, or a plan where there was nothing left to decide; planning then has
// only to have it looked at and approved. What else a step does before its phase stands in steps.go.
func (e *Engine) explore(ctx context.Context) (*plan.Parked, error) {
	if park, err := e.prepare(ctx); park != nil || err != nil {
		return park, err
	}
	var out plan.Outcome
	var err error
	stopped := false
	if e.besides() {
		out, stopped, err = e.exploreBeside(ctx)
	} else {
		out, err = e.phase(ctx, plan.Explore, func(b *plan.Brief) { b.Context = e.cfg.Context })
	}
	if err != nil || out.Park != nil || stopped {
		return out.Park, err
	}
	report := plan.Report{Text: out.Report}
	if e.run.Start.Aim == plan.AimAsk {
		return nil, e.move(ctx, evAnswer, "", report)
	}
	if out.Plan == nil {
		return nil, e.move(ctx, evReport, out.Open, report)
	}
	doc := *out.Plan
	doc.Version = 1
	way := plan.WayTaken{
		Way: plan.WayShort,
		Why: "Explore saw the whole change, and left nothing for Plan to decide",
	}
	return nil, e.move(ctx, evReport, "", report, way, plan.PlanMade{PlanDoc: doc})
}

// table is the workflow.
func table() []move {
	return []move{
		{evExplore, []plan.State{plan.Unstarted}, plan.Exploring},
		{evImplement, []plan.State{plan.Unstarted}, plan.Implementing},
		{evReview, []plan.State{plan.Unstarted}, plan.Reviewing},
		{evReport, []plan.State{plan.Exploring}, plan.Planning},
		{evAnswer, []plan.State{plan.Exploring}, plan.QuestionAnswered},
		{evRevise, []plan.State{plan.Planning}, plan.Planning},
		{evPlan, []plan.State{plan.Planning}, plan.Implementing},
		{evPlanOnly, []plan.State{plan.Planning}, plan.Planned},
		{evBuilt, []plan.State{plan.Implementing}, plan.Reviewing},
		{evFix, []plan.State{plan.Reviewing}, plan.Implementing},
		{evRecheck, []plan.State{plan.Reviewing}, plan.Implementing},
		{evReplan, []plan.State{plan.Implementing, plan.Reviewing}, plan.Planning},
		{evApprove, []plan.State{plan.Reviewing}, plan.Approved},
		{evExhaust, []plan.State{plan.Reviewing}, plan.Exhausted},
		{evBlock, []plan.State{plan.Reviewing}, plan.Blocked},
		{evFail, plan.ActiveStates(), plan.Failed},
		{evCancel, plan.ActiveStates(), plan.Cancelled},
	}
}

// machine is the table standing in one state. It is built afresh wherever it
// is needed: a move that could not be recorded must leave nothing behind.
func machine(at plan.State) *fsm.FSM {
	var events fsm.Events
	for _, m := range table() {
		d := fsm.EventDesc{Name: m.event, Dst: string(m.to)}
		for _, s := range m.from {
			d.Src = append(d.Src, string(s))
		}
		events = append(events, d)
	}
	return fsm.NewFSM(string(at), events, nil)
}

// next is the state that an event leads to.
func next(ctx context.Context, at plan.State, event string) (plan.State, error) {
	m := machine(at)
	// A cancelled context would wedge the machine between two states.
	err := m.Event(context.WithoutCancel(ctx), event)
	var same fsm.NoTransitionError
	if errors.As(err, &same) {
		err = same.Err // nil for a move to where the run is, which is no failure
	}
	if err != nil {
		return "", fmt.Errorf("move a run that is %s by %q: %w", at, event, err)
	}
	return plan.State(m.Current()), nil
}

// Mermaid draws the table. With moves, the way a run took is marked: each
// transition that was used carries the numbers of its moves, and the state the
// run is in is highlighted.
func Mermaid(moves []plan.StateChange) string {
	edges := map[[2]plan.State]map[string][]string{}
	at := plan.State("")
	visited := map[plan.State]bool{}
	for i, m := range moves {
		key := [2]plan.State{m.From, m.To}
		if edges[key] == nil {
			edges[key] = map[string][]string{}
		}
		edges[key][m.Event] = append(edges[key][m.Event], fmt.Sprint(i+1))
		visited[m.To] = true
		at = m.To
	}
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	for _, row := range table() {
		for _, from := range row.from {
			src := string(from)
			if from == plan.Unstarted {
				src = "[*]"
			}
			label := row.event
			if steps := edges[[2]plan.State{from, row.to}][row.event]; steps != nil {
				label += " ✓ " + strings.Join(steps, ", ")
			}
			fmt.Fprintf(&b, "    %s --> %s: %s\n", src, row.to, label)
		}
	}
	for _, s := range plan.FinalStates() {
		fmt.Fprintf(&b, "    %s --> [*]\n", s)
	}
	mark(&b, visited, at)
	return b.String()
}

// mark colours the states a run went through and the one it is in.
func mark(b *strings.Builder, visited map[plan.State]bool, at plan.State) {
	if at == "" {
		return
	}
	b.WriteString("    classDef taken fill:#dbeafe,stroke:#2563eb\n")
	b.WriteString("    classDef current fill:#bbf7d0,stroke:#15803d,stroke-width:3px\n")
	for _, s := range append(plan.ActiveStates(), plan.FinalStates()...) {
		switch {
		case s == at:
			fmt.Fprintf(b, "    class %s current\n", s)
		case visited[s]:
			fmt.Fprintf(b, "    class %s taken\n", s)
		}
	}
}
