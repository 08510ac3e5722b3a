package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

// batchSettings is what a batch is driven with, beside its jobs. It is kept with
// the batch.
type batchSettings struct {
	Concurrency int             `json:"concurrency,omitempty"`
	FailFast    bool            `json:"fail_fast,omitempty"`
	MaxCost     float64         `json:"max_cost,omitempty"`   // USD, of all jobs
	MaxTokens   int64           `json:"max_tokens,omitempty"` // of all jobs
	Timeout     config.Duration `json:"timeout,omitzero"`     // of one process
	// PlanJob is the job whose plan the others share; "" for none.
	PlanJob string `json:"plan_job,omitempty"`
}

// workers is how many jobs run at the same time.
func (s batchSettings) workers() int {
	if s.Concurrency > 0 {
		return s.Concurrency
	}
	return min(max(2*runtime.NumCPU(), 4), 32)
}

// batchStart stores a batch and drives it, unless there is one of the same jobs.
func (a *app) batchStart(
	ctx context.Context,
	jobs []batch.Job,
	name string,
	most int,
	anew bool,
	settings batchSettings,
	given said,
) error {
	return a.readDB(ctx, func(db *memory.DB) error {
		b, err := a.addBatch(ctx, db, jobs, name, most, anew, settings)
		if err != nil {
			return err
		}
		return a.batchWork(ctx, db, b, settings, given)
	})
}

// addBatch stores a batch. One of the same jobs is an error that carries the
// batch's own exit code.
func (a *app) addBatch(
	ctx context.Context,
	db *memory.DB,
	jobs []batch.Job,
	name string,
	most int,
	anew bool,
	settings batchSettings,
) (memory.Batch, error) {
	var b memory.Batch
	digest, err := batch.Digest(jobs)
	if err != nil {
		return b, failed(err)
	}
	// Two processes that are started with the same list must not both find none.
	release, err := db.OwnBatch(ctx, "new-"+digest[:16])
	if err != nil {
		return b, failed(fmt.Errorf("another process is just starting the same jobs: %w", err))
	}
	defer release() //nolint:errcheck // a lock that is released by the end of the process at the latest
	same, err := db.Batches(ctx, digest)
	if err != nil {
		return b, failed(err)
	}
	if len(same) > 0 && !anew {
		return b, a.sameBatch(ctx, db, same[0])
	}
	entries, err := batch.Entries(jobs)
	if err != nil {
		return b, failed(err)
	}
	data, err := json.Marshal(settings)
	if err != nil {
		return b, failed(err)
	}
	b = memory.Batch{
		ID:       ulid.MustNew(ulid.Timestamp(a.now()), ulid.DefaultEntropy()).String(),
		Digest:   digest,
		Name:     name,
		Settings: data,
		MaxStarts:     most,
	}
	return b, failed(db.AddBatch(ctx, b, storedJobs(entries)))
}

// sameBatch says how a batch stands that was to be started once more.
func (a *app) sameBatch(ctx context.Context, db *memory.DB, b memory.Batch) error {
	jobs, err := db.Jobs(ctx, b.ID)
	if err != nil {
		return failed(err)
	}
	state, hint := batchState(db, b), ""
	switch state {
	case batchRunning:
		hint = "watch it with `plan batch status " + b.ID + "`"
	case batchDone:
		hint = "see `plan batch report " + b.ID + "`"
	default:
		hint = "go on with `plan batch resume " + b.ID + "`"
	}
	fmt.Fprintf(
		a.err,
		"plan: batch %s has the same jobs and is %s (%s): nothing was started. Now %s, or start another one with --new.\n",
		b.ID,
		state,
		jobCounts(b.Jobs),
		hint,
	)
	return &exit{code: batchExit(b, jobs)}
}

