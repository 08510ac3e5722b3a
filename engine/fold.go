package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/plan-engine/plan"
)

// Run is what a run has come to: the fold over its journal. The zero value is
// a run without events. It is changed only by Apply.
type Run struct {
	ID      plan.RunID
	Job     string
	Start   *plan.RunStart
	State   plan.State
	Parked  *plan.Parked
	Outcome *plan.RunEnd
	Moves   []plan.StateChange

	Report    string
	Plans     []plan.PlanDoc
	Snapshots []plan.Snapshot
	Adjusted  []plan.Adjusted // what model servers turned out not to take
	// Baseline holds the checks before the first Implement, Checks those of
	// the latest attempt, in the order in which they ran.
	Baseline []plan.CheckResult
	Checks   []plan.CheckResult
	Verdicts []plan.Judgement
	Gaps     []plan.Gap
	// Findings are what was noticed about the work that is reviewed.
	Findings []plan.Finding

	// Drifts is how the tree changed under the run, oldest first.
	Drifts []plan.Drift
	// Settings are those the run goes on with, where they are no longer those
	// of its start.
	Settings *plan.SettingsChanged

	// Guidance is what the person has said while the run went on, oldest first.
	Guidance []string

	Usage  plan.Usage
	Cost   float64 // USD
	Priced bool    // false once a model without a known price was used
	// Inherited is what the run that this one was forked from used up to there.
	Inherited     plan.Usage
	InheritedCost float64 // USD

	Head int64 // seq of the last event
	Last time.Time

	spentBy    map[plan.Phase]spent
	attempts   map[plan.Phase]int
	convs      map[plan.Phase]string // conversation of the phase's latest attempt
	convCount  int
	phaseOpen  bool // phase_start without phase_end
	phaseBegun bool // this attempt has had a phase_start
	// implemented says that some Implement began, so that a tree without the
	// run's work cannot be had any more.
	implemented bool
	open        []plan.Event
	openConvs   []*openConv

	// What the run has done to the tree since its latest snapshot: the content
	// hash of each file that its tools left or showed, and whether a command
	// ran, which may have changed anything.
	ownFiles        map[string]string
	ranCommand      bool
	unreportedDrift *plan.Drift // a drift that no conversation has been told of

	inCritique bool // the open phase is the critique of the plan

	drafted            bool // this attempt of Plan has made one, or Explore has
	leftPlan           int  // how many plans there were when one was given up last
	askedReplan        bool // the implementer has asked for another plan
	critiqued          bool
	lastPlanCall       string            // the call of the plan that a person was asked about last
	remarks, remarksBy string            // that the next version of the plan answers
	setUps             map[string]bool   // setup commands that ended, and whether they passed
	asking             []*checksQuestion // about checks that cannot start, oldest first
	rechecked          bool              // this attempt to implement went on for a check that fails
	toolsAt            time.Time         // of the first snapshot with a digest of tools
	toolsFrom          int               // the first snapshot of the machine that it is on
	fromElsewhere      bool              // another machine has begun it
	judged             string            // the tree that the current review looks at
	reviews            []reviewed
	reopened           map[string]int // by gap
}

// spent is what one phase has used, in all its attempts.
type spent struct {
	Usage plan.Usage
	Cost  float64 // USD
}

// Fold folds a journal.
func Fold(events func(yield func(plan.Event, error) bool)) (*Run, error) {
	run := &Run{}
	for ev, err := range events {
		if err != nil {
			return run, fmt.Errorf("read the journal: %w", err)
		}
		run.Apply(ev)
	}
	return run, nil
}

// Plan is the latest version of the plan, or nil.
func (r *Run) Plan() *plan.PlanDoc {
	if len(r.Plans) == 0 {
		return nil
	}
	return &r.Plans[len(r.Plans)-1]
}

// Tree is the tree of the latest snapshot, "" before the first one.
func (r *Run) Tree() string {
	if len(r.Snapshots) == 0 {
		return ""
	}
	return r.Snapshots[len(r.Snapshots)-1].Tree
}

// Origin is the tree that the run's change counts from: the one it began with,
// with what others have changed since, or what a review was asked to compare with.
func (r *Run) Origin() string {
	for _, d := range slices.Backward(r.Drifts) {
		if d.Origin != "" {
			return d.Origin
		}
	}
	if r.Start == nil {
		return ""
	}
	return r.Start.Origin()
}

// Attempt is how many times the phase has begun. A critique happens once.
func (r *Run) Attempt(p plan.Phase) int {
	if p == plan.Critique {
		return 1
	}
	return r.attempts[p]
}

// working is the phase that the run is in, or its critique of the plan.
func (r *Run) working() plan.Phase {
	if r.phaseOpen && r.inCritique {
		return plan.Critique
	}
	return r.State.Phase()
}

// begun reports whether the phase's current attempt has had a phase_start.
func (r *Run) begun(p plan.Phase) bool {
	if p == plan.Critique {
		return r.convs[p] != ""
	}
	return r.phaseBegun
}

