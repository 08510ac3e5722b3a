package batches

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/connect"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

// View is what shows a batch that this process drives. The zero value shows
// nothing. Its functions are called from several goroutines at a time, and must
// not block for long: jobs wait for them.
type View struct {
	// Begin is called once, before the first job is taken.
	Begin func(Progress)

	// Started is told of each job that begins or goes on.
	Started func(batch.Try)

	// Event takes each event of a job as it is recorded, and live ones as they come,
	// those of one job in order.
	Event func(job string, ev plan.Event)

	// Note takes what people should know about a job and can do without.
	Note func(job, text string)

	// Finished is told what came of each job.
	Finished func(batch.Try, batch.Result)
}

// Progress is how far a batch has got when this process begins to drive it.
type Progress struct {
	Counts  map[batch.JobState]int
	CostUSD float64
	Tokens  int64

	// Workers is how many jobs may run at the same time.
	Workers int

	// Window is how many calls of models may be under way at the moment, and until
	// when none may begin because a server asked for that.
	Window func() (calls int, until time.Time)
}

func (v View) begin(p Progress) {
	if v.Begin != nil {
		v.Begin(p)
	}
}

func (v View) started(try batch.Try) {
	if v.Started != nil {
		v.Started(try)
	}
}

func (v View) event(job string, ev plan.Event) {
	if v.Event != nil {
		v.Event(job, ev)
	}
}

func (v View) note(job, text string) {
	if v.Note != nil {
		v.Note(job, text)
	}
}

func (v View) finished(try batch.Try, res batch.Result) {
	if v.Finished != nil {
		v.Finished(try, res)
	}
}

// Outcome is how a batch stands when this process is done with it.
type Outcome struct {
	Batch Standing

	// Stopped is what has ended the work before its time: engine.ErrInterrupted, a
	// batch.BudgetError or a plan.TimeUp; nil where nothing has.
	Stopped error
}

// Interrupted reports whether the caller has stopped the batch.
func (o Outcome) Interrupted() bool { return errors.Is(o.Stopped, engine.ErrInterrupted) }

// ExitCode is what a process that drove the batch ends with: plan.ExitOK only if
// every job was approved, plan.ExitWaiting where all wait for a person to decide
// about the plan that they share, plan.ExitInterrupted where the batch was stopped
// before that, and else plan.ExitNotApproved.
func (o Outcome) ExitCode() int {
	if o.Interrupted() && o.Batch.ExitCode != plan.ExitOK {
		return plan.ExitInterrupted
	}
	return o.Batch.ExitCode
}

// Drive drives a batch until nothing is left that this process can do. Options are
// laid over what the jobs say; their limits are those of each job. An error means
// that nothing was begun, or that the queue could not be kept; all else that can
// go wrong is in the [Outcome]. A batch that another process drives is a
// memory.HeldError.
//
// Cancelling ctx with engine.ErrInterrupted as the cause parks the jobs that run.
func (b *Batches) Drive(ctx context.Context, id string, o host.Options, view View) (out Outcome, err error) {
	db, err := b.host.DB(ctx)
	if err != nil {
		return out, err
	}
	release, err := db.OwnBatch(ctx, id)
	if err != nil {
		return out, err
	}
	defer release() //nolint:errcheck // a lock that is released by the end of the process at the latest
	// What is running now was so when its process died.
	running := []memory.JobState{memory.JobRunning}
	if _, err := db.SetJobStates(ctx, id, memory.JobQueued, running, nil, false); err != nil {
		return out, err
	}
	stored, err := db.Batch(ctx, id)
	if err != nil {
		return out, err
	}
	settings, err := settingsOf(stored)
	if err != nil {
		return out, err
	}
	if err := b.requireModel(ctx, stored, settings, &o); err != nil {
		return out, err
	}
	host.Sweep()
	ctx, stop := withTimeout(ctx, settings.Timeout.Duration)
	defer stop(nil)
	if err = b.schedule(ctx, db, stored, settings, o, view, stop); err != nil {
		err = hint.Wrap(err, "The batch has stopped, and every job stands where it stood: `plan batch resume "+id+
			"` goes on with it.")
	}
	out.Stopped = context.Cause(ctx)
	ctx = context.WithoutCancel(ctx)
	if err == nil {
		err = parkQueued(ctx, db, id, out.Stopped)
	}
	if err != nil {
		return out, err
	}
	out.Batch, err = standsNow(ctx, db, id)
	return out, err
}

// standsNow is how a batch stands that this process was the last to drive. A job
// that cannot be read has its reason in the queue already.
func standsNow(ctx context.Context, db *memory.DB, id string) (Standing, error) {
	stored, err := db.Batch(ctx, id)
	if err != nil {
		return Standing{}, err
	}
	jobs, err := db.Jobs(ctx, id)
	if err != nil {
		return Standing{}, err
	}
	s := standingOf(db, stored, jobs)
	s.State = openOrDone(s.Counts)
	return s, nil
}

// withTimeout bounds the work of this process. The function that it returns ends
// the context with a cause, and with nil once the work is over.
func withTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if timeout <= 0 {
		return ctx, cancel
	}
	ctx, release := context.WithTimeoutCause(ctx, timeout, &plan.TimeUp{Max: timeout})
	return ctx, func(cause error) {
		cancel(cause)
		if cause == nil {
			release()
		}
	}
}