// batchDrive goes on with a batch after prepare has changed what is left to do.
func (a *app) batchDrive(
	cmd *cobra.Command,
	prefix string,
	flags *batchFlags,
	prepare func(context.Context, *memory.DB, *memory.Batch) error,
) error {
	return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
		b, err := findBatch(ctx, db, prefix)
		if err != nil {
			return err
		}
		var settings batchSettings
		if err := json.Unmarshal(b.Settings, &settings); err != nil {
			return failed(fmt.Errorf("read how batch %s was driven: %w", b.ID, err))
		}
		given, err := flags.over(cmd, &settings)
		if err != nil {
			return err
		}
		// What another process drives is not to be changed under it.
		if held, ok := db.BatchHolder(b.ID); ok {
			return failed(
				&advice{
					fmt.Sprintf("batch %s is driven by process %d", b.ID, held.PID),
					"Watch it with `plan batch status " + b.ID + "`.",
				},
			)
		}
		if err := prepare(ctx, db, &b); err != nil {
			return err
		}
		data, err := json.Marshal(settings)
		if err != nil {
			return failed(err)
		}
		if err := db.ChangeBatch(ctx, b.ID, data, b.MaxStarts); err != nil {
			return failed(err)
		}
		return a.batchWork(ctx, db, b, settings, given)
	})
}

// batchWork drives a batch until nothing is left that this process can do.
func (a *app) batchWork(
	ctx context.Context,
	db *memory.DB,
	b memory.Batch,
	settings batchSettings,
	given said,
) error {
	release, err := db.OwnBatch(ctx, b.ID)
	if err != nil {
		return failed(err)
	}
	defer release() //nolint:errcheck // a lock that is released by the end of the process at the latest
	// What is running now was so when its process died.
	if _, err := db.SetJobStates(ctx, b.ID, memory.JobQueued, []memory.JobState{memory.JobRunning}, nil, false); err != nil {
		return failed(err)
	}
	if b, err = db.Batch(ctx, b.ID); err != nil {
		return failed(err)
	}
	if err := a.batchModel(ctx, b, settings, &given); err != nil {
		return err
	}
	worktree.Sweep()
	sandbox.Sweep()
	ctx, stop := a.stoppable(ctx, settings.Timeout.Duration)
	defer stop(nil)
	view := a.openBatchView(b)
	err = a.schedule(ctx, db, b, settings, given, view, stop)
	cause := context.Cause(ctx)
	if err == nil {
		err = parkRest(context.WithoutCancel(ctx), db, b.ID, cause)
	}
	return a.batchEnd(context.WithoutCancel(ctx), db, b.ID, view, cause, err)
}

// batchModel sees once that there is a model to talk to, and what its name is.
func (a *app) batchModel(ctx context.Context, b memory.Batch, settings batchSettings, given *said) error {
	if b.Jobs[memory.JobQueued] == 0 {
		return nil
	}
	cfg, err := a.settings("", given.Config)
	if err != nil {
		return err
	}
	named := cfg.Model
	if named == "" {
		cfg.Model = "named by the jobs"
	}
	servers, err := a.connect(ctx, &cfg, nil, nil)
	if err != nil {
		return err
	}
	defer servers.Close()
	if given.BaseURL == "" {
		given.BaseURL = cfg.BaseURL
	}
	if named != "" && settings.MaxCost > 0 {
		cfg.MaxCost = settings.MaxCost
		return checkBudget(cfg, servers)
	}
	return nil
}

// schedule runs the jobs.
func (a *app) schedule(
	ctx context.Context,
	db *memory.DB,
	b memory.Batch,
	settings batchSettings,
	given said,
	view *batchView,
	stop func(error),
) error {
	workers := settings.workers()
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConns:        workers,
		MaxIdleConnsPerHost: workers,
		DisableCompression:  true,
	}
	defer transport.CloseIdleConnections()
	budget := &batch.Budget{
		MaxCost:   settings.MaxCost,
		MaxTokens: settings.MaxTokens,
		Stop:      stop,
	}
	budget.Add(b.Tokens, b.CostUSD)
	limiter := batch.NewLimiter(workers, a.now)
	view.limiter = limiter
	shared, err := openSharedPlan(ctx, db, b, settings)
	if err != nil {
		return err
	}
	runner := &jobRunner{
		app:     a,
		db:      db,
		flags:   given,
		http:    &http.Client{Transport: transport},
		limiter: limiter,
		budget:  budget,
		view:    view,
		shared:  shared,
	}
	view.start(workers)
	defer view.stop()
	defer during(ctx, func(ctx context.Context) { runner.post.work(ctx, db.RunsWithLetters) })()
	return failed(batch.Run(ctx, batch.Config{
		Queue: queue{
			db:     db,
			batch:  b.ID,
			now:    a.now,
			shared: shared,
		},
		Runner:   runner,
		Workers:  min(workers, max(b.Jobs[memory.JobQueued], 1)),
		FailFast: settings.FailFast,
		Started:  view.begin,
		Finished: func(try batch.Try, res batch.Result) {
			view.settled(try, res)
			shared.settled(try.ID)
		},
	}))
}

