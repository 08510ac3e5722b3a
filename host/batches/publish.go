package batches

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

const (
	publishInterval = 2 * time.Second  // between two commands, where the settings name none
	publishTimeout  = 10 * time.Minute // for one command
	maxPublishShown = 4 << 10          // bytes of its output that are kept
	// publishedElsewhere is why a job is left alone that another process is at.
	publishedElsewhere = "by another process just now"
	publishLock        = "publish-" // begins the name of the lock that a publisher of a batch holds
)

// Publish says how the changes of a batch are handed to others.
type Publish struct {
	// Command is run by the shell for each job. Default: that of the user's own
	// settings; what repositories say counts for nothing.
	Command string

	// Interval is the pause between two commands. Default: that of the user's own
	// settings, else 2 seconds.
	Interval *time.Duration

	// DryRun only says what would be run.
	DryRun bool

	// Retry also takes jobs that failed to be published, or of which nothing is known.
	Retry bool

	// KeepGoing goes on with the other jobs after a failure.
	KeepGoing bool

	// RunHooks lets git's hooks run also where they lie in a job's work tree, which
	// a model has written. Others run anyway.
	RunHooks bool

	// Ask, if it is set, is asked whether the hooks of such a folder may run.
	Ask func(hooks string) bool

	// Only are the jobs to publish. Default: all that are approved.
	Only []string

	// Each, if it is set, is told of each job as soon as it is done with.
	Each func(Published)
}

// Published is what came of publishing the change of a job.
type Published struct {
	Job     string `json:"job"`
	Branch  string `json:"branch"`
	Skipped string `json:"skipped,omitempty"` // why nothing was done now
	Command string `json:"command,omitempty"` // that would be run
	*batch.Publication
}

// ErrPublishInterrupted says that publishing was stopped between two jobs.
var ErrPublishInterrupted = errors.New("interrupted; `plan batch publish` goes on with the jobs that are left")

// Publish commits the change of each approved job on its branch and runs a command
// of the user's for it in the job's work tree, one job at a time. That a job is
// being published is on disk before its command starts, and a job is published
// once: what is begun is finished also when ctx ends, since nothing would be known
// of it otherwise. The list is there also with an error, once jobs were looked at.
func (b *Batches) Publish(ctx context.Context, prefix string, p Publish) ([]Published, error) {
	interval, err := b.completePublish(&p)
	if err != nil {
		return nil, err
	}
	db, stored, err := b.find(ctx, prefix)
	if err != nil {
		return nil, err
	}
	release, err := db.OwnBatch(ctx, publishLock+stored.ID)
	if err != nil {
		return nil, fmt.Errorf("another process publishes this batch: %w", err)
	}
	defer release() //nolint:errcheck // a lock that is released by the end of the process at the latest
	jobs, err := db.Jobs(ctx, stored.ID)
	if err != nil {
		return nil, err
	}
	if err := requireKnown(stored.ID, jobs, p.Only); err != nil {
		return nil, err
	}
	jobs = slices.DeleteFunc(jobs, func(j memory.Job) bool {
		return j.State != memory.JobDone || len(p.Only) > 0 && !slices.Contains(p.Only, j.ID)
	})
	return publishEach(ctx, jobs, p, interval, func(j memory.Job) (toPublish, error) {
		line, run, err := b.publishable(ctx, j, p)
		look := toPublish{line: line}
		if run != nil {
			look.publish = func(ctx context.Context) (*batch.Publication, error) {
				return b.publishJob(ctx, db, j, run, p)
			}
		}
		return look, err
	})
}

// toPublish is a job as it is looked at before it is published.
type toPublish struct {
	line Published

	// publish hands it to others, and keeps that it does; nil where nothing is to be done.
	// It returns nil where another process was faster. An error means that what was done
	// could not be kept.
	publish func(context.Context) (*batch.Publication, error)
}

// now publishes a job.
func (s toPublish) now(ctx context.Context) (line Published, err error) {
	line = s.line
	if line.Publication, err = s.publish(ctx); err != nil {
		return line, fmt.Errorf("job %s: %w", line.Job, err)
	}
	if line.Publication == nil {
		line.Skipped = publishedElsewhere
	}
	return line, nil
}

// completePublish takes what was left open from the user's own settings.
func (b *Batches) completePublish(p *Publish) (interval time.Duration, err error) {
	cfg, err := b.host.Settings("", config.Config{})
	if err != nil {
		return 0, err
	}
	if strings.TrimSpace(p.Command) == "" {
		p.Command = cfg.Publish
	}
	switch {
	case strings.TrimSpace(p.Command) == "":
		return 0, hint.Usage(
			"nothing says how to publish: give --publish CMD, or put publish = \"…\" into your config.toml")
	case p.Interval != nil && *p.Interval < 0:
		return 0, hint.Usage("--interval cannot be negative")
	case p.Interval != nil:
		return *p.Interval, nil
	case cfg.PublishInterval.Duration > 0:
		return cfg.PublishInterval.Duration, nil
	}
	return publishInterval, nil
}

// publishEach goes through the jobs in their order.
func publishEach[J any](
	ctx context.Context,
	jobs []J,
	p Publish,
	interval time.Duration,
	look func(J) (toPublish, error),
) ([]Published, error) {
	out := []Published{}
	began := false
	trouble := 0
	for _, j := range jobs {
		state, err := look(j)
		if err != nil {
			return out, err
		}
		line, due := state.line, state.publish != nil
		if due {
			if began && !pause(ctx, interval) {
				return out, ErrPublishInterrupted
			}
			began = true
			if line, err = state.now(context.WithoutCancel(ctx)); err != nil {
				return out, err
			}
		}
		out = append(out, line)
		if p.Each != nil {
			p.Each(line)
		}
		if line.Problem() != "" {
			trouble++
		}
		if due && line.Problem() != "" && !p.KeepGoing {
			break
		}
	}
	if trouble > 0 {
		return out, hint.New(
			countJobs(trouble)+" could not be published",
			"--retry tries them again; --keep-going does not stop at the first.",
		)
	}
	return out, nil
}

// pause waits, and reports whether the time has come before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// publishable says whether there is something to publish: then, unless it is only
// to be told, it returns the run.
func (b *Batches) publishable(ctx context.Context, j memory.Job, p Publish) (Published, *engine.Run, error) {
	line := Published{
		Job:    j.ID,
		Branch: branchOf(j.Batch, j.ID),
	}
	before, err := publicationOf(j, false)
	if err != nil {
		return line, nil, err
	}
	if before != nil && (before.State == batch.Published || !p.Retry) {
		line.Publication = before
		line.Skipped = "not again"
		return line, nil, nil
	}
	run := b.runOf(ctx, j)
	if run == nil || run.State != plan.Approved {
		line.Skipped = "it has no approved change"
		return line, nil, nil
	}
	if change, err := b.host.ChangeOf(ctx, run); err == nil { // else publishing it fails, and is recorded so
		if stat, err := change.Stat(ctx); err == nil && stat.Files == 0 {
			line.Skipped = "it changes nothing"
			return line, nil, nil
		}
	}
	if p.DryRun {
		line.Command = p.Command
		return line, nil, nil
	}
	line.Publication = before
	return line, run, nil
}
