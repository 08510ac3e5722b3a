package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host/connect"
	"github.com/plan-engine/plan/host/proof"
	"github.com/plan-engine/plan/internal/scratch"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
)

// driving is a run that is about to be driven by this process.
type driving struct {
	id           plan.RunID
	base         string // the commit that its change counts from
	view         string // how its commands see the repository
	phases       *phases.Phases
	run          *engine.Run
	planOnly     bool
	checksByFlag bool // the required checks come from the caller
	options      Options
	settings     *plan.SettingsChanged // that the run goes on with, if they are others than before
	past         []plan.Event          // of a run that goes on
	story        story                 // what of that was written elsewhere
	first        *plan.Snapshot        // that a new run begins with, if it was taken
	context      []plan.Message
	// begin writes the first events of a new run; nil for one that goes on.
	begin func(context.Context, *engine.Engine) error
}

// drive runs the engine until the run is final or parks. Stop ends ctx.
func (s *session) drive(ctx context.Context, stop context.CancelCauseFunc, d driving) (_ End, err error) {
	if s.face.Shared == nil { // else it was done once for all of them
		s.cleanup.Go(Sweep)
	}
	inbox := &inbox{stop: stop}
	journal := &journal{
		db:     s.db,
		writer: s.writer,
		run:    d.id,
		taken:  inbox.take,
		guard:  s.guard,
		learn:  s.learn,
		past:   d.past,
		story:  d.story,
	}
	s.story = d.story
	s.learn.StartRun(d.id, d.past, d.story.upTo)
	s.face.begin(d.id, d.past)
	defer func() { _ = s.index.Close() }() // a cache: another run makes it again
	defer func() { err = errors.Join(err, d.phases.Close(ctx)) }()
	if d.options.Mirror != nil {
		journal.turns = newTurnSnapshots(s.repo, d.past)
	}
	d.past = nil // it may be large, and the journal lets go of it
	s.proof = s.openProof(d)
	defer func() { _ = s.proof.Close() }() // what is left is swept up later
	s.heartbeat = &heartbeat{
		show:  s.face.show,
		now:   s.host.now,
		after: time.After,
	}
	defer s.heartbeat.close()
	eng, err := s.newEngine(d, journal)
	if err != nil {
		return End{}, err
	}
	inbox.letters = s.writer.Letters
	inbox.replan = eng.Replan
	inbox.read(ctx)
	watched := s.face.Shared.watchInbox(ctx, d.id, inbox)
	defer func() {
		stop(nil)
		<-watched // it reads the database, which may be closed next
	}()
	if d.begin != nil {
		if err := d.begin(ctx, eng); err != nil {
			if ctx.Err() != nil {
				err = ErrNotBegun
			}
			return End{}, err
		}
	}
	// It counts from here: a run that ends by it has a journal, and can be resumed.
	if most := s.cfg.Timeout.Duration; most > 0 {
		timer := time.AfterFunc(most, func() { stop(&plan.TimeUp{Max: most}) })
		defer timer.Stop()
	}
	work := func() (engine.End, error) { return s.runThrough(ctx, d.id, eng) }
	end, err := s.guard.withSessionHooks(ctx, d.id, s.writer, s.heartbeat.event, work)
	if errors.Is(err, ErrUnreachable) {
		end, err = s.parkUnmirrored(ctx, eng.State(), err)
	}
	if err != nil {
		return End{}, err
	}
	s.waitForCleanup()
	s.host.sendTraces(ctx, s.db, d.id, end)
	return End{
		End:    end,
		Run:    d.id,
		Drafts: s.draftsWaiting(ctx),
	}, nil
}

// Sweep removes what killed processes left behind of copies and layers.
func Sweep() {
	scratch.Sweep(os.TempDir(), scratch.Temporary()...)
	sandbox.Sweep()
}

