package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plan-engine/plan"
)

// Runner runs phases.
type Runner interface {
	// Describe says with which model and tools a phase runs.
	Describe(p plan.Phase) plan.PhaseStart
	// Run runs a phase, or goes on with it where brief.Past ends. An error
	// ends the run; what can be resumed is an outcome with Park set.
	Run(ctx context.Context, brief plan.Brief, emit plan.Emit) (plan.Outcome, error)
}

// Journal keeps the events of one run.
type Journal interface {
	// Append commits events together and returns them with their seq. After
	// an error nothing more may be done in the run's name, but for ErrUnread: then
	// nothing was recorded, because the run must not end as approved yet.
	Append(ctx context.Context, events ...plan.Event) ([]plan.Event, error)
	// Conversation returns the durable events of one conversation, in order.
	Conversation(ctx context.Context, conv string) ([]plan.Event, error)
}

// Checker runs the commands that decide.
type Checker interface {
	// Check runs the command on the tree as it is now, where nothing it
	// writes reaches the tree. Blobs hold output that was cut.
	Check(ctx context.Context, t plan.Trial, update func(string)) (plan.CheckResult, []plan.Blob, error)
}

// LabelStart is the label of the snapshot that a run begins with.
const LabelStart = "start"

// Snapshots names trees and compares them.
type Snapshots interface {
	// Snapshot keeps the work tree as it is now, under the label.
	Snapshot(ctx context.Context, run plan.RunID, label string) (plan.Snapshot, error)
	// Diff is what differs between two trees, by their git ids, as a unified diff;
	// Stat is how much that is.
	Diff(ctx context.Context, from, to string) (string, error)
	Stat(ctx context.Context, from, to string) (plan.DiffStat, error)
}

// Config is what an engine works with.
type Config struct {
	Runner    Runner
	Journal   Journal
	Checker   Checker
	Snapshots Snapshots

	// Changes, Baselines and PlanApprover may be nil: then every check always runs, and
	// no plan waits for a person.
	Changes      Changes
	Baselines    Baselines
	PlanApprover PlanApprover
	// Inspect notices things about a change that a reviewer could overlook. Where
	// it fails there is no review. Nil notices nothing.
	Inspect func(ctx context.Context, in plan.Inspection) ([]plan.Finding, error)

	// Setup is a command that runs once before the first phase; "" for none.
	Setup string
	// Unready finds, before the first phase, the checks that cannot start here, and
	// Answer what a person has said to a question about them, nil as long as it waits.
	// Where one is nil, nothing is asked.
	Unready func(context.Context) ([]plan.Unready, error)
	Answer  func(context.Context, plan.WaitingCall) (*plan.Answered, error)
	// Critique has every first plan looked at a second time; ApprovePlan makes
	// each plan wait for a person.
	Critique    bool
	ApprovePlan bool
	// MaxCycles bounds the fix cycles: at most MaxCycles+1 implements.
	MaxCycles int
	// TreeWatcher compares the tree with what the run knows of it; nil takes it for
	// unchanged. OriginMerger tells the run's change from what drifted; nil counts
	// all of it.
	TreeWatcher  TreeWatcher
	OriginMerger OriginMerger
	// OnDrift says what to do where the tree changed under the run.
	OnDrift OnDrift
	// Replan is a person's reason to give the plan up and make another; "" for
	// none.
	Replan string
	// Settings, if set, are recorded before the run goes on.
	Settings *plan.SettingsChanged
	// Carries are the phases that go on from the conversation of the one before them,
	// and not from its report alone: Plan, Implement.
	Carries map[plan.Phase]bool
	// PlanOnly ends the run once there is a plan.
	PlanOnly bool
	// Required are the checks that must pass. Without any, Detected and the
	// plan's own commands are run and advise. Detected is not asked before the
	// first check; nil detects nothing.
	Required []plan.Check
	Detected func() []plan.Check
	// Context is the frozen conversation that Explore starts from.
	Context []plan.Message

	// Closing says what is to be recorded with the end of the run, beside what
	// its last state came to. Default: nothing.
	Closing func(ctx context.Context, to plan.State, results []plan.Body) []plan.Body

	// Unread reports whether a person has said something that no phase has read, and
	// that Journal would keep an approval back for. It is asked before Closing, which
	// may be dear. Default: nothing is unread.
	Unread func(ctx context.Context) (bool, error)

	// Show is given every event, durable ones after they are committed. It
	// must not block.
	Show func(plan.Event)
	Now  func() time.Time
}

// Causes for ending the context of Run, beside *plan.TimeUp. Anything else
// counts as ErrInterrupted.
var (
	ErrInterrupted = errors.New("interrupted")
	ErrCancelled   = errors.New("the run was cancelled")
)

// ErrUnread is a [Journal]'s: a person has said something that no phase has read.
var ErrUnread = errors.New("a request to the run has not been read")

// Engine drives one run.
type Engine struct {
	cfg           Config
	run           *Run
	fresh         bool // it was begun by this process and has not been driven yet
	replanRequest replanRequest
	treeAccepted  bool // the tree is known to be what the run left, or was accepted
	// waiting are the calls that the run was parked with.
	waiting []plan.WaitingCall
	// closing is what Closing came to for an approval that was kept back.
	closing []plan.Body
	// recording keeps those apart that record at the same time: a phase, and a setup
	// that runs beside it.
	recording sync.Mutex
	dead      error // a failed append: nothing is recorded or done after it
}

