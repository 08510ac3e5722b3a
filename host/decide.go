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
	// Digest is that of what the person was shown (plan.WaitingCall). Default: that
	// of what waits now.
	Digest string
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
	// Show is given what the decision is about, before it is made. Default: it is
	// not shown.
	Show func(plan.WaitingCall)
}

// Decide puts a decision about the call, or the plan, that a run waits with into
// its inbox, as [Host.Tell] does. The letter names the call and what it would do, or
// the version of the plan and its text, as they are now: it cannot meet another.
// Driver is the process that reads it, nil where none drives the run.
func (h *Host) Decide(ctx context.Context, id plan.RunID, d Decision) (driver *memory.HeldError, err error) {
	db, err := h.DB(ctx)
	if err != nil {
		return nil, err
	}
	l := Letter{
		Kind:   Deny,
		Text:   d.Text,
		Call:   d.Call,
		Digest: d.Digest,
		Plan:   d.Plan,
		Reject: d.Reject,
	}
	if d.Approve {
		l.Kind = Approve
	}
	var call plan.WaitingCall
	err = h.postBound(ctx, db, id, &l, func() (err error) {
		call, err = h.bindDecision(ctx, db, id, d, &l)
		if err == nil && d.Show != nil && call.Call != "" {
			d.Show(call)
			d.Show = nil // once; bound again, it is about the same
		}
		return err
	})
	if err == nil && d.Scope == plan.ScopeAlways { // what was refused leaves no rule
		err = h.allowAlways(ctx, call.Grant)
	}
	if err != nil {
		return nil, err
	}
	driver, _ = db.Holder(id)
	return driver, nil
}

// bindDecision makes a letter the decision about what waits.
func (h *Host) bindDecision(
	ctx context.Context,
	db *memory.DB,
	id plan.RunID,
	d Decision,
	l *Letter,
) (plan.WaitingCall, error) {
	waits, err := readPending(ctx, db, id)
	if err != nil {
		return plan.WaitingCall{}, err
	}
	if err := waits.requirePlan(d, l); err != nil {
		return plan.WaitingCall{}, err
	}
	call, err := bindToCall(ctx, db, waits, l)
	if err != nil || d.Scope == plan.ScopeOnce || call.Call == "" {
		return call, err
	}
	if call.Grant == (plan.Grant{}) {
		return call, hint.New(
			"this call can only be allowed once: no rule can say what else the yes would be for",
			"Leave --for-run and --always out, or write a rule of your own into config.toml.",
		)
	}
	l.Scope = d.Scope
	return call, nil
}

// requirePlan refuses what makes sense about a plan alone where none waits, and what
// makes no sense about one that does.
func (d *pending) requirePlan(of Decision, l *Letter) error {
	id := d.run.ID
	i := slices.IndexFunc(d.open, plan.WaitingCall.IsPlan)
	switch {
	case i < 0 && !d.run.State.Final() && (of.OfPlan || of.Plan != "" || of.Reject):
		return hint.New(
			fmt.Sprintf("no plan of run %s waits to be approved", id)+d.planDecision(),
			"`plan show RUN` says what a run waits for.",
		)
	case i < 0 || l.Call != "" && l.Call != d.open[i].Call:
		return nil
	case d.run.Parked.Reason == plan.ParkDrift && !of.Reject:
		return hint.New(
			fmt.Sprintf("the work tree of run %s changed while its plan waited, so the plan cannot be decided "+
				"about yet", id),
			fmt.Sprintf("Say first whether to go on with the tree as it is: plan resume %s --accept-drift, or "+
				"--replan. "+
				"Then decide about the plan.", id),
		)
	case l.Kind == Deny && !of.Reject && strings.TrimSpace(l.Text) == "":
		return hint.Usage("say what should change about the plan, or reject it to end the run " +
			"(plan deny RUN --comment TEXT, or --reject)")
	}
	return nil
}

// planDecision says what was decided about the last plan, "" for nothing.
func (d *pending) planDecision() string {
	doc := d.run.Plan()
	if doc == nil || d.resolved[plan.PlanCall(doc.Version)] == "" {
		return ""
	}
	return fmt.Sprintf("; version %d was %s", doc.Version, d.resolved[plan.PlanCall(doc.Version)])
}

// WaitingPlan is the call of the plan that a run waits with, "" for none.
func (h *Host) WaitingPlan(ctx context.Context, id plan.RunID) (string, error) {
	waiting, err := h.WaitingCalls(ctx, id)
	i := slices.IndexFunc(waiting, plan.WaitingCall.IsPlan)
	if err != nil || i < 0 {
		return "", err
	}
	return waiting[i].Call, nil
}

// WaitingCalls are the calls of a run that wait for a yes and have none yet, and the plan
// that does.
func (h *Host) WaitingCalls(ctx context.Context, id plan.RunID) ([]plan.WaitingCall, error) {
	waits, err := h.undecided(ctx, id)
	if err != nil {
		return nil, err
	}
	out := []plan.WaitingCall{}
	for _, w := range waits {
		if w.Question == "" {
			out = append(out, w)
		}
	}
	return out, nil
}

// Waits are the calls, the questions and the plan that a run waits for a person with, and
// that none has decided yet, each with the digest that a decision about it names.
func (h *Host) Waits(ctx context.Context, id plan.RunID) ([]plan.WaitingCall, error) {
	waits, err := h.undecided(ctx, id)
	if err != nil {
		return nil, err
	}
	out := []plan.WaitingCall{}
	for _, w := range waits {
		out = append(out, w.Bound(""))
	}
	return out, nil
}

// undecided is what a run waits for a person with and none has decided yet.
func (h *Host) undecided(ctx context.Context, id plan.RunID) ([]plan.WaitingCall, error) {
	db, err := h.DB(ctx)
	if err != nil {
		return nil, err
	}
	waits, err := readPending(ctx, db, id)
	if err != nil {
		return nil, err
	}
	return waits.undecided(), nil
}

// allowAlways writes what a yes allows into the user's own settings.
func (h *Host) allowAlways(ctx context.Context, g plan.Grant) error {
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
	r := &engine.Ruling{}
	for _, l := range letters {
		var text Letter
		kind := Kind(l.Kind)
		readable := json.Unmarshal(l.Data, &text) == nil
		switch {
		case kind != Approve && kind != Deny:
			continue
		case r.By != "" || !readable || text.Call != plan.PlanCall(doc.Version) ||
			text.Digest != plan.PlanDigest(doc.Text):
			r.Stray = append(r.Stray, plan.Filtered{
				Action: "reject",
				Why: fmt.Sprintf("This %s is not about version %d of the plan as it was shown, or not the first, "+
					"so it decides nothing.", kind, doc.Version),
				Text:   text.Text,
				Letter: l.ID,
			})
			continue
		}
		r.By = "person"
		r.Approved = kind == Approve
		r.Rejected = text.Reject
		r.Text = text.Text
		r.Letter = l.ID
		if r.Approved && text.Plan != "" {
			if r.Plan, err = d.s.parsePlan(ctx, text.Plan, doc.Base); err != nil {
				return nil, err
			}
		}
	}
	if r.By == "" && d.s.autoApprove {
		r.By, r.Approved = "policy", true
	}
	return r, nil
}

// parsePlan makes a plan of the text that a person wrote.
func (s *session) parsePlan(ctx context.Context, text, base string) (*plan.PlanDoc, error) {
	doc := phases.ParsePlan(s.redactRead(text))
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
