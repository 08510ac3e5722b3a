package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/phases"
)

// Decision is what a person decides about what a run waits with.
type Decision struct {
	// Approve says yes; otherwise it is a no.
	Approve bool
	// Call is the one that is meant; "" for the one that waits.
	Call string
	// Text is the reason, which the model reads; of a plan that is sent back, what
	// should change about it.
	Text string
	// Scope is how far a yes reaches: plan.ScopeOnce (the default), ScopeRun, or
	// ScopeAlways, which also adds a rule to the user's settings.
	Scope string
	// Plan is approved in the place of the plan that waits.
	Plan string
	// Reject ends the run whose plan waits.
	Reject bool
	// OfPlan says that the decision makes sense about a plan alone.
	OfPlan bool
}

// Decide puts a decision about the call, or the plan, that a run waits with into
// its inbox, as [Host.Tell] does. A decision about a plan names the version that
// waits now, so that it cannot meet another.
func (h *Host) Decide(ctx context.Context, id plan.RunID, d Decision) (driver *memory.HeldError, err error) {
	db, err := h.DB(ctx)
	if err != nil {
		return nil, err
	}
	l := Letter{
		Kind:   Deny,
		Text:   d.Text,
		Call:   d.Call,
		Plan:   d.Plan,
		Reject: d.Reject,
	}
	if d.Approve {
		l.Kind = Approve
	}
	if err := addressPlan(ctx, db, id, d, &l); err != nil {
		return nil, err
	}
	if d.Scope != "" && d.Scope != plan.ScopeOnce {
		if err := h.widenScope(ctx, db, id, d.Scope, &l); err != nil {
			return nil, err
		}
	}
	return h.Tell(ctx, id, l)
}

// addressPlan makes a decision one about the plan that waits, if one does.
func addressPlan(ctx context.Context, db *memory.DB, id plan.RunID, d Decision, l *Letter) error {
	call, err := waitingPlan(ctx, db, id)
	if err != nil {
		return err
	}
	switch {
	case call == "" && (d.OfPlan || d.Plan != "" || d.Reject):
		return hint.New(
			fmt.Sprintf("no plan of run %s waits to be approved", id),
			"`plan show RUN` says what a run waits for.",
		)
	case call == "" || l.Call != "" && l.Call != call:
		return nil
	}
	info, err := db.Run(ctx, id)
	if err != nil {
		return err
	}
	if info.Parked == plan.ParkDrift && !d.Reject {
		return hint.New(
			fmt.Sprintf("the work tree of run %s changed while its plan waited, so the plan cannot be decided "+
				"about yet", id),
			fmt.Sprintf("Say first whether to go on with the tree as it is: plan resume %s --accept-drift, or "+
				"--replan. "+
				"Then decide about the plan.", id),
		)
	}
	l.Call = call
	if l.Kind == Deny && !d.Reject && strings.TrimSpace(l.Text) == "" {
		return hint.Usage("say what should change about the plan with --comment TEXT, or end the run with --reject")
	}
	return nil
}

// WaitingPlan is the call of the plan that a run waits with, "" for none.
func (h *Host) WaitingPlan(ctx context.Context, id plan.RunID) (string, error) {
	db, err := h.DB(ctx)
	if err != nil {
		return "", err
	}
	return waitingPlan(ctx, db, id)
}

// waitingPlan is the call of the plan that a run waits with, "" for none.
func waitingPlan(ctx context.Context, db *memory.DB, id plan.RunID) (string, error) {
	info, err := db.Run(ctx, id)
	if err != nil || info.Parked != plan.ParkApproval {
		return "", err
	}
	run, err := Fold(ctx, db, id, nil)
	if err != nil || run.Parked == nil {
		return "", err
	}
	i := slices.IndexFunc(run.Parked.Waiting, plan.WaitingCall.IsPlan)
	if i < 0 {
		return "", nil
	}
	return run.Parked.Waiting[i].Call, nil
}

