package batches

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/memory"
)

// kindPublished is a letter to a final run that says how far it was published. The
// latest one counts.
const kindPublished = "published"

// PublishRun commits the change of a run, with that of the runs it continues, on a
// branch, and runs the user's command for it, as [Batches.Publish] does for a job: once,
// and recorded before it begins. Job is the id of the run in what it returns.
func (b *Batches) PublishRun(ctx context.Context, run *engine.Run, p Publish, anyway bool) (out Published, err error) {
	out.Job = string(run.ID)
	if _, err := b.completePublish(&p); err != nil {
		return out, err
	}
	if err := host.RequireApproved(run, anyway); err != nil {
		return out, err
	}
	if !run.State.Final() {
		return out, hint.New(
			fmt.Sprintf("run %s is not at its end", run.ID),
			fmt.Sprintf("Go on with it first: plan resume %s", run.ID),
		)
	}
	thread, err := b.host.ThreadOf(ctx, run)
	if err != nil {
		return out, err
	}
	for _, r := range thread { // before anything is committed
		if _, err := b.host.WorkFolder(ctx, r); err != nil {
			return out, err
		}
	}
	db, err := b.host.DB(ctx)
	if err != nil {
		return out, err
	}
	release, err := db.OwnBatch(ctx, publishLock+string(run.ID))
	if err != nil {
		return out, fmt.Errorf("another process publishes this run: %w", err)
	}
	defer release() //nolint:errcheck // a lock that is released by the end of the process at the latest
	if out.Publication, err = publishedBefore(ctx, db, run.ID); err != nil {
		return out, err
	}
	if earlier := out.Publication; earlier != nil && (earlier.State == batch.Published || !p.Retry) {
		out.Skipped = "not again"
		return out, nil
	}
	if out.Branch, err = b.host.ThreadBranch(ctx, run); err != nil {
		return out, err
	}
	if p.DryRun {
		out.Command, out.Publication = p.Command, nil
		return out, nil
	}
	out.Publication, err = b.publishRun(context.WithoutCancel(ctx), db, run, p, anyway)
	return out, err
}

// publishedBefore is how far a run was published, nil where nothing of it was.
func publishedBefore(ctx context.Context, db *memory.DB, id plan.RunID) (was *batch.Publication, err error) {
	letters, err := db.After(ctx, kindPublished, false)
	for _, l := range letters {
		p := &batch.Publication{}
		if l.Run == id && json.Unmarshal(l.Data, p) == nil {
			was = p
		}
	}
	was.MarkInterrupted()
	return was, err
}

func (b *Batches) publishRun(
	ctx context.Context,
	db *memory.DB,
	run *engine.Run,
	how Publish,
	anyway bool,
) (*batch.Publication, error) {
	p := &batch.Publication{State: batch.Publishing, Began: b.host.Now().UTC(), ExitCode: -1}
	record := func() error {
		data, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("encode what was published: %w", err)
		}
		letter, err := db.PostAfter(ctx, run.ID, kindPublished, data)
		if err != nil {
			return err
		}
		return db.SettleAfter(ctx, letter)
	}
	branch, moved, err := b.host.CommitThread(ctx, run, anyway)
	b.noteSubmodules(moved)
	if err != nil {
		return refusal(p, record)(err)
	}
	place, err := b.runPlace(ctx, db, run, branch)
	if err != nil {
		return refusal(p, record)(err)
	}
	defer place.temp.Close() //nolint:errcheck // a copy of what the journal has
	return b.runPublish(ctx, p, place, how, record)
}

// runPlace is where the command for a run is run, and what it is told.
func (b *Batches) runPlace(ctx context.Context, db *memory.DB, run *engine.Run, branch string) (publishPlace, error) {
	var p publishPlace
	var err error
	if p.dir, err = b.host.WorkFolder(ctx, run); err != nil {
		return p, err
	}
	report, err := b.reportJob(ctx, db, Job{Run: run.ID, Repo: run.Start.Repo, Branch: branch})
	if err != nil {
		return p, err
	}
	repo, err := b.host.OpenRepo(ctx, run.Start.Repo)
	if err != nil {
		return p, err
	}
	if p.commit, err = repo.Commit(ctx, branch, false); err != nil {
		return p, err
	}
	change, thread, err := b.host.ThreadChangeOf(ctx, run)
	if err != nil {
		return p, err
	}
	p.origin, p.began = change.From, beganAt(thread[0].ID)
	body, err := p.writeBody(batch.PublishBody(thread.Request(), report.Checks, report.Verdict, run.ID))
	if err != nil {
		return p, err
	}
	p.env = publishEnv(map[string]string{
		"RUN":       string(run.ID),
		"REPO":      run.Start.Repo,
		"BASE":      thread[0].Start.Branch,
		"BRANCH":    branch,
		"COMMIT":    p.commit,
		"TITLE":     oneline.Cut(host.FirstLine(thread.Request()), host.MaxTitle),
		"BODY_FILE": body,
	}, nil)
	return p, nil
}