func (s *session) openProof(d driving) *proof.Proof {
	return proof.New(proof.Config{
		Settings:       s.cfg,
		ChecksByFlag:   d.checksByFlag,
		Walls:          s.walls,
		Repo:           s.repo,
		Base:           d.base,
		View:           d.view,
		Results:        s.db,
		FreshBaselines: d.options.FreshBaseline,
		Env:            s.shell.Env(),
		User:           s.keys(),
		Redact:         s.redactRead,
	})
}

func (s *session) newEngine(d driving, j *journal) (*engine.Engine, error) {
	return engine.New(engine.Config{
		Runner:       d.phases,
		Journal:      j,
		Snapshots:    &snapshots{Repo: s.repo, first: d.first, heartbeat: s.heartbeat},
		Checker:      s.proof.Checker,
		Changes:      s.proof.Tree,
		Inspect:      s.proof.Inspect,
		PlanApprover: planDecisions{s},
		Baselines:    s.proof.Baselines,
		MaxCycles:    *s.cfg.MaxReviewCycles,
		PlanOnly:     d.planOnly,
		Carries:      connect.PhaseCarries(s.cfg),
		Setup:        s.cfg.Checks.Setup,
		Unready:      s.proof.Unready,
		Answer:       s.answerAboutChecks,
		Critique:     isSet(s.cfg.Critique),
		ApprovePlan:  isSet(s.cfg.ApprovePlan),
		Required:     s.proof.Required,
		Detected:     s.proof.Detected,
		Context:      d.context,
		Show:         s.heartbeat.event,
		Now:          s.host.now,
		Closing:      s.learn.Closing(*s.cfg.MaxReviewCycles),
		Unread:       j.unread,
		TreeWatcher:  s.proof.Tree,
		OriginMerger: s.repo,
		OnDrift:      onDrift(d.options, s.cfg),
		Replan:       d.options.Replan,
		Settings:     d.settings,
	}, d.run)
}

// onDrift is what to do about a changed tree: what the caller said, or else what
// the settings say.
func onDrift(o Options, cfg config.Config) engine.OnDrift {
	if o.OnDrift == "" && isSet(cfg.ReplanOnDrift) {
		return engine.DriftReplans
	}
	return o.OnDrift
}

// DefaultReplanReason is what the planner reads where a person who wants another
// plan gives no reason.
const DefaultReplanReason = "the person who asked for the work wants another plan"

// runThrough runs the engine as often as this process can do something about
// what parked the run: sleep through a rate limit or an outage, or ask the person.
func (s *session) runThrough(ctx context.Context, id plan.RunID, eng *engine.Engine) (engine.End, error) {
	for {
		end, err := eng.Run(ctx)
		if err != nil || end.Parked == nil {
			return end, err
		}
		again, err := s.unblock(ctx, id, eng, &end)
		if err != nil || !again {
			return end, err
		}
	}
}

// unblock does what this process can do about what parked the run, and reports
// whether it can go on.
func (s *session) unblock(ctx context.Context, id plan.RunID, eng *engine.Engine, end *engine.End) (bool, error) {
	switch {
	case s.waitsFor(*end.Parked):
		if s.sleepUntil(ctx, end.Parked.WakeAt) {
			return true, nil
		}
	case s.face.Person == nil:
	case end.Parked.Reason == plan.ParkDrift:
		on, reason, ok := s.face.Person.Drift(ctx, *end)
		if ok {
			eng.Choose(on, s.redactRead(reason))
			return true, nil
		}
	case len(end.Parked.Waiting) > 0:
		if ok, err := s.askPerson(ctx, id, *end, eng.State().Plan()); ok || err != nil {
			return ok, err
		}
	}
	if !errors.Is(context.Cause(ctx), engine.ErrCancelled) {
		return false, nil
	}
	*end = engine.End{State: plan.Cancelled, ExitCode: plan.Cancelled.ExitCode()}
	return false, eng.Cancel(context.WithoutCancel(ctx))
}

// ErrDecidedElsewhere ends the context of [Person.Decide] where another process has
// decided about what the person is asked.
var ErrDecidedElsewhere = errors.New("it was decided elsewhere")

