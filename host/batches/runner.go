package batches

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/memory"
)

// runner runs the jobs of a batch in this process.
type runner struct {
	host    *host.Host
	db      *memory.DB
	options host.Options // of this process, over what the jobs say
	shared  func(batch.Try) *host.Shared
	spend   func(batch.Try, plan.UsageReport)
	view    View
	plan    *sharedPlan
	repos   host.Repos
	// takeUp takes up the run of a queue's job, and letters are what was decided about it;
	// nil where jobs are this home's alone.
	takeUp  func(context.Context, batch.Try) (*takeover, func(), error)
	letters func(job string) []json.RawMessage
}

// Run implements batch.Runner.
func (r *runner) Run(ctx context.Context, try batch.Try) (batch.Result, error) {
	why := &stopReason{}
	face := host.Face{
		Show: func(ev plan.Event) {
			why.observe(ev)
			if ev.Type() == plan.TypeRunStart {
				r.cancelIfJobWas(ctx, try)
			}
			if b, ok := ev.Body.(plan.UsageReport); ok && !b.Inherited {
				r.spend(try, b)
			}
			r.view.event(try.ID, ev)
			r.plan.observe(try.ID, ev)
		},
		Note:   func(text string) { r.view.note(try.ID, text) },
		Wait:   true,
		Shared: r.shared(try),
	}
	o := r.optionsOf(try)
	var t *takeover
	if r.takeUp != nil {
		taken, end, err := r.takeUp(ctx, try)
		if away := new(nats.UnreachableError); errors.As(err, &away) || errors.Is(err, batch.ErrLeaseLost) {
			return stoppedByQueue(err), nil
		}
		if err != nil {
			return batch.Result{}, err
		}
		defer end()
		r.hear(ctx, try)
		t = taken
		o.Mirror = t
	}
	err := r.drive(ctx, try, o, t, face)
	if t.lostQueue(err) {
		return stoppedByQueue(err), nil
	}
	res, rerr := r.result(ctx, try, why.text, err)
	if t != nil && err != nil && ctx.Err() == nil && res.Parked == plan.ParkInterrupted {
		// The run could not go on here: given back, it would come again at once.
		res.Parked = plan.ParkUnreachable
		res.Why = host.FirstLine(err.Error())
	}
	return res, rerr
}

// stoppedByQueue is what came of a job that goes on once the queue, or another worker,
// lets it.
func stoppedByQueue(err error) batch.Result {
	res := batch.Result{
		State:  batch.JobParked,
		Parked: plan.ParkInterrupted,
		Why:    "the queue could not be reached",
	}
	if err != nil {
		res.Why = host.FirstLine(err.Error())
	}
	return res
}

// drive begins the run of a job, or goes on with it.
func (r *runner) drive(ctx context.Context, try batch.Try, o host.Options, t *takeover, face host.Face) error {
	job := host.Job{
		Request: host.Request{
			ID:      try.Run,
			Text:    try.Request,
			Title:   try.ID + ": " + oneline.Cut(host.FirstLine(try.Request), host.MaxTitle),
			Options: o,
		},
		Job:     try.ID,
		Batch:   try.Batch,
		Repo:    try.Repo,
		IsURL:   batch.IsURL(try.Repo),
		Ref:     try.Ref,
		Branch:  branchOf(try.Batch, try.ID),
		Sibling: r.plan.textFor(try.ID),
	}
	info, err := r.db.Run(ctx, try.Run)
	switch {
	case errors.Is(err, memory.ErrNoRun):
		_, err = r.host.RunJob(ctx, &r.repos, job, face)
	case err != nil:
	case t != nil && t.moved && info.State.Final():
		err = r.host.TakeOver(ctx, &r.repos, job, t.bundles)
	case info.State.Final():
	case t != nil && t.moved:
		_, err = r.host.ResumeJob(ctx, &r.repos, job, t.bundles, face)
	default:
		_, err = r.host.Resume(ctx, try.Run, o, face)
	}
	return err
}