// requireModel makes sure once for all jobs that there is a model to talk to, and
// takes a server that was found on this machine into the options.
func (b *Batches) requireModel(ctx context.Context, stored memory.Batch, s Settings, o *host.Options) error {
	if stored.Jobs[memory.JobQueued] == 0 {
		return nil
	}
	cfg, err := b.host.Settings("", o.Settings)
	if err != nil {
		return err
	}
	named := cfg.Model != ""
	if !named {
		cfg.Model = "named by the jobs"
	}
	servers, err := b.host.Connector(ctx, "").Open(ctx, &cfg, nil, nil)
	if err != nil {
		return err
	}
	defer servers.Close()
	if o.Settings.BaseURL == "" {
		o.Settings.BaseURL = cfg.BaseURL
	}
	if named && s.MaxCost > 0 {
		cfg.MaxCost = s.MaxCost
		return connect.CheckBudget(cfg, servers)
	}
	return nil
}

// schedule runs the jobs. Stop ends ctx.
func (b *Batches) schedule(
	ctx context.Context,
	db *memory.DB,
	stored memory.Batch,
	settings Settings,
	o host.Options,
	view View,
	stop context.CancelCauseFunc,
) error {
	workers := settings.workers()
	shared, err := openSharedPlan(ctx, db, stored.ID, settings.PlanJob)
	if err != nil {
		return err
	}
	transport := newTransport(workers)
	defer transport.CloseIdleConnections()
	budget := &batch.Budget{
		MaxCost:   settings.MaxCost,
		MaxTokens: settings.MaxTokens,
		Stop:      stop,
	}
	budget.Add(stored.Tokens, stored.CostUSD)
	limiter := batch.NewLimiter(workers, b.host.Now)
	inboxes := &host.Inboxes{}
	view.begin(Progress{
		Counts:  countsOf(stored),
		CostUSD: stored.CostUSD,
		Tokens:  stored.Tokens,
		Workers: workers,
		Window:  limiter.Window,
	})
	defer inBackground(ctx, func(ctx context.Context) { inboxes.Work(ctx, db) })()
	common := &host.Shared{
		HTTP:    &http.Client{Transport: transport},
		Limit:   limiter.Model,
		Inboxes: inboxes,
	}
	return batch.Run(ctx, batch.Config{
		Queue: queue{
			db:     db,
			batch:  stored.ID,
			newRun: b.host.NewRunID,
			shared: shared,
		},
		Runner: &runner{
			host:    b.host,
			db:      db,
			options: o,
			view:    view,
			plan:    shared,
			shared:  func(batch.Try) *host.Shared { return common },
			spend:   func(_ batch.Try, u plan.UsageReport) { budget.Spend(u.Usage, u.CostUSD) },
		},
		Workers:  min(workers, max(stored.Jobs[memory.JobQueued], 1)),
		FailFast: settings.FailFast,
		Started:  view.started,
		Finished: func(try batch.Try, res batch.Result) {
			view.finished(try, res)
			shared.jobStopped(try.ID)
		},
	})
}

// newTransport is the connections to model servers that all jobs share.
func newTransport(workers int) *http.Transport {
	dialer := &net.Dialer{
		Timeout:   10 * time.Second,
		KeepAlive: 30 * time.Second,
	}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConns:        workers,
		MaxIdleConnsPerHost: workers,
		DisableCompression:  true,
	}
}

// inBackground does work until the function that it returns is called, which waits
// for its end.
func inBackground(ctx context.Context, work func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	group.Go(func() { work(ctx) })
	return func() {
		cancel()
		group.Wait()
	}
}

// parkQueued parks the jobs that a limit of the batch has kept from beginning.
func parkQueued(ctx context.Context, db *memory.DB, id string, stopped error) error {
	var full *batch.BudgetError
	var up *plan.TimeUp
	if !errors.As(stopped, &full) && !errors.As(stopped, &up) {
		return nil
	}
	queued := []memory.JobState{memory.JobQueued}
	_, err := db.SetJobStates(ctx, id, memory.JobParked, queued, nil, false)
	return err
}

// queue is the jobs of one batch in the database.
type queue struct {
	db     *memory.DB
	batch  string
	newRun func() plan.RunID
	shared *sharedPlan
}

// Claim implements batch.Queue.
func (q queue) Claim(ctx context.Context) (batch.Claimed, bool, error) {
	only, ok, err := q.shared.admit(ctx)
	if err != nil || !ok {
		return batch.Claimed{}, false, err
	}
	job, ok, err := q.db.ClaimJob(ctx, q.batch, q.newRun(), only)
	if only != "" && !ok { // it has ended without a plan
		q.shared.endWait()
	}
	return batch.Claimed{
		Batch: job.Batch,
		ID:    job.ID,
		Run:   job.Run,
		Spec:  job.Spec,
		Err:   job.Damage,
	}, ok, err
}

// RecordResult implements batch.Queue.
func (q queue) RecordResult(ctx context.Context, id string, state batch.JobState, result json.RawMessage) error {
	return q.db.RecordJobResult(ctx, q.batch, id, memory.JobState(state), result)
}
