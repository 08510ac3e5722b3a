package service

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/background"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

// Letter is what is said to a run.
type Letter struct {
	Kind   string `json:"kind"` // steer, follow_up, answer, approve, deny or cancel; "" for what fits
	Text   string `json:"text"`
	Call   string `json:"call"`
	Digest string `json:"digest"` // of what was shown
	// Scope is how far an approve reaches: once (default) or run.
	Scope string `json:"scope"`
	// Reject ends the run whose plan is denied.
	Reject bool `json:"reject"`
}

// Told is what becomes of a letter.
type Told struct {
	Run plan.RunID `json:"run"` // the one that was told, or the one that goes on from it
	// Reaches is now where a process reads it at its next step, resume where the next one
	// does that goes on with the run, run where another run begins with it, and ended
	// where the run is at its end.
	Reaches string `json:"reaches"`
	// Waits says why the run does not go on here.
	Waits string `json:"waits,omitempty"`
}

// What a [Told] reaches.
const (
	reachesNow    = "now"
	reachesResume = "resume"
	reachesRun    = "run"
	reachesEnded  = "ended"
)

// kinds are the letters by their names here.
func kinds(name string) (host.Kind, bool) {
	kind, known := map[string]host.Kind{
		"":          "",
		"steer":     host.Steer,
		"follow_up": host.FollowUp,
		"answer":    host.Answer,
		"replan":    host.Replan,
	}[name]
	return kind, known
}

// Tell says something to a run, and goes on with it. A decision names the call and the
// digest of what was shown.
func (w *Service) Tell(ctx context.Context, named string, l Letter) (Told, error) {
	id, err := w.find(ctx, named)
	if err != nil {
		return Told{}, err
	}
	switch l.Kind {
	case "cancel":
		return w.cancel(ctx, id)
	case "approve", "deny":
		return w.decide(ctx, id, l)
	}
	letter, err := letterOf(l)
	if err != nil {
		return Told{}, err
	}
	result, err := w.Host.Tell(ctx, id, letter)
	if err != nil {
		return Told{}, err
	}
	out, err := w.resumeTold(cmp.Or(result.Continuation, id), result.Driver)
	if result.Continuation != "" {
		out.Reaches = reachesRun
	}
	return out, err
}

// letterOf is what is told to a run, where it is no decision.
func letterOf(l Letter) (host.Letter, error) {
	kind, known := kinds(l.Kind)
	switch {
	case !known:
		return host.Letter{}, hint.Usage(
			"there is no kind %q of letters: write steer, follow_up, answer, approve, deny or cancel",
			l.Kind,
		)
	case l.Text == "":
		return host.Letter{}, hint.Usage("a letter needs a text")
	}
	return host.Letter{
		Kind:   kind,
		Text:   l.Text,
		Call:   l.Call,
		Digest: l.Digest,
	}, nil
}

// decide decides about what a run waits with.
func (w *Service) decide(ctx context.Context, id plan.RunID, l Letter) (Told, error) {
	decision, err := decisionOf(l)
	if err != nil {
		return Told{}, err
	}
	driver, err := w.Host.Decide(ctx, id, decision)
	if err != nil {
		return Told{}, err
	}
	waits, err := w.Host.Waits(ctx, id)
	if err != nil {
		return Told{}, err
	}
	if len(waits) > 0 && driver == nil { // it would park again for the others
		return Told{
			Run:     id,
			Reaches: reachesResume,
			Waits:   "it waits with something else, too",
		}, nil
	}
	return w.resumeTold(id, driver)
}

// decisionOf is the decision that a letter holds.
func decisionOf(l Letter) (host.Decision, error) {
	switch {
	case l.Call == "" || l.Digest == "":
		return host.Decision{}, hint.Usage("a decision needs the call that waits and the digest of what was shown, " +
			"as the run's \"waiting\" has them")
	case l.Scope != "" && l.Scope != plan.ScopeOnce && l.Scope != plan.ScopeRun:
		return host.Decision{}, hint.Usage("there is no scope %q here: write once or run", l.Scope)
	}
	return host.Decision{
		Approve: l.Kind == "approve",
		Call:    l.Call,
		Digest:  l.Digest,
		Text:    l.Text,
		Scope:   cmp.Or(l.Scope, plan.ScopeOnce),
		Reject:  l.Reject,
	}, nil
}