// askPerson asks about what the run waits with, until it is decided here or
// elsewhere, and reports whether the run can go on.
func (s *session) askPerson(ctx context.Context, id plan.RunID, end engine.End, doc *plan.PlanDoc) (bool, error) {
	asking, stop := context.WithCancelCause(ctx)
	watched := s.watchDecisions(asking, id, end.Parked.Waiting, func() { stop(ErrDecidedElsewhere) })
	letters, ok := s.face.Person.Decide(asking, end, doc)
	elsewhere := errors.Is(context.Cause(asking), ErrDecidedElsewhere)
	stop(nil)
	<-watched
	for _, l := range letters {
		if err := s.postAnswer(ctx, id, l, end.Parked.Waiting); err != nil {
			return false, err
		}
	}
	return (ok || elsewhere) && ctx.Err() == nil, nil
}

// postAnswer posts what a person said who was asked about these calls, unless another
// process has decided since.
func (s *session) postAnswer(ctx context.Context, id plan.RunID, l Letter, calls []plan.WaitingCall) error {
	bindToAsked(&l, calls)
	err := s.host.postBound(ctx, s.db, id, &l, func() error {
		_, decided, err := decided(ctx, s.db, id, plan.WaitingCall{Call: l.Call, Digest: l.Digest})
		if decided {
			return ErrDecidedElsewhere
		}
		return err
	})
	switch {
	case errors.Is(err, ErrDecidedElsewhere):
		s.host.note(fmt.Sprintf("call %s was decided elsewhere, and that counts", l.Call))
		return nil
	case err != nil || l.Scope != plan.ScopeAlways:
		return err
	}
	for _, w := range calls {
		if w.Call != l.Call {
			continue
		}
		if err := s.host.allowAlways(ctx, w.Grant); err != nil {
			s.host.note("the call is allowed, and the rule is not: " + err.Error())
		}
	}
	return nil
}

// watchDecisions calls decide once a decision about one of the calls is in the inbox,
// and closes done when ctx ends. Where the inbox cannot be read, looking again is
// all that can be done.
func (s *session) watchDecisions(
	ctx context.Context,
	id plan.RunID,
	calls []plan.WaitingCall,
	decide func(),
) (done <-chan struct{}) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(inboxInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			for _, c := range calls {
				if _, ok, err := decided(ctx, s.db, id, c); err == nil && ok {
					decide()
				}
			}
		}
	}()
	return ended
}

// bindToAsked makes the letter of a person who was asked about these calls one about
// what they were shown.
func bindToAsked(l *Letter, calls []plan.WaitingCall) {
	for _, w := range calls {
		if w.Call == l.Call && l.Digest == "" {
			l.Digest = w.Digest
		}
	}
}

// waitsFor reports whether this process sleeps until a run can go on. For a server
// that never answered, which may be a wrong address, it does where it was told to.
func (s *session) waitsFor(p plan.Parked) bool {
	explicit := isSet(s.cfg.Wait)
	wait := explicit || s.cfg.Wait == nil && s.face.Wait
	switch p.Reason {
	case plan.ParkRateLimit:
		return wait
	case plan.ParkUnreachable:
		return explicit || wait && p.WakeAt != nil
	}
	return false
}

// sleepUntil waits for a time, by default a minute from now, and reports whether
// it came before ctx ended.
func (s *session) sleepUntil(ctx context.Context, at *time.Time) bool {
	pause := time.Minute
	if at != nil {
		pause = at.Sub(s.host.now())
	}
	timer := time.NewTimer(max(pause, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// draftsWaiting is how many drafted skills wait for a person. Where that cannot be
// read, the next command that lists them says why.
func (s *session) draftsWaiting(ctx context.Context) int {
	waiting, err := s.learn.Library().Waiting(context.WithoutCancel(ctx))
	if err != nil {
		return 0
	}
	return len(waiting)
}
