package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/plan-engine/plan"
)

// PlanApprover is where people decide about plans.
type PlanApprover interface {
	// Ruling returns what a person has decided about this version of the plan,
	// or nil as long as none is made.
	Ruling(ctx context.Context, doc plan.PlanDoc) (*Ruling, error)
}

// Ruling is a decision about a version of the plan. Without Approved and
// Rejected the plan goes back to be written anew, and Text says why.
type Ruling struct {
	Approved bool
	Rejected bool          // the run ends
	Text     string        // comments, or a reason
	Plan     *plan.PlanDoc // approved instead: as the person edited it
	By       string        // person, or policy where no person is asked; "" decides nothing
	Letter   int64         // in the inbox; 0 for none
	// Stray are letters that decide nothing about this version as it was shown.
	// They are recorded, so that they decide about no other one either.
	Stray []plan.Filtered
}

// plan writes a plan, has it looked at a second time and approved, if that is
// wanted. Each of the three is recorded before the next begins.
func (e *Engine) plan(ctx context.Context) (*plan.Parked, error) {
	if !e.run.drafted {
		out, err := e.phase(ctx, plan.Plan, func(b *plan.Brief) {
			b.Report, b.Sibling = e.run.Report, e.run.Start.Sibling
			b.Plan = e.run.Plan()
			b.Replan = e.run.replanned()
			b.Remarks, b.By = e.run.remarks, e.run.remarksBy
		})
		if err != nil || out.Park != nil {
			return out.Park, err
		}
		doc := *out.Plan
		doc.Version = len(e.run.Plans) + 1
		if !e.wantsCritique() && !e.wantsApproval() {
			return e.leavePlanning(ctx, "", plan.PlanMade{PlanDoc: doc})
		}
		end := e.event(plan.PhaseEnd{Reason: plan.EndCompleted})
		if err := e.emit(ctx, end, e.event(plan.PlanMade{PlanDoc: doc})); err != nil {
			return nil, err
		}
	}
	if e.wantsCritique() {
		return e.critique(ctx)
	}
	if e.wantsApproval() {
		return e.approval(ctx)
	}
	return e.leavePlanning(ctx, "")
}

func (e *Engine) wantsCritique() bool { return e.cfg.Critique && !e.run.critiqued }
func (e *Engine) wantsApproval() bool { return e.cfg.ApprovePlan && e.cfg.PlanApprover != nil }

// mostUnread is how often a plan that would be the end of a run is written anew for a
// request that came too late for it.
const mostUnread = 3

// unreadAtPlan is why a plan was written anew for such a request.
const unreadAtPlan = "a further request came that the plan does not answer"

// leavePlanning is the move that follows from a plan. One that ends the run is written anew
// where a person has said something that the planner has not read.
func (e *Engine) leavePlanning(ctx context.Context, why string, results ...plan.Body) (*plan.Parked, error) {
	if !e.cfg.PlanOnly {
		return nil, e.move(ctx, evPlan, why, results...)
	}
	err := e.move(ctx, evPlanOnly, why, results...)
	if !errors.Is(err, ErrUnread) {
		return nil, err
	}
	again := 0
	for _, m := range e.run.Moves {
		if m.Event == evRevise && m.Why == unreadAtPlan {
			again++
		}
	}
	if again == mostUnread {
		return &plan.Parked{
			Reason: plan.ParkLimit,
			Detail: "the plan is there, but a further request came that it does not answer, again and again",
		}, nil
	}
	return nil, e.move(ctx, evRevise, unreadAtPlan, results...)
}

