package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plan-engine/plan"
)

// Queue keeps the jobs of one batch. It is called from several goroutines, and
// other processes may take jobs from the same queue.
type Queue interface {
	// Claim takes the next job, which no other worker gets then; false if there is
	// none left to take.
	Claim(ctx context.Context) (Claimed, bool, error)
	// RecordResult stores the state that a claimed job has reached, and its
	// [Result] as JSON.
	RecordResult(ctx context.Context, id string, state JobState, result json.RawMessage) error
}

// Claimed is a job that a worker has taken from a queue.
type Claimed struct {
	Batch string
	ID    string
	// Run is the run that does the job, the same one for each try until the job
	// is begun anew.
	Run plan.RunID
	// Spec is that of the job's [Entry].
	Spec json.RawMessage
	// Err is why the spec cannot be read; there is none then.
	Err error
	// Lost is closed once the job is no longer this worker's: what it does from then
	// on counts for nothing. Nil where that cannot be.
	Lost <-chan struct{}
}

// ErrLeaseLost says that a job is not, or no longer, that of the worker that has a
// result for it. The result counts for nothing.
var ErrLeaseLost = errors.New("the job is no longer this worker's")

// StopError is an error of a [Runner] after which no job can go on, for what one comes
// to cannot be kept. Nothing is recorded of its own job, so it goes on where it stands
// once the batch does.
type StopError struct{ Err error }

// Error implements error.
func (e *StopError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StopError) Unwrap() error { return e.Err }

// Config is what a batch is driven with.
type Config struct {
	Queue  Queue
	Runner Runner
	// Workers is how many jobs run at the same time; at least 1.
	Workers int
	// FailFast starts no further job once one has ended without approval. Those
	// that run go on to their end.
	FailFast bool
	// Timeout bounds a job in one process, where its settings name no other.
	// Default: 2 hours.
	Timeout time.Duration
	// Grace is how long a job may take to stop. One that does not is given up.
	// Default: 30 seconds.
	Grace time.Duration
	// Started and Finished are called for each try, from several goroutines.
	Started  func(Try)
	Finished func(Try, Result)
}

const (
	defaultTimeout = 2 * time.Hour
	defaultGrace   = 30 * time.Second
)

// Run works through the queue until it is empty or ctx ends, which parks the
// jobs that are running. An error means that the queue could not be kept: then
// nothing further is done.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Grace <= 0 {
		cfg.Grace = defaultGrace
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := &scheduler{Config: cfg, stop: stop}
	var workers sync.WaitGroup
	for range max(cfg.Workers, 1) {
		workers.Go(func() { s.work(ctx) })
	}
	workers.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queueErr
}

// scheduler drives a batch.
type scheduler struct {
	Config
	stop   context.CancelCauseFunc
	failed atomic.Bool // fail-fast: no further job

	mu       sync.Mutex
	queueErr error
}

func (s *scheduler) work(ctx context.Context) {
	for ctx.Err() == nil && !s.failed.Load() {
		claimed, ok, err := s.Queue.Claim(ctx)
		if err != nil && ctx.Err() == nil {
			s.abort(err)
		}
		if err != nil || !ok {
			return
		}
		s.runJob(ctx, claimed)
	}
}

// abort stops everything. What fails after the first failure most often fails for the
// same reason, and is not told.
func (s *scheduler) abort(err error) {
	s.mu.Lock()
	if s.queueErr == nil {
		s.queueErr = err
	}
	s.mu.Unlock()
	s.stop(err)
}

// runJob runs one job and records what came of it.
func (s *scheduler) runJob(ctx context.Context, claimed Claimed) {
	try := Try{Batch: claimed.Batch, Run: claimed.Run}
	res := Result{State: JobFailed}
	err := claimed.Err
	if err == nil {
		err = json.Unmarshal(claimed.Spec, &try.Job)
	}
	if err != nil {
		res.Why = "the job cannot be read any more: " + err.Error()
	} else {
		if s.Started != nil {
			s.Started(try)
		}
		res = s.runWhileHeld(ctx, try, claimed.Lost)
	}
	if res.stop != nil {
		s.abort(res.stop)
		return
	}
	data, err := json.Marshal(res)
	if err == nil {
		err = s.Queue.RecordResult(context.WithoutCancel(ctx), claimed.ID, res.State, data)
	}
	switch {
	case errors.Is(err, ErrLeaseLost):
		res = Result{State: JobParked, Parked: plan.ParkInterrupted, Why: err.Error()}
	case err != nil:
		s.abort(err)
		return
	}
	if s.FailFast && res.State == JobFailed {
		s.failed.Store(true)
	}
	if s.Finished != nil {
		s.Finished(try, res)
	}
}

// runWhileHeld runs a job and stops it where another worker is given it meanwhile.
func (s *scheduler) runWhileHeld(ctx context.Context, try Try, lost <-chan struct{}) Result {
	if lost == nil {
		return s.runWithTimeout(ctx, try)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-lost:
			cancel(ErrLeaseLost)
		case <-ctx.Done():
		}
	}()
	return s.runWithTimeout(ctx, try)
}

// runWithTimeout runs a job so that neither its crash nor its hanging harms
// another one.
func (s *scheduler) runWithTimeout(ctx context.Context, try Try) Result {
	limit := s.Timeout
	if own := try.Settings.Timeout.Duration; own > 0 {
		limit = own
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &plan.TimeUp{Max: limit})
	defer cancel()
	done := make(chan Result, 1)
	go func() { done <- s.runRecovered(ctx, try) }()
	select {
	case res := <-done:
		return res
	case <-ctx.Done():
	}
	patience := time.NewTimer(s.Grace)
	defer patience.Stop()
	select {
	case res := <-done:
		return res
	case <-patience.C:
		cause := context.Cause(ctx)
		return Result{
			State: JobFailed,
			Why:   fmt.Sprintf("the job was to stop (%v), did not within %s, and was given up", cause, s.Grace),
		}
	}
}

// runRecovered turns errors and panics into results.
func (s *scheduler) runRecovered(ctx context.Context, try Try) (res Result) {
	defer func() {
		if p := recover(); p != nil {
			res = Result{
				State: JobFailed,
				Why:   fmt.Sprintf("the job crashed: %v (%s)", p, panicLocation(debug.Stack())),
			}
		}
	}()
	res, err := s.Runner.Run(ctx, try)
	var up *plan.TimeUp
	var stop *StopError
	switch {
	case err == nil:
	case errors.As(err, &stop):
		return Result{stop: stop}
	case errors.As(context.Cause(ctx), &up):
		res = Result{
			State:  JobParked,
			Parked: plan.ParkLimit,
			Why:    up.Error(),
		}
	case ctx.Err() != nil:
		res = Result{
			State:  JobParked,
			Parked: plan.ParkInterrupted,
			Why:    "stopped before its run was driven",
		}
	default:
		res = Result{State: JobFailed, Why: err.Error()}
	}
	if cause := new(BudgetError); res.State == JobParked && errors.As(context.Cause(ctx), &cause) {
		res.Why = cause.Error()
	}
	return res
}

// panicLocation is the place of a panic: the first frame that is not the runtime's.
func panicLocation(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	panicked := false
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") {
			panicked = true
			continue
		}
		if panicked && strings.HasPrefix(line, "\t") && i > 1 && !strings.HasPrefix(lines[i-1], "panic(") {
			at, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			return at
		}
	}
	return "unknown place"
}
