package host

import (
	"context"
	"fmt"
	"net/http"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/loop"
)

// Face is what shows a run that this process drives, and speaks for the person
// before it. The zero value shows nothing and asks nothing.
type Face struct {
	// Begin is called once, before the first event is shown, with what the journal
	// of a run that goes on holds already.
	Begin func(run plan.RunID, past []plan.Event)

	// Show takes each event as it is recorded, and live ones as they come, in
	// order and from one goroutine at a time. It must not block for long: the run
	// waits for it.
	Show func(plan.Event)

	// Note takes what people should know and can do without. Default: the host's.
	Note func(text string)

	// Person is asked what a run waits for. Default: none, and the run parks.
	Person Person

	// Wait sleeps through rate limits and outages where the settings do not say; otherwise the
	// run parks.
	Wait bool

	// Shared is what runs of one process have in common; nil for a run alone.
	Shared *Shared
}

// Person answers for the one who watches a run. No answer never means yes.
type Person interface {
	// Decide answers the calls, the questions or the plan that a run is parked
	// with. It reports false where it leaves some for later, and the run stays
	// parked; the letters count all the same. Plan is the version that waits, nil
	// where none does.
	Decide(ctx context.Context, end engine.End, plan *plan.PlanDoc) (letters []Letter, ok bool)

	// Drift answers what to do about a work tree that changed while the run stood
	// still. Reason is the planner's, where another plan is wanted.
	Drift(ctx context.Context, end engine.End) (on engine.OnDrift, reason string, ok bool)
}

// Shared is what the runs of one process have in common, such as the jobs of a
// batch.
type Shared struct {
	// HTTP is their connections to model servers. Default: each run has its own.
	HTTP *http.Client

	// Limit puts a gate before a model. Default: none.
	Limit func(loop.Model) loop.Model

	// Inboxes reads the inboxes of all of them. Default: each run reads its own.
	Inboxes *Inboxes
}

func (s *Shared) http() *http.Client {
	if s == nil {
		return nil
	}
	return s.HTTP
}

func (s *Shared) limit(m loop.Model) loop.Model {
	if s == nil || s.Limit == nil {
		return m
	}
	return s.Limit(m)
}

// watchInbox reads a run's inbox until ctx ends, and then closes done.
func (s *Shared) watchInbox(ctx context.Context, run plan.RunID, in *inbox) (done <-chan struct{}) {
	if s == nil || s.Inboxes == nil {
		return in.watch(ctx)
	}
	return s.Inboxes.watch(ctx, run, in)
}

func (f Face) begin(run plan.RunID, past []plan.Event) {
	if f.Begin != nil {
		f.Begin(run, past)
	}
}

func (f Face) show(ev plan.Event) {
	if f.Show != nil {
		f.Show(ev)
	}
}

// wrap says what was done when an error came, if one did.
func wrap(action string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", action, err)
}