// cancel ends a run for good.
func (w *Service) cancel(ctx context.Context, id plan.RunID) (Told, error) {
	c, err := w.Host.Cancel(ctx, id)
	switch {
	case err != nil:
		return Told{}, err
	case c.AlreadyFinal != "":
		return Told{}, &host.FinalError{Run: id, State: c.AlreadyFinal}
	case c.Asked != nil:
		return Told{Run: id, Reaches: reachesNow}, nil
	}
	return Told{Run: id, Reaches: reachesEnded}, nil
}

// resumeTold goes on with a run that was told something, unless another process drives it.
func (w *Service) resumeTold(id plan.RunID, driver *memory.HeldError) (Told, error) {
	result := Told{
		Run:     id,
		Reaches: reachesNow,
	}
	if driver != nil && driver.PID != os.Getpid() {
		return result, nil
	}
	err := w.Runs.GoOnWithMail(id, w.Options)
	var full *background.FullError
	if errors.As(err, &full) || errors.Is(err, background.ErrClosing) { // the letter stays
		result.Reaches = reachesResume
		result.Waits = err.Error()
		return result, nil
	}
	return result, err
}

// Resume says how a run is gone on with.
type Resume struct {
	AcceptDrift bool   `json:"accept_drift"` // go on although the tree changed
	Replan      bool   `json:"replan"`       // give the plan up
	Reason      string `json:"reason"`       // of Replan; the planner reads it
}

// Resume goes on with a run, and returns once something of that is recorded.
func (w *Service) Resume(ctx context.Context, named string, r Resume) (plan.RunID, error) {
	id, err := w.find(ctx, named)
	if err != nil {
		return "", err
	}
	o := w.Options
	switch {
	case r.AcceptDrift && r.Replan:
		return "", hint.Usage("accept_drift and replan do not go together")
	case r.AcceptDrift:
		o.OnDrift = engine.DriftGoesOn
	case r.Replan:
		o.OnDrift = engine.DriftReplans
		o.Replan = cmp.Or(r.Reason, host.DefaultReplanReason)
	}
	return id, w.Runs.GoOn(id, o)
}

// Apply says how a change is brought over.
type Apply struct {
	Check   bool   `json:"check"`   // only say what would be done
	Commit  bool   `json:"commit"`  // on the branch that is checked out
	Branch  string `json:"branch"`  // commit it on this one
	Message string `json:"message"` // of the commit
	Thread  bool   `json:"thread"`  // with the runs that it goes on from
	Anyway  bool   `json:"anyway"`  // what was not approved, too
}

// Apply brings the change of a run to the work tree that it began in.
func (w *Service) Apply(ctx context.Context, named string, a Apply) (host.ApplyResult, error) {
	run, err := w.load(ctx, named)
	if err != nil {
		return host.ApplyResult{}, err
	}
	return w.Host.Apply(ctx, run, host.Apply{
		Check:   a.Check,
		Commit:  a.Commit,
		Branch:  a.Branch,
		Message: a.Message,
		Thread:  a.Thread,
		Anyway:  a.Anyway,
	})
}

// Restore says how far a tree is taken back.
type Restore struct {
	To    string `json:"to"`   // start, or the seq of an event
	Undo  bool   `json:"undo"` // the last apply or restore, instead
	Check bool   `json:"check"`
}

// Restore takes the work tree of a run back.
func (w *Service) Restore(ctx context.Context, named string, r Restore) (host.ApplyResult, error) {
	if (r.To == "") != r.Undo {
		return host.ApplyResult{}, hint.Usage("write to, as start or the seq of an event, or undo")
	}
	run, err := w.load(ctx, named)
	if err != nil {
		return host.ApplyResult{}, err
	}
	return w.Host.Restore(ctx, run, host.Restore{
		To:    r.To,
		Undo:  r.Undo,
		Check: r.Check,
	})
}