// widenScope gives a yes its reach. A yes for longer is about one call: the one
// that the letter names, or the only one that waits.
func (h *Host) widenScope(ctx context.Context, db *memory.DB, id plan.RunID, scope string, l *Letter) error {
	waiting, err := waitingCalls(ctx, db, id)
	if err != nil {
		return err
	}
	waiting = slices.DeleteFunc(waiting, func(w plan.WaitingCall) bool { return l.Call != "" && w.Call != l.Call })
	see := fmt.Sprintf("plan approve %s --show", id)
	switch {
	case len(waiting) == 0:
		return hint.New(fmt.Sprintf("run %s waits with no such call", id), "See what it waits with: "+see)
	case len(waiting) > 1:
		return hint.New(
			fmt.Sprintf("run %s waits with %d calls; say which one is allowed for longer", id, len(waiting)),
			"See them: "+see,
		)
	case waiting[0].Grant == (plan.Grant{}):
		return hint.New(
			"this call can only be allowed once: no rule can say what else the yes would be for",
			"Leave --for-run and --always out, or write a rule of your own into config.toml.",
		)
	}
	l.Call = waiting[0].Call
	l.Scope = scope
	if scope == plan.ScopeAlways {
		return h.AllowAlways(ctx, waiting[0].Grant)
	}
	return nil
}

// WaitingCalls are the calls of a run that wait for a yes.
func (h *Host) WaitingCalls(ctx context.Context, id plan.RunID) ([]plan.WaitingCall, error) {
	db, err := h.DB(ctx)
	if err != nil {
		return nil, err
	}
	return waitingCalls(ctx, db, id)
}

func waitingCalls(ctx context.Context, db *memory.DB, id plan.RunID) ([]plan.WaitingCall, error) {
	out := []plan.WaitingCall{}
	resolved := func(call string) {
		out = slices.DeleteFunc(out, func(w plan.WaitingCall) bool { return w.Call == call })
	}
	for ev, err := range db.Events(ctx, id, memory.Query{}) {
		if err != nil {
			return nil, fmt.Errorf("read what the run waits for: %w", err)
		}
		switch b := ev.Body.(type) {
		case plan.ApprovalRequired:
			out = append(out, plan.WaitingCall{
				Call:   b.Call,
				Name:   b.Name,
				Args:   b.Args,
				Why:    b.Why,
				Rule:   b.Rule,
				Effect: b.Effect,
				Grant:  b.Grant,
			})
		case plan.ApprovalResolved:
			resolved(b.Call)
		case plan.ToolEnd:
			resolved(b.Call)
		}
	}
	return out, nil
}

// AllowAlways writes what a yes allows into the user's own settings.
func (h *Host) AllowAlways(ctx context.Context, g plan.Grant) error {
	paths, err := h.Paths()
	if err != nil {
		return err
	}
	file, err := config.AddPermission(ctx, paths.Home, config.Permission{
		Tool:    g.Tool,
		Path:    g.Path,
		Command: g.Command,
		Action:  "allow",
	})
	if err != nil {
		return err
	}
	h.note(fmt.Sprintf("%s now allows %s", file, GrantText(g)))
	return nil
}

// GrantText says in one line what a grant allows.
func GrantText(g plan.Grant) string {
	parts := []string{g.Tool}
	for _, p := range []string{g.Path, g.Command} {
		if p != "" {
			parts = append(parts, fmt.Sprintf("%q", p))
		}
	}
	return strings.Join(parts, " ")
}

// planDecisions brings what people decide about plans to the engine. A letter
// counts for the version that it names and for no other.
type planDecisions struct{ s *session }

// Ruling implements engine.PlanApprover.
func (d planDecisions) Ruling(ctx context.Context, doc plan.PlanDoc) (*engine.Ruling, error) {
	letters, err := d.s.writer.Letters(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range letters {
		var text Letter
		kind := Kind(l.Kind)
		if kind != Approve && kind != Deny || json.Unmarshal(l.Data, &text) != nil ||
			text.Call != plan.PlanCall(doc.Version) {
			continue
		}
		r := &engine.Ruling{
			Approved: kind == Approve,
			Rejected: text.Reject,
			Text:     text.Text,
			By:       "person",
			Letter:   l.ID,
		}
		if r.Approved && text.Plan != "" {
			if r.Plan, err = d.s.parsePlan(ctx, text.Plan, doc.Base); err != nil {
				return nil, err
			}
		}
		return r, nil
	}
	if d.s.autoApprove {
		return &engine.Ruling{Approved: true, By: "policy"}, nil
	}
	return nil, nil
}

// parsePlan makes a plan of the text that a person wrote.
func (s *session) parsePlan(ctx context.Context, text, base string) (*plan.PlanDoc, error) {
	doc := phases.ParsePlan(s.redact(text))
	names := make([]string, 0, len(doc.Files))
	for name := range doc.Files {
		names = append(names, name)
	}
	var err error
	if doc.Files, err = s.repo.Hashes(ctx, names); err != nil {
		return nil, err
	}
	doc.Base = base
	return &doc, nil
}
