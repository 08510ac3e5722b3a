package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
)

const (
	publishPause = 2 * time.Second  // between two commands, where nothing is said
	publishLimit = 10 * time.Minute // for one command
	publishShown = 4 << 10          // bytes of its output that are kept
	publishLock  = "publish-"       // begins the name of the lock that a publisher of a batch holds
)

// publishing is what `plan batch publish` was asked for.
type publishing struct {
	command             string
	interval            time.Duration
	dry, retry, persist bool
	only                []string
}

func (a *app) batchPublishCommand() *cobra.Command {
	var how publishing
	cmd := &cobra.Command{
		Use:   "publish [BATCH]",
		Short: "Hand the changes of the approved jobs to others, with a command of yours",
		Long: `Publish commits the change of each approved job on its branch, and runs your
command for it in the job's work tree, one job at a time, with a pause between
them. The command is --publish, or publish in your own config.toml; without
either nothing is published, and no repository's settings are read.

What is known of the job is in the command's environment, as data:
  PLAN_BATCH PLAN_JOB PLAN_RUN     ids
  PLAN_REPO PLAN_BASE              the repository as listed; the branch it was made from
  PLAN_BRANCH PLAN_COMMIT          the job's branch and what it stands at
  PLAN_TITLE PLAN_BODY_FILE        a line, and a file with what was asked and proved
  PLAN_VAR_NAME                    each of the job's vars, in upper case
Put them between double quotes. The rest of the environment is yours, tokens
included; only the model's key is not in it.

That a job is being published is on disk before its command starts. A job is
published once: one that failed, or whose command was cut off so that nobody
knows what came of it, is shown and left alone without --retry. After a failure
the others wait for the next time, unless --keep-going is given.`,
		Example: `  plan batch publish --dry-run
  plan batch publish 01JX --publish 'git push -q origin "$PLAN_BRANCH" &&
    gh pr create --head "$PLAN_BRANCH" --base "$PLAN_BASE" --title "$PLAN_TITLE" --body-file "$PLAN_BODY_FILE"'
  plan batch publish 01JX --retry --interval 30s`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.publishSettings(cmd, &how); err != nil {
				return err
			}
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				return a.batchPublish(ctx, db, strings.Join(args, ""), how)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&how.command, "publish", "", "`CMD` for the shell (default: publish in your config.toml)")
	fl.DurationVar(
		&how.interval,
		"interval",
		0,
		"at least `D` between the beginnings of two commands (default: publish_interval in your config.toml, else 2s)",
	)
	fl.BoolVar(&how.dry, "dry-run", false, "only say what would be run")
	fl.BoolVar(&how.retry, "retry", false, "also jobs that failed to be published, or of which nobody knows")
	fl.BoolVar(&how.persist, "keep-going", false, "go on with the other jobs after a failure")
	fl.StringSliceVar(&how.only, "only", nil, "only the jobs of these `ID`s (repeatable, or with commas)")
	return cmd
}

// publishSettings takes what the flags leave open from the user's own file. The
// settings of repositories have no say.
func (a *app) publishSettings(cmd *cobra.Command, how *publishing) error {
	cfg, err := a.settings("", config.Config{})
	if err != nil {
		return err
	}
	if strings.TrimSpace(how.command) == "" {
		how.command = cfg.Publish
	}
	switch {
	case strings.TrimSpace(how.command) == "":
		return usage("nothing says how to publish: give --publish CMD, or put publish = \"…\" into your config.toml")
	case how.interval < 0:
		return usage("--interval cannot be negative")
	case cmd.Flags().Changed("interval"):
	case cfg.PublishInterval.Duration > 0:
		how.interval = cfg.PublishInterval.Duration
	default:
		how.interval = publishPause
	}
	return nil
}

// jobPublished is what `plan batch publish` tells of a job.
type jobPublished struct {
	Job     string `json:"job"`
	Branch  string `json:"branch"`
	Skipped string `json:"skipped,omitempty"` // why nothing was done now
	Command string `json:"command,omitempty"` // with --dry-run
	*batch.Publication
}

