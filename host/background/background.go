// Package background drives runs for callers that do not stay: a run outlives the call that
// began it, as it outlives the page or the client that asked for it. It parks what it
// drives when its process ends. It knows nothing of who calls.
package background

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/memory"
)

// Config says how runs are driven.
type Config struct {
	// Most is how many are driven at the same time; 0 for no bound.
	Most int

	// See is shown each event as it is recorded, and live ones as they come, those of
	// one run in order. It must not block: runs wait for it. Default: none.
	See func(plan.Event)

	// Ended is told when this process is done with a run, and what went wrong with
	// driving it. Default: it is dropped.
	Ended func(id plan.RunID, err error)

	// Note takes what people should know about a run and can do without. Default: the
	// host's.
	Note func(id plan.RunID, text string)
}

// Runs are those that this process drives, for whichever caller began them.
type Runs struct {
	host   *host.Host
	config Config
	ctx    context.Context //nolint:containedctx // runs outlive the calls that begin them
	stop   context.CancelCauseFunc

	mu      sync.Mutex
	closed  bool
	driven  map[plan.RunID]*driven
	working sync.WaitGroup
}

// driven is a run that goes on here.
type driven struct {
	done chan struct{}
	err  error // once done is closed
}

// FullError says that as many runs are driven as may be.
type FullError struct{ Most int }

// Error implements error.
func (e *FullError) Error() string {
	return fmt.Sprintf("%d runs are driven here at the moment, and no more may be", e.Most)
}

// Hint says what can be done.
func (e *FullError) Hint() string {
	return "Try again once one has ended or parked, or raise --concurrency."
}

// ErrClosing says that the server ends.
var ErrClosing = errors.New("the server is ending, and begins no run any more")

// New drives nothing yet. What it drives goes on when ctx ends, until [Runs.Park].
func New(ctx context.Context, h *host.Host, c Config) *Runs {
	r := &Runs{
		host:   h,
		config: c,
		driven: map[plan.RunID]*driven{},
	}
	r.ctx, r.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	return r
}

// Park parks what is driven, and begins nothing more.
func (r *Runs) Park() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop(engine.ErrInterrupted)
}

// Wait waits until nothing is driven any more.
func (r *Runs) Wait() { r.working.Wait() }

// Start has work done in the background as that of a run, unless such is already.
func (r *Runs) Start(id plan.RunID, work func(context.Context) error) (begun bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false, ErrClosing
	}
	if r.driven[id] != nil {
		return false, nil
	}
	if r.config.Most > 0 && len(r.driven) >= r.config.Most {
		return false, &FullError{Most: r.config.Most}
	}
	d := &driven{done: make(chan struct{})}
	r.driven[id] = d
	r.working.Go(func() {
		d.err = work(r.ctx)
		r.mu.Lock()
		delete(r.driven, id)
		r.mu.Unlock()
		close(d.done)
		if r.config.Ended != nil {
			r.config.Ended(id, d.err)
		}
	})
	return true, nil
}

// Begin begins a run, and returns once something of it is recorded.
func (r *Runs) Begin(req host.Request) (plan.RunID, error) {
	req.ID = r.host.NewRunID()
	return req.ID, r.drive(req.ID, func(ctx context.Context, face host.Face) error {
		_, err := r.host.Run(ctx, req, face)
		return err
	})
}

// GoOn goes on with a run that is parked, or begins one that continues another.
func (r *Runs) GoOn(id plan.RunID, o host.Options) error {
	return r.drive(id, func(ctx context.Context, face host.Face) error {
		_, err := r.host.Resume(ctx, id, o, face)
		return failedHere(err)
	})
}

// GoOnWithMail is GoOn for a run that was told something. One that is driven here may be
// about to park, and read nothing any more: then it is gone on with once it has.
func (r *Runs) GoOnWithMail(id plan.RunID, o host.Options) error {
	r.mu.Lock()
	d := r.driven[id]
	r.mu.Unlock()
	if d == nil {
		return r.GoOn(id, o)
	}
	go func() {
		<-d.done
		if r.ctx.Err() == nil && r.hasMail(id) {
			_ = r.GoOn(id, o) // it is parked, and its page says so
		}
	}()
	return nil
}

// hasMail reports whether a run has letters that it has not read.
func (r *Runs) hasMail(id plan.RunID) bool {
	db, err := r.host.DB(r.ctx)
	if err != nil {
		return false
	}
	letters, err := db.Letters(r.ctx, id)
	return err == nil && len(letters) > 0
}

// LetGo waits until a run is not driven here any more, if it is: a moment, for one that has
// ended or parked.
func (r *Runs) LetGo(ctx context.Context, id plan.RunID) {
	r.mu.Lock()
	d := r.driven[id]
	r.mu.Unlock()
	if d == nil {
		return
	}
	select {
	case <-d.done:
	case <-ctx.Done():
	}
}

// Driven lists the runs that are driven here.
func (r *Runs) Driven() []plan.RunID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.driven))
}

// drive has a run driven in the background, and returns once something of that is
// recorded.
func (r *Runs) drive(id plan.RunID, work func(context.Context, host.Face) error) error {
	recorded := make(chan error, 1)
	face := host.Face{
		Show: func(ev plan.Event) {
			if !ev.Live() {
				offer(recorded, nil)
			}
			if r.config.See != nil {
				r.config.See(ev)
			}
		},
	}
	if r.config.Note != nil {
		face.Note = func(text string) { r.config.Note(id, text) }
	}
	begun, err := r.Start(id, func(ctx context.Context) error {
		err := work(ctx, face)
		offer(recorded, err)
		return err
	})
	if err != nil || !begun {
		return err
	}
	return <-recorded
}

// offer puts an error where one is waited for, if none was put there before.
func offer(to chan error, err error) {
	select {
	case to <- err:
	default:
	}
}

// Await waits until a run is final or parked, or so long. See is shown each event as it
// is recorded.
func (r *Runs) Await(ctx context.Context, id plan.RunID, long time.Duration, see func(plan.Event)) error {
	r.mu.Lock()
	d := r.driven[id]
	r.mu.Unlock()
	var done chan struct{}
	if d != nil {
		done = d.done
	} else {
		standing, err := r.host.Standing(ctx, id, nil)
		if err != nil || standing.Parked != nil || standing.State.Final() {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	watched := make(chan error, 1)
	go func() { watched <- r.watch(ctx, id, done == nil, see) }()
	if done == nil {
		err := <-watched
		if ctx.Err() != nil { // so long was waited
			return nil
		}
		return err
	}
	var err error
	select {
	case <-done: // its locks are free, too
		err = d.err
	case <-ctx.Done():
	}
	cancel()
	if met := <-watched; err == nil && ctx.Err() == nil {
		err = met
	}
	return err
}

// watch shows the events of a run until ctx ends or the run is final; one that another
// process drives, until it parks.
func (r *Runs) watch(ctx context.Context, id plan.RunID, elsewhere bool, see func(plan.Event)) error {
	run, err := r.host.Standing(ctx, id, nil)
	if err != nil {
		return err
	}
	for ev, err := range r.host.Follow(ctx, id, run.Head) {
		if err != nil {
			return err
		}
		see(ev)
		if ev.Type() == plan.TypeParked && elsewhere {
			return nil
		}
	}
	return nil
}

// failedHere is what is told of the end of driving: that another process drives the
// run is no failure.
func failedHere(err error) error {
	var held *memory.HeldError
	if errors.As(err, &held) {
		return nil
	}
	return err
}