// New makes an engine for a run as it was folded; an empty run is to be begun
// with Begin.
func New(cfg Config, run *Run) (*Engine, error) {
	if cfg.Runner == nil || cfg.Journal == nil || cfg.Checker == nil || cfg.Snapshots == nil {
		return nil, errors.New("engine: a runner, a journal, a checker and snapshots are needed")
	}
	if cfg.MaxCycles < 0 {
		return nil, fmt.Errorf("engine: %d fix cycles make no sense", cfg.MaxCycles)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Show == nil {
		cfg.Show = func(plan.Event) {}
	}
	if cfg.Closing == nil {
		cfg.Closing = func(context.Context, plan.State, []plan.Body) []plan.Body { return nil }
	}
	if cfg.Unread == nil {
		cfg.Unread = func(context.Context) (bool, error) { return false, nil }
	}
	if cfg.Detected == nil {
		cfg.Detected = func() []plan.Check { return nil }
	}
	if run == nil {
		run = &Run{}
	}
	return &Engine{cfg: cfg, run: run}, nil
}

// State is the run as it stands. It must not be changed.
func (e *Engine) State() *Run { return e.run }

// Begin writes the first events of a run: what it was started with, the tree
// as it was found, and the first move. A plan that is given skips Explore and
// Plan, and a run that is to review begins with that. Blobs are what start refers to by hash.
func (e *Engine) Begin(
	ctx context.Context,
	id plan.RunID,
	job string,
	start plan.RunStart,
	ready *plan.PlanDoc,
	blobs []plan.Blob,
) error {
	snap, err := e.cfg.Snapshots.Snapshot(ctx, id, LabelStart)
	if err != nil {
		return &TreeError{Err: err}
	}
	start.Snapshot = snap.Tree
	e.run.ID, e.run.Job = id, job
	first := e.event(start)
	first.Blobs = blobs
	events := []plan.Event{first, e.event(snap)}
	event := evExplore
	if start.Aim == plan.AimReview {
		event = evReview
	}
	if ready != nil {
		doc := *ready
		doc.Version = 1
		events = append(events, e.event(plan.PlanMade{PlanDoc: doc}))
		event = evImplement
	}
	to, err := next(ctx, plan.Unstarted, event)
	if err != nil {
		return err
	}
	events = append(events, e.event(plan.StateChange{
		From:  plan.Unstarted,
		To:    to,
		Event: event,
	}))
	e.fresh = true
	return e.emit(ctx, events...)
}

// End is how a process's work on a run ended.
type End struct {
	State    plan.State
	Parked   *plan.Parked // set when the run is not final
	ExitCode int
}

// Run drives the run until it is final or parks. An error means that the
// journal could not be written or that the program is at fault; everything
// else that can go wrong is an End.
func (e *Engine) Run(ctx context.Context) (End, error) {
	if err := e.unpark(ctx); err != nil {
		return End{}, err
	}
	e.treeAccepted = false
	for work := e.checkDrift; !e.run.State.Final(); work = e.step {
		park, err := e.attempt(ctx, work)
		if err != nil {
			return End{}, err
		}
		if park != nil {
			if err := e.park(ctx, *park); err != nil {
				return End{}, err
			}
			return End{
				State:    e.run.State,
				Parked:   park,
				ExitCode: park.Reason.ExitCode(),
			}, nil
		}
	}
	return End{State: e.run.State, ExitCode: e.run.State.ExitCode()}, nil
}

// attempt does one piece of work, and sorts what stopped it.
func (e *Engine) attempt(
	ctx context.Context,
	work func(context.Context) (*plan.Parked, error),
) (*plan.Parked, error) {
	ctx, done := e.replanRequest.stepContext(ctx, e.treeAccepted && e.replannable())
	defer done()
	park, err := work(ctx)
	if park != nil && errors.Is(context.Cause(ctx), ErrCancelled) {
		err = ErrCancelled // a run that is cancelled is not resumed
	}
	if err != nil {
		return e.stopped(ctx, err)
	}
	return park, nil
}

// Cancel ends a run that no process is driving.
func (e *Engine) Cancel(ctx context.Context) error {
	if e.run.State.Final() {
		return nil
	}
	return e.finish(ctx, evCancel, "cancelled by request")
}

// stopped sorts what made a step stop: a reason to park, the end of the run,
// or an error that leaves the journal as it is.
func (e *Engine) stopped(ctx context.Context, err error) (*plan.Parked, error) {
	var je *JournalError
	var defect *Defect
	var up *plan.TimeUp
	if errors.As(err, &je) || errors.As(err, &defect) || e.run.State.Phase() == "" {
		return nil, err
	}
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		if errors.Is(cause, context.DeadlineExceeded) {
			cause = &plan.TimeUp{}
		}
		switch {
		case errors.Is(cause, ErrCancelled):
			return nil, e.finish(ctx, evCancel, "cancelled by request")
		case errors.Is(cause, errReplan):
			return nil, e.replan(context.WithoutCancel(ctx), nil, e.replanRequest.take())
		case errors.As(cause, &up):
			// In a conversation it is the loop that says so, and parks by itself.
			park := &plan.Parked{
				Reason: plan.ParkLimit,
				Detail: "time: " + up.Error() + "; going on gives the run as much again",
			}
			return park, e.emit(ctx, e.event(up.Hit()))
		}
		return &plan.Parked{Reason: plan.ParkInterrupted}, nil
	}
	var outage *plan.Outage
	if errors.As(err, &outage) {
		return nil, errors.Join(err, e.emit(ctx, e.event(plan.Failure{Error: err.Error(), Hint: outage.Hint()})))
	}
	return nil, e.fail(ctx, err)
}
