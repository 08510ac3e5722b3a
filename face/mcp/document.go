package mcp

import (
	"context"
	"fmt"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
)

// Document is how a run stands, as every tool answers.
type Document struct {
	Run    plan.RunID      `json:"run"`
	State  string          `json:"state" jsonschema:"running, parked, or how it ended, such as approved, exhausted or blocked"`
	Phase  plan.State      `json:"phase,omitempty" jsonschema:"where a run that is not final stands"`
	Parked plan.ParkReason `json:"parked,omitempty" jsonschema:"why it waits"`
	Why    string          `json:"why,omitempty"`
	Next   string          `json:"next" jsonschema:"what can be done now"`

	Request  string        `json:"request"`
	Repo     string        `json:"repo"`
	Worktree string        `json:"worktree,omitempty" jsonschema:"the run's own work tree; plan_apply brings its change over"`
	Answer   string        `json:"answer,omitempty" jsonschema:"of a question"`
	Waiting  []Waiting     `json:"waiting,omitempty" jsonschema:"what a person is asked"`
	Verdict  string        `json:"verdict,omitempty" jsonschema:"the reviewer's last"`
	Evidence string        `json:"evidence,omitempty" jsonschema:"what an approval rests on: shown or unbroken"`
	Gaps     []plan.Gap    `json:"gaps,omitempty" jsonschema:"that are open"`
	Checks   []CheckResult `json:"checks,omitempty" jsonschema:"after the last change"`
	Notes    []string      `json:"notes,omitempty"`
	Open     []string      `json:"open,omitempty" jsonschema:"what the implementer left open"`
	Diff     plan.DiffStat `json:"diff"`
	Tokens   int64         `json:"tokens"`
	CostUSD  float64       `json:"cost_usd"`
}

// Waiting is a call, a question or the plan that waits for a person.
type Waiting struct {
	Call     string   `json:"call"`
	Name     string   `json:"name"`
	Question string   `json:"question,omitempty"`
	Options  []string `json:"options,omitempty"`
	Shown    string   `json:"shown,omitempty"`
	Why      string   `json:"why,omitempty"`
	Digest   string   `json:"digest,omitempty"`
}

// CheckResult is how a command ended that decides.
type CheckResult struct {
	Command  string `json:"command"`
	ExitCode int    `json:"exit_code"`
	Required bool   `json:"required,omitempty"`
	Before   *int   `json:"before,omitempty" jsonschema:"its exit code before the change"`
}

const running = "running"

// document says how a run stands.
func (s *server) document(ctx context.Context, id plan.RunID) (Document, error) {
	run, err := s.host.Standing(ctx, id, nil)
	if err != nil {
		return Document{}, err
	}
	d := Document{
		Run:     run.ID,
		State:   string(run.State),
		Gaps:    openGaps(run),
		Checks:  checkResults(run),
		Tokens:  run.Usage.Input + run.Usage.Output,
		CostUSD: run.Cost,
	}
	if run.Start != nil {
		d.Request = clean(run.Start.Request)
		d.Repo = run.Start.Repo
		d.Worktree = run.Start.Worktree
	}
	if n := len(run.Verdicts); n > 0 {
		d.Verdict = string(run.Verdicts[n-1].Verdict)
		d.Why = clean(run.Verdicts[n-1].Why)
	}
	if run.Start != nil && run.Start.Aim == plan.AimAsk {
		d.Answer = clean(run.Report)
	}
	if size, err := s.host.SizeOf(ctx, run); err == nil { // a tree that is gone has none
		d.Diff = size
	}
	s.describeState(run, &d)
	return d, nil
}

// describeState says where a run stands, and what can be done.
func (s *server) describeState(run *engine.Run, d *Document) {
	switch {
	case run.Outcome != nil:
		d.Evidence = run.Outcome.Evidence
		d.Notes = run.Outcome.Notes
		d.Open = run.Outcome.Open
		d.Diff = run.Outcome.Diff
		if run.Outcome.Why != "" {
			d.Why = clean(run.Outcome.Why)
		}
		d.Next = "It has ended. plan_diff shows the change; plan_tell continues it with a further request."
		if d.Worktree != "" && run.State == plan.Approved {
			d.Next = "Approved, in a work tree of its own. plan_diff shows the change; plan_apply brings it over."
		}
	case run.Parked != nil:
		d.State = "parked"
		d.Phase = run.State
		d.Parked = run.Parked.Reason
		d.Why = clean(run.Parked.Detail)
		d.Waiting = waitingOf(run)
		d.Next = s.nextOf(run)
	default:
		d.State = running
		d.Phase = run.State
		d.Next = "It goes on. Call plan_wait with this run."
	}
}

// nextOf says what can be done about a parked run.
func (s *server) nextOf(run *engine.Run) string {
	switch run.Parked.Reason {
	case plan.ParkQuestion:
		return "plan_tell answers the question; ask the person where you do not know."
	case plan.ParkApproval:
		text := fmt.Sprintf("A person decides: plan approve %s, or plan deny %s.", run.ID, run.ID)
		if s.options.AllowDecisions {
			text += " Or plan_decide, with the call and its digest."
		}
		return text
	case plan.ParkDrift:
		return fmt.Sprintf("Files changed under the run. A person says what holds: plan resume %s --accept-drift, "+
			"or --replan.", run.ID)
	}
	return "plan_wait goes on with it; plan_tell goes on with guidance."
}

func waitingOf(run *engine.Run) []Waiting {
	var out []Waiting
	for _, w := range run.Parked.Waiting {
		text := w.Shown()
		if doc := run.Plan(); w.IsPlan() && doc != nil {
			text = doc.Text
			w = w.Bound(doc.Text)
		}
		if w.Question != "" {
			text = ""
		}
		out = append(out, Waiting{
			Call:     w.Call,
			Name:     w.Name,
			Question: clean(w.Question),
			Options:  w.Options,
			Shown:    clean(text),
			Why:      clean(w.Why),
			Digest:   w.Bound("").Digest,
		})
	}
	return out
}

func openGaps(run *engine.Run) []plan.Gap {
	var out []plan.Gap
	for _, g := range run.Gaps {
		if g.Open() {
			g.Gap = clean(g.Gap)
			out = append(out, g)
		}
	}
	return out
}

func checkResults(run *engine.Run) []CheckResult {
	before := map[string]int{}
	for _, c := range run.Baseline {
		before[c.Command] = c.ExitCode
	}
	var out []CheckResult
	for _, c := range run.Checks {
		r := CheckResult{
			Command:  clean(c.Command),
			ExitCode: c.ExitCode,
			Required: c.Required,
		}
		if code, ok := before[c.Command]; ok {
			r.Before = &code
		}
		out = append(out, r)
	}
	return out
}