// Apply takes one event. Events come in the order of the journal; those of
// types that say nothing about the run as a whole change nothing but Head.
func (r *Run) Apply(ev plan.Event) {
	if r.attempts == nil {
		r.State, r.Priced = plan.Unstarted, true
		r.attempts, r.convs, r.reopened = map[plan.Phase]int{}, map[plan.Phase]string{}, map[string]int{}
		r.spentBy = map[plan.Phase]spent{}
	}
	if ev.Seq > 0 {
		r.Head, r.Last = ev.Seq, ev.Time
	}
	r.trackOpen(ev)
	r.trackTree(ev)
	switch b := ev.Body.(type) {
	case plan.RunStart:
		r.ID, r.Job, r.Start = ev.Run, ev.Job, &b
	case plan.RunEnd:
		r.Outcome, r.Parked = &b, nil
	case plan.StateChange:
		r.applyMove(b)
	case plan.PhaseStart:
		r.beginPhase(ev.Phase, ev.Conv)
	case plan.PhaseEnd:
		r.phaseOpen = false
	case plan.Parked:
		r.Parked = &b
	case plan.Unparked:
		r.Parked = nil
	case plan.UsageReport:
		r.applyUsage(ev.Phase, b)
	case plan.Report:
		r.Report = b.Text
	case plan.PlanMade:
		r.Plans = append(r.Plans, b.PlanDoc)
		r.drafted, r.remarks, r.remarksBy = true, "", ""
	case plan.Critiqued:
		r.critiqued, r.remarks, r.remarksBy = true, b.Findings, "critique"
	case plan.FindingMade:
		r.Findings = append(r.Findings, b.Finding)
	case plan.Snapshot:
		if before, _ := r.tools(); before == nil && b.Tools != nil {
			r.toolsAt = ev.Time
		}
		r.Snapshots = append(r.Snapshots, b)
	case plan.Adjusted:
		r.Adjusted = append(r.Adjusted, b)
	case plan.CheckEnd:
		r.applyCheck(b.CheckResult)
	case plan.VerdictGiven:
		r.Verdicts = append(r.Verdicts, b.Judgement)
	case plan.Steering:
		r.Guidance = append(r.Guidance, b.Text)
	case plan.FollowUp:
		r.Guidance = append(r.Guidance, b.Text)
	case plan.GapChange:
		r.applyGap(b.Gap)
	case plan.ToolEnd:
		r.askedReplan = r.askedReplan || b.Name == plan.ReplanTool && !b.Error
	case plan.Question:
		r.applyQuestion(b)
	case plan.Answered:
		r.applyAnswer(b)
	// Calls of tools wait for people in the same way and are the business of their
	// conversations: only what is asked about a plan counts here.
	case plan.ApprovalRequired:
		if b.Name == plan.PlanTool {
			r.lastPlanCall = b.Call
		}
	case plan.ApprovalResolved:
		if b.Call == r.lastPlanCall && r.lastPlanCall != "" && !b.Approved {
			r.remarks, r.remarksBy = b.Reason, b.By
		}
	}
}

// beginPhase takes a conversation of a phase that begins, or goes on.
func (r *Run) beginPhase(phase plan.Phase, conv string) {
	r.phaseOpen, r.phaseBegun, r.inCritique = true, true, phase == plan.Critique
	r.implemented = r.implemented || phase == plan.Implement
	if r.convs[phase] != conv {
		r.convs[phase] = conv
		r.convCount++
	}
}

// applyUsage adds what a phase has consumed, or what a fork has from the run it comes from.
func (r *Run) applyUsage(phase plan.Phase, b plan.UsageReport) {
	if b.Inherited {
		r.Inherited, r.InheritedCost = r.Inherited.Add(b.Usage), r.InheritedCost+b.CostUSD
		return
	}
	r.Usage = r.Usage.Add(b.Usage)
	r.Cost += b.CostUSD
	r.Priced = r.Priced && b.Priced
	by := r.spentBy[phase]
	r.spentBy[phase] = spent{Usage: by.Usage.Add(b.Usage), Cost: by.Cost + b.CostUSD}
}

func (r *Run) applyMove(b plan.StateChange) {
	if b.Event == evRecheck {
		// The attempt to implement goes on, and no review has begun.
		r.Moves = append(r.Moves, b)
		r.State, r.rechecked, r.phaseBegun = b.To, true, true
		r.attempts[plan.Review]--
		return
	}
	if b.From == plan.Reviewing {
		r.reviews = append(r.reviews, reviewed{Tree: r.judged, Open: r.openAfter(nil)})
	}
	r.State = b.To
	r.drafted = b.Event == evReport && len(r.Plans) > 0 // by Explore
	r.Moves = append(r.Moves, b)
	if p := b.To.Phase(); p != "" {
		r.attempts[p]++
		r.phaseBegun = false
		if p != plan.Implement {
			delete(r.convs, p) // a fresh fork
		} else {
			r.rechecked = false
		}
		if b.Event == evReplan {
			r.leftPlan = len(r.Plans)
			delete(r.convs, plan.Implement) // another plan is another conversation
		}
		if p == plan.Review {
			r.judged = r.Tree()
			r.Checks, r.Findings = nil, nil
		}
	}
}

func (r *Run) applyCheck(c plan.CheckResult) {
	switch {
	case c.Cancelled: // it is run again
	case c.Evidence != "": // made to weigh a verdict, and in no other way about the work
	case c.Source == plan.CheckSetup:
		if r.setUps == nil {
			r.setUps = map[string]bool{}
		}
		r.setUps[c.Command] = c.Passed()
	case c.Baseline:
		r.Baseline = append(r.Baseline, c)
	default:
		r.Checks = append(r.Checks, c)
	}
}

func (r *Run) applyGap(g plan.Gap) {
	if g.Status == plan.GapReopened {
		r.reopened[g.ID]++
	}
	for i := range r.Gaps {
		if r.Gaps[i].ID == g.ID {
			r.Gaps[i] = g
			return
		}
	}
	r.Gaps = append(r.Gaps, g)
}

// conv is the conversation of the phase's current attempt: the one it has
// begun, or the next free name.
func (r *Run) conv(p plan.Phase) string {
	if c := r.convs[p]; c != "" {
		return c
	}
	return fmt.Sprintf("c%d", r.convCount+1)
}