// cancelIfJobWas cancels a run that has just begun, if its job was cancelled after
// it was claimed: another process found no run then that it could have asked to
// stop. Where the state cannot be read, the run goes on; it can still be cancelled.
func (r *runner) cancelIfJobWas(ctx context.Context, try batch.Try) {
	state, err := r.db.JobState(ctx, try.Batch, try.ID)
	if err != nil || state != memory.JobCancelled {
		return
	}
	if _, err := r.host.Cancel(ctx, try.Run); err != nil {
		r.view.note(try.ID, err.Error())
	}
}

// optionsOf says how the run of a job is driven: as this process was told, over
// what the job says.
func (r *runner) optionsOf(try batch.Try) host.Options {
	o := r.options
	o.Settings = try.Settings.With(o.Settings)
	o.Settings.Timeout = config.Of(0) // the schedule has it
	yes := true
	if r.plan.isMadeBy(try.ID) {
		o.Settings.ApprovePlan = &yes
	}
	return o
}

// result says what came of a try. Where that is no approval and a disk is full,
// it says so, too. Where the home cannot keep what jobs come to, none can go on: a
// run that has no end is left as it stands then, and is no failure of its job.
func (r *runner) result(ctx context.Context, try batch.Try, why string, cause error) (batch.Result, error) {
	res, err := r.readResult(ctx, try, why, cause)
	if err == nil && res.State == batch.JobDone {
		return res, nil
	}
	full := r.fullDisks(try)
	failed := cmp.Or(err, cause)
	if failed != nil && res.Outcome == "" && (unkept(failed) || full.home()) {
		if full.home() && !unkept(failed) {
			failed = fmt.Errorf("%w (%s)", failed, full)
		}
		return batch.Result{}, &batch.StopError{Err: failed}
	}
	switch {
	case len(full) == 0:
	case err != nil:
		err = fmt.Errorf("%w (%s)", err, full)
	default:
		res.Why = strings.TrimSpace(fmt.Sprintf("%s (%s)", res.Why, full))
	}
	return res, err
}

// unkept reports whether the home's database could not be written or read, which no
// job is to blame for. What is damaged in it may be one run alone.
func unkept(err error) bool {
	var failed *memory.Error
	return errors.As(err, &failed) && !memory.IsDamage(err)
}

// readResult reads what came of a try from the run's own journal. Cause is what
// has kept the run from being driven, if something did. Where that was the end of ctx,
// it is no result: the run stands as it did, and can go on.
func (r *runner) readResult(ctx context.Context, try batch.Try, why string, cause error) (batch.Result, error) {
	if advice := hint.Of(cause); advice != "" {
		cause = fmt.Errorf("%w. %s", cause, advice)
	}
	info, err := r.db.Run(context.WithoutCancel(ctx), try.Run)
	switch {
	case errors.Is(err, memory.ErrNoRun) && cause == nil:
		return batch.Result{}, errors.New("the run did not begin")
	case errors.Is(err, memory.ErrNoRun):
		return batch.Result{}, cause
	case err != nil:
		return batch.Result{}, err
	}
	res := batch.Result{
		State:   batch.JobFailed,
		Outcome: info.Outcome,
		Parked:  info.Parked,
		Why:     host.FirstLine(why),
	}
	switch {
	case info.State == plan.Cancelled:
		res.State = batch.JobCancelled
	case info.State.Final() && info.State.ExitCode() == plan.ExitOK:
		res.State = batch.JobDone
		res.Why = ""
	case info.Parked != "":
		res.State = batch.JobParked
	case cause != nil && ctx.Err() != nil:
		return batch.Result{}, cause
	case cause != nil:
		res.Why = host.FirstLine(cause.Error())
	}
	return res, nil
}

// stopReason is why a run stopped, from its events.
type stopReason struct {
	text    string
	failure string // the last one
}

func (s *stopReason) observe(ev plan.Event) {
	switch b := ev.Body.(type) {
	case plan.Failure:
		s.failure = b.Error
		if b.Hint != "" {
			s.failure = strings.TrimRight(b.Error, ". ") + ". " + b.Hint
		}
		s.text = s.failure
	case plan.RunEnd:
		s.text = b.Why
		if b.Outcome == plan.Failed && s.failure != "" {
			s.text = s.failure
		}
	case plan.Parked:
		s.text = string(b.Reason)
		if b.Detail != "" {
			s.text = b.Detail
		}
		for _, c := range b.Waiting {
			if c.Question != "" {
				s.text = "it asks: " + c.Question
			}
		}
	}
}
