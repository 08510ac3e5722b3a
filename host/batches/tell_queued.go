package batches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/internal/userinfo"
	"github.com/plan-engine/plan/memory"
)

// Tell says something to the run of a job in the queue. Where the run waits with a question
// it is the answer, and the job is queued again; else it is guidance, or a further request,
// for the worker that drives the run, or the next one that takes it up.
func (q *Queued) Tell(ctx context.Context, name string, l host.Letter) (run plan.RunID, again bool, err error) {
	of, j, err := q.jobOf(ctx, name)
	if err != nil {
		return "", false, err
	}
	if j.State != batch.JobParked && j.State != batch.JobQueued && j.State != batch.JobRunning {
		return j.Run, false, fmt.Errorf("run %s is told nothing any more: its job %s is %s", j.Run, j.ID, j.State)
	}
	answers := false
	switch l.Kind {
	case "", host.Answer:
		answers, err = q.bindAnswer(ctx, j, &l)
	case host.Steer, host.FollowUp:
	default:
		err = hint.Usage("a plan of a job in a queue is given up with plan batch deny --queue, while it waits")
	}
	if err != nil {
		return j.Run, false, err
	}
	l.Text = userinfo.Redact(q.batches.host.UserRedactor()(strings.TrimSpace(l.Text)))
	data, err := plan.MarshalCompact(l)
	if err == nil {
		err = q.store.Tell(ctx, j.Run, nats.Letter{Kind: string(l.Kind), Data: data})
	}
	if err != nil || !answers {
		return j.Run, false, err
	}
	n, err := q.store.Requeue(ctx, of, false, func(now nats.Job) bool {
		return now.Run == j.Run && now.State == batch.JobParked
	})
	return j.Run, n > 0, err
}

// jobOf finds the job of a run that is named as other commands name runs.
func (q *Queued) jobOf(ctx context.Context, name string) (of string, job nats.Job, err error) {
	list, err := q.store.Batches(ctx)
	if err != nil {
		return "", job, err
	}
	matches := 0
	for _, b := range list {
		jobs, err := q.store.Jobs(ctx, b.ID)
		if err != nil {
			return "", job, err
		}
		for _, j := range jobs {
			if memory.Names(name, j.Run) {
				of, job = b.ID, j
				matches++
			}
		}
	}
	switch matches {
	case 0:
		return "", job, fmt.Errorf("no job in the queue has the run %q", name)
	case 1:
		return of, job, nil
	}
	return "", job, fmt.Errorf("%q fits the runs of %d jobs, give more letters", name, matches)
}

// bindAnswer makes a letter the answer to the question that a job waits with, and guidance
// where there is none.
func (q *Queued) bindAnswer(ctx context.Context, j nats.Job, l *host.Letter) (answers bool, err error) {
	var res queuedResult
	if j.State == batch.JobParked {
		result, err := q.store.Result(ctx, j)
		if err == nil {
			err = json.Unmarshal(result, &res)
		}
		if err != nil {
			return false, fmt.Errorf("read job %s: %w", j.ID, err)
		}
	}
	at := slices.IndexFunc(res.Waits, func(w plan.WaitingCall) bool { return w.Question != "" })
	switch {
	case at >= 0:
		l.Kind = host.Answer
		l.Call = res.Waits[at].Call
		l.Digest = res.Waits[at].Digest
		return true, nil
	case l.Kind == host.Answer:
		return false, errors.New("run " + string(j.Run) + " waits with no question")
	}
	l.Kind = host.Steer
	return false, nil
}