// during does work beside until the function that it returns is called, which
// waits for its end.
func during(ctx context.Context, work func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	group.Go(func() { work(ctx) })
	return func() {
		cancel()
		group.Wait()
	}
}

// queue is the jobs of one batch.
type queue struct {
	db     *memory.DB
	batch  string
	now    func() time.Time
	shared *sharedPlan
}

var _ batch.Queue = queue{}

// Claim implements batch.Queue.
func (q queue) Claim(ctx context.Context) (batch.Claimed, bool, error) {
	only, ok, err := q.shared.admit(ctx)
	if err != nil || !ok {
		return batch.Claimed{}, false, err
	}
	job, ok, err := q.db.ClaimJob(ctx, q.batch, newRunID(q.now), only)
	if only != "" && !ok { // it has ended without a plan
		q.shared.look()
	}
	return batch.Claimed{
		Batch: job.Batch,
		ID:    job.ID,
		Run:   job.Run,
		Spec:  job.Spec,
	}, ok, err
}

// RecordResult implements batch.Queue.
func (q queue) RecordResult(ctx context.Context, id string, state batch.JobState, result json.RawMessage) error {
	return q.db.RecordJobResult(ctx, q.batch, id, memory.JobState(state), result)
}

// storedJobs are entries of a batch as the database keeps them.
func storedJobs(entries []batch.Entry) []memory.Job {
	jobs := make([]memory.Job, len(entries))
	for i, e := range entries {
		jobs[i] = memory.Job{
			ID:       e.ID,
			Place:    e.Place,
			Turn:     e.Turn,
			Priority: e.Priority,
			Spec:     e.Spec,
		}
	}
	return jobs
}

// parkRest parks the jobs that a limit of the batch has kept from beginning.
func parkRest(ctx context.Context, db *memory.DB, id string, cause error) error {
	var full *batch.BudgetError
	var up *plan.TimeUp
	if !errors.As(cause, &full) && !errors.As(cause, &up) {
		return nil
	}
	_, err := db.SetJobStates(ctx, id, memory.JobParked, []memory.JobState{memory.JobQueued}, nil, false)
	return failed(err)
}

// batchEnd says how the batch stands and makes the exit code of it.
func (a *app) batchEnd(ctx context.Context, db *memory.DB, id string, view *batchView, cause, err error) error {
	if err != nil {
		return err
	}
	b, err := db.Batch(ctx, id)
	if err != nil {
		return failed(err)
	}
	jobs, err := db.Jobs(ctx, id)
	if err != nil {
		return failed(err)
	}
	a.batchSummary(b, jobs, cause)
	if view.err != nil {
		return failed(
			fmt.Errorf("the batch came to its end, but not all of its output could be written: %w", view.err),
		)
	}
	code := batchExit(b, jobs)
	if code != plan.ExitOK && isInterrupt(cause) {
		code = plan.ExitInterrupted
	}
	if code != plan.ExitOK {
		return &exit{code: code}
	}
	return nil
}

// batchExit is 0 only if every job was approved, and 4 where all wait for a
// person to decide about the plan that they share. Jobs are only needed for the
// latter.
func batchExit(b memory.Batch, jobs []memory.Job) int {
	if planStands(b, jobs).waits() {
		return plan.ExitWaiting
	}
	for state, n := range b.Jobs {
		if state != memory.JobDone && n > 0 {
			return plan.ExitNotApproved
		}
	}
	return plan.ExitOK
}