// batchPublish publishes what is left to publish.
func (a *app) batchPublish(ctx context.Context, db *memory.DB, prefix string, how publishing) error {
	b, err := findBatch(ctx, db, prefix)
	if err != nil {
		return err
	}
	release, err := db.OwnBatch(ctx, publishLock+b.ID)
	if err != nil {
		return failed(fmt.Errorf("another process publishes this batch: %w", err))
	}
	defer release() //nolint:errcheck // a lock that is released by the end of the process at the latest
	jobs, err := db.Jobs(ctx, b.ID)
	if err != nil {
		return failed(err)
	}
	for _, id := range how.only {
		if !slices.ContainsFunc(jobs, func(j memory.Job) bool { return j.ID == id }) {
			return usage("batch %s has no job %q", b.ID, id)
		}
	}
	jobs = slices.DeleteFunc(jobs, func(j memory.Job) bool {
		return j.State != memory.JobDone || len(how.only) > 0 && !slices.Contains(how.only, j.ID)
	})
	ctx, stop := a.stoppable(ctx, 0)
	defer stop(nil)
	out, err := a.publishEach(ctx, db, jobs, how)
	if a.json {
		err = errors.Join(err, a.document(out))
	}
	return err
}

// publishEach goes through the jobs in their order. What is begun is finished
// also after Ctrl-C: nobody would know what had come of it.
func (a *app) publishEach(
	ctx context.Context,
	db *memory.DB,
	jobs []memory.Job,
	how publishing,
) ([]jobPublished, error) {
	out, began, trouble := []jobPublished{}, false, 0
	for _, j := range jobs {
		line, run, err := a.publishable(ctx, db, j, how)
		if err != nil {
			return out, failed(err)
		}
		if run != nil {
			if began && !a.pause(ctx, how.interval) {
				return out, &exit{
					code: plan.ExitInterrupted,
					err:  errors.New("interrupted; `plan batch publish` goes on with the jobs that are left"),
				}
			}
			began = true
			if line.Publication, err = a.publishJob(context.WithoutCancel(ctx), db, j, run, how); err != nil {
				return out, failed(fmt.Errorf("job %s: %w", j.ID, err))
			}
		}
		out = append(out, line)
		a.tellPublished(line)
		if line.Problem() != "" {
			trouble++
		}
		if run != nil && line.Problem() != "" && !how.persist {
			break
		}
	}
	if trouble > 0 {
		return out, failed(
			&advice{
				render.Count(trouble, "job") + " could not be published",
				"--retry tries them again; --keep-going does not stop at the first.",
			},
		)
	}
	return out, nil
}

// pause waits, and reports whether the time has come before ctx ended.
func (a *app) pause(ctx context.Context, d time.Duration) bool {
	at := a.now().Add(d)
	return ctx.Err() == nil && a.sleepUntil(ctx, &at)
}

// publishable says whether there is something to publish: then, unless it is
// only to be told, it returns the run.
func (a *app) publishable(
	ctx context.Context,
	db *memory.DB,
	j memory.Job,
	how publishing,
) (jobPublished, *engine.Run, error) {
	line := jobPublished{Job: j.ID, Branch: jobBranch(j.Batch, j.ID)}
	p, err := publicationOf(j, false)
	if err != nil {
		return line, nil, err
	}
	line.Publication = p
	if p != nil && (p.State == batch.Published || !how.retry) {
		line.Skipped = "not again"
		return line, nil, nil
	}
	run := changeOf(ctx, db, j)
	if run == nil || run.State != plan.Approved {
		line.Publication, line.Skipped = nil, "it has no approved change"
		return line, nil, nil
	}
	repo, from, to, err := endsOf(ctx, run)
	if err == nil { // else publishing it fails, and is recorded so
		if stat, err := repo.Stat(ctx, from, to); err == nil && stat.Files == 0 {
			line.Publication, line.Skipped = nil, "it changes nothing"
			return line, nil, nil
		}
	}
	if how.dry {
		line.Publication, line.Command = nil, how.command
		return line, nil, nil
	}
	return line, run, nil
}

// tellPublished says it to people.
func (a *app) tellPublished(l jobPublished) {
	if a.json {
		return
	}
	text := l.Summary()
	switch {
	case l.Command != "":
		text = "would be published from " + l.Branch + " with: " + l.Command
	case l.Publication == nil:
		text = "skipped: " + l.Skipped
	case l.Skipped != "" && l.Problem() == "":
		text += ", " + l.Skipped
	}
	fmt.Fprintf(a.out, "%s: %s\n", render.SafeLine(l.Job), render.SafeLine(text))
}