// critique has the plan looked at by a model that did not write it, once in a
// run. It advises: when the look itself fails, the plan is carried out as it is.
func (e *Engine) critique(ctx context.Context) (*plan.Parked, error) {
	doc := e.run.Plan()
	done := plan.Critiqued{Version: doc.Version}
	out, err := e.phase(ctx, plan.Critique, func(b *plan.Brief) { b.Plan = doc })
	switch {
	case e.dead != nil || ctx.Err() != nil || isJournal(err):
		return nil, err
	case err != nil:
		done.Error = err.Error()
	case out.Park != nil && out.Park.Reason != plan.ParkLimit && out.Park.Reason != plan.ParkRefused:
		return out.Park, nil
	case out.Park != nil:
		done.Error = out.Park.Detail
	case out.Remarks != "":
		done.Findings = out.Remarks
		return nil, e.move(
			ctx,
			evRevise,
			fmt.Sprintf("a critique of version %d found something to change", doc.Version),
			done,
		)
	}
	reason := plan.EndCompleted
	if done.Error != "" {
		reason = plan.EndError
	}
	events := e.run.endOpen(reason, func(plan.Body) bool { return true })
	if e.run.phaseOpen {
		events = append(events, e.event(plan.PhaseEnd{Reason: reason}))
	}
	return nil, e.emit(ctx, append(events, e.event(done))...)
}

// approval does what a person has decided about the plan, or waits for it.
// Nothing but a clear yes to this very version lets it be carried out.
func (e *Engine) approval(ctx context.Context) (*plan.Parked, error) {
	doc := e.run.Plan()
	r, err := e.cfg.PlanApprover.Ruling(ctx, *doc)
	if err != nil {
		return nil, &plan.Outage{Err: fmt.Errorf("look for a decision about the plan: %w", err)}
	}
	if r == nil {
		r = &Ruling{}
	}
	for _, s := range r.Stray {
		if err := e.emit(ctx, e.event(s)); err != nil {
			return nil, err
		}
	}
	if r.By == "" {
		return e.awaitApproval(ctx, *doc)
	}
	resolved := plan.ApprovalResolved{
		Call:     plan.PlanCall(doc.Version),
		Approved: r.Approved,
		Reason:   r.Text,
		By:       r.By,
		Letter:   r.Letter,
	}
	switch {
	case r.Approved && r.Plan != nil:
		edited := *r.Plan
		edited.Version, edited.By = doc.Version+1, "person"
		return e.leavePlanning(
			ctx,
			fmt.Sprintf("version %d of the plan was approved with changes", doc.Version),
			resolved,
			plan.PlanMade{PlanDoc: edited},
		)
	case r.Approved:
		return e.leavePlanning(ctx, "", resolved)
	case r.Rejected:
		return nil, e.finish(ctx, evCancel, because("the plan was rejected", r.Text), resolved)
	}
	return nil, e.move(ctx, evRevise, fmt.Sprintf("version %d of the plan was sent back", doc.Version), resolved)
}

// awaitApproval asks for a decision, once, and parks.
func (e *Engine) awaitApproval(ctx context.Context, doc plan.PlanDoc) (*plan.Parked, error) {
	call := plan.PlanCall(doc.Version)
	args, err := json.Marshal(struct {
		Version int `json:"version"`
	}{doc.Version})
	if err != nil {
		return nil, fmt.Errorf("describe the plan that waits: %w", err)
	}
	why := fmt.Sprintf("version %d of the plan waits to be approved", doc.Version)
	if e.run.lastPlanCall != call {
		if err := e.emit(ctx, e.event(plan.ApprovalRequired{
			Call:    call,
			Name:    plan.PlanTool,
			Args:    args,
			Why:     why,
			Version: doc.Version,
			Shown:   doc.Text,
			Digest:  plan.PlanDigest(doc.Text),
		})); err != nil {
			return nil, err
		}
	}
	return &plan.Parked{
		Reason: plan.ParkApproval,
		Detail: why,
		Waiting: []plan.WaitingCall{{
			Call:   call,
			Name:   plan.PlanTool,
			Args:   args,
			Why:    why,
			Effect: doc.Text,
			Digest: plan.PlanDigest(doc.Text),
		}},
	}, nil
}

func because(event, why string) string {
	if why == "" {
		return event
	}
	return event + ": " + why
}
