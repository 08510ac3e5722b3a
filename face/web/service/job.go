package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

// QueuedJob is a job of the queue, whose run a worker drives: what it does is read from the queue,
// and what is said to it goes there.
type QueuedJob struct {
	Batch  string         `json:"batch"`
	ID     string         `json:"id"`
	State  batch.JobState `json:"state"`
	Worker string         `json:"worker"`
}

// Over reports whether no worker goes on with the job.
func (j QueuedJob) Over() bool {
	return j.State == batch.JobDone || j.State == batch.JobFailed || j.State == batch.JobCancelled
}

// job finds a job of a batch in the queue.
func (w *Service) job(ctx context.Context, prefix, name string) (of string, j batches.Job, err error) {
	s, err := w.everywhere().Show(ctx, prefix)
	if err != nil {
		return "", j, err
	}
	at := slices.IndexFunc(s.Jobs, func(j batches.Job) bool { return j.ID == name })
	if at < 0 {
		return "", j, hint.Usage("batch %s has no job %q", s.ID, name)
	}
	if j = s.Jobs[at]; j.Run != "" && j.Worker == "" {
		return "", j, hint.Usage("job %s is none of a queue: its run is /runs/%s", j.ID, j.Run)
	}
	return s.ID, j, nil
}

// JobDocument says how the run of a job in the queue stands, and what its journal has there.
func (w *Service) JobDocument(ctx context.Context, prefix, name string) (d Run, past []plan.Event, err error) {
	of, j, err := w.job(ctx, prefix, name)
	if err != nil {
		return d, nil, err
	}
	if j.Run == "" {
		return d, nil, hint.New(
			fmt.Sprintf("job %s is %s: it has no run yet", j.ID, j.State),
			"It has one once a worker has taken it.",
		)
	}
	run := &engine.Run{}
	for line, err := range w.Queue.Events(ctx, string(j.Run), 0, false) {
		var ev plan.Event
		if err == nil {
			err = ev.UnmarshalJSON(line.JSON)
		}
		if err != nil {
			return d, nil, fmt.Errorf("read the journal of run %s: %w", j.Run, err)
		}
		run.Apply(ev)
		past = append(past, ev)
	}
	info := memory.RunInfo{
		ID:      j.Run,
		Request: j.Request,
		Repo:    j.Repo,
		Updated: run.Last,
		Usage:   run.Usage,
		CostUSD: run.Cost,
		Priced:  run.Priced,
	}
	if len(past) > 0 {
		info.Created = past[0].Time
	}
	if run.Start != nil {
		info.Title = run.Start.Title
		info.Request = run.Start.Request
	}
	d = newRun(host.ListRun(info), run)
	d.Job = &QueuedJob{
		Batch:  of,
		ID:     j.ID,
		State:  j.State,
		Worker: j.Worker,
	}
	if run.Outcome != nil {
		d.Diff = &run.Outcome.Diff
	}
	if run.Parked != nil && j.State == batch.JobParked && len(run.Parked.Waiting) > 0 {
		first := run.Parked.Waiting[0] // the job goes on after each decision
		first.Grant = plan.Grant{}     // its settings are a worker's
		d.Waiting = listWaiting([]plan.WaitingCall{first})
	}
	return d, past, nil
}

// JobDiff is the change of a job that has ended.
func (w *Service) JobDiff(ctx context.Context, j QueuedJob) (string, error) {
	text, err := w.Queue.Patch(ctx, j.Batch, j.ID)
	return string(text), err
}

// TellJob says something to the run of a job in the queue, decides about what it waits with, or
// ends the job.
func (w *Service) TellJob(ctx context.Context, prefix, name string, l Letter) (Told, error) {
	of, j, err := w.job(ctx, prefix, name)
	if err != nil {
		return Told{}, err
	}
	told := Told{
		Run:     j.Run,
		Reaches: reachesNow,
	}
	switch l.Kind {
	case "cancel":
		told.Reaches = reachesEnded
		_, _, err = w.Queue.Cancel(ctx, of, []string{j.ID})
		return told, err
	case "approve", "deny":
		if l.Scope == plan.ScopeRun {
			return Told{}, hint.Usage("a yes to the run of a job in a queue counts once")
		}
		decision, err := decisionOf(l)
		if err == nil {
			_, _, err = w.Queue.Decide(ctx, of, j.ID, decision)
		}
		told.Reaches = reachesResume
		return told, err
	}
	letter, err := letterOf(l)
	if err != nil {
		return Told{}, err
	}
	_, again, err := w.Queue.Tell(ctx, string(j.Run), letter)
	if again || j.State != batch.JobRunning {
		told.Reaches = reachesResume
	}
	return told, err
}
