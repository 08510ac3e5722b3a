package batches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/oneline"
)

// queuePublisher publishes jobs of a batch of a queue.
type queuePublisher struct {
	*Queued
	batch nats.Batch
	how   Publish
	claim *nats.Publisher
}

// Publish commits the change of each approved job, as its worker left it in the queue,
// in a clone in this home, and runs a command of the user's for it, as [Batches.Publish]
// does. A job is published once, also where processes on other machines publish the
// batch: that one does is in the queue before its command starts.
func (q *Queued) Publish(ctx context.Context, prefix string, how Publish) ([]Published, error) {
	interval, err := q.batches.completePublish(&how)
	if err != nil {
		return nil, err
	}
	stored, jobs, err := q.find(ctx, prefix)
	if err != nil {
		return nil, err
	}
	if err := requireQueued(stored.ID, jobs, how.Only); err != nil {
		return nil, err
	}
	db, err := q.batches.host.DB(ctx)
	if err != nil {
		return nil, err
	}
	release, err := db.OwnBatch(ctx, publishLock+stored.ID)
	if err != nil {
		return nil, fmt.Errorf("another process publishes this batch: %w", err)
	}
	defer release() //nolint:errcheck // a lock that is released by the end of the process at the latest
	claim, err := q.store.NewPublisher(string(q.batches.host.NewRunID()))
	if err != nil {
		return nil, err
	}
	defer claim.Close()
	p := &queuePublisher{
		Queued: q,
		batch:  stored,
		how:    how,
		claim:  claim,
	}
	jobs = slices.DeleteFunc(jobs, func(j nats.Job) bool {
		return j.State != batch.JobDone || len(how.Only) > 0 && !slices.Contains(how.Only, j.ID)
	})
	return publishEach(ctx, jobs, how, interval, func(j nats.Job) (toPublish, error) { return p.look(ctx, j) })
}

// look says whether there is something to publish.
func (p *queuePublisher) look(ctx context.Context, j nats.Job) (seen toPublish, err error) {
	seen.line = Published{Job: j.ID, Branch: branchOf(p.batch.ID, j.ID)}
	before, err := p.publicationOf(ctx, j)
	if err != nil {
		return seen, err
	}
	seen.line.Publication = before
	if before != nil && (before.State == batch.Published || before.State == batch.Publishing || !p.how.Retry) {
		seen.line.Skipped = "not again"
		if before.State == batch.Publishing {
			seen.line.Skipped = publishedElsewhere
		}
		return seen, nil
	}
	patch, kept, err := p.store.Patch(ctx, j)
	if err != nil {
		return seen, err
	}
	switch {
	case kept && len(patch) == 0:
		seen.line.Skipped = "it changes nothing"
	case p.how.DryRun:
		seen.line.Publication = nil
		seen.line.Command = p.how.Command
	default:
		seen.publish = func(ctx context.Context) (*batch.Publication, error) { return p.publish(ctx, j, patch, kept) }
	}
	return seen, nil
}

// publicationOf reads how far a job was published. One that is under way is interrupted
// where who has begun it is gone.
func (q *Queued) publicationOf(ctx context.Context, j nats.Job) (*batch.Publication, error) {
	if j.Published == nil {
		return nil, nil
	}
	p := &batch.Publication{}
	if err := json.Unmarshal(j.Published, p); err != nil {
		return nil, fmt.Errorf("read how job %s was published: %w", j.ID, err)
	}
	if p.State == batch.Publishing && !q.store.IsPublishing(ctx, j) {
		p.MarkInterrupted()
	}
	return p, nil
}

// publish claims a job, and runs the command for it.
func (p *queuePublisher) publish(ctx context.Context, j nats.Job, patch []byte, kept bool) (*batch.Publication, error) {
	out := &batch.Publication{
		State:    batch.Publishing,
		Began:    p.batches.host.Now().UTC(),
		ExitCode: -1,
	}
	write := p.claim.Claim
	record := func() error {
		data, err := json.Marshal(out)
		if err != nil {
			return fmt.Errorf("encode what was published: %w", err)
		}
		err = write(ctx, p.batch.ID, j, data)
		write = p.claim.Record
		return err
	}
	err := record()
	if errors.Is(err, nats.ErrClaimed) { // it was free when it was looked at
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	refuse := refusal(out, record)
	if !kept {
		return refuse(notKept(j))
	}
	brought, place, err := p.place(ctx, j, patch)
	if err != nil {
		return refuse(err)
	}
	defer brought.Close()    //nolint:errcheck // it is removed the next time at the latest
	defer place.temp.Close() //nolint:errcheck // a copy of what the queue has
	return p.batches.runPublish(ctx, out, place, p.how, record)
}

// place is where the command for a job runs: a work tree with the job's change.
func (p *queuePublisher) place(ctx context.Context, j nats.Job, patch []byte) (*host.Brought, publishPlace, error) {
	var spec batch.Job
	var res queuedResult
	var at publishPlace
	result, err := p.store.Result(ctx, j)
	if err == nil {
		err = errors.Join(json.Unmarshal(j.Spec, &spec), json.Unmarshal(result, &res))
	}
	switch {
	case err != nil:
		return nil, at, fmt.Errorf("read job %s: %w", j.ID, err)
	case res.Base == "":
		return nil, at, fmt.Errorf(
			"job %s was done by an earlier program, which does not say of what its change is",
			j.ID,
		)
	case !batch.IsURL(spec.Repo):
		return nil, at, fmt.Errorf("its repository is no URL: %s", spec.Repo)
	case filepath.Base(string(j.Run)) != string(j.Run): // whatever the queue has
		return nil, at, fmt.Errorf("%q is no run", j.Run)
	}
	branch := branchOf(p.batch.ID, j.ID)
	brought, err := p.batches.host.Bring(ctx, host.Patch{
		Run:     j.Run,
		URL:     spec.Repo,
		Base:    res.Base,
		Branch:  branch,
		Message: res.Message,
		Text:    patch,
	})
	if err != nil {
		return nil, at, err
	}
	at.dir = brought.Tree.Root()
	at.commit = brought.Commit
	at.origin = res.Base
	at.began = time.Time{} // all that is not of the base is of the change
	var report batch.JobReport
	if res.Report != nil {
		report = *res.Report
	}
	body, err := at.writeBody(batch.PublishBody(spec.Request, report.Checks, report.Verdict, j.Run))
	if err != nil {
		return nil, at, errors.Join(err, brought.Close())
	}
	base := spec.Ref
	if base == "" {
		base = brought.Into
	}
	at.env = publishEnv(map[string]string{
		"BATCH":     p.batch.ID,
		"JOB":       j.ID,
		"RUN":       string(j.Run),
		"REPO":      spec.Repo,
		"BASE":      base,
		"BRANCH":    branch,
		"COMMIT":    brought.Commit,
		"TITLE":     oneline.Cut(host.FirstLine(spec.Request), host.MaxTitle),
		"BODY_FILE": body,
	}, spec.Vars)
	return brought, at, nil
}
