package main

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/cmd/plan/machines"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
)

func (a *app) batchExportCommand() *cobra.Command {
	var patches string
	var branches, every bool
	cmd := &cobra.Command{
		Use:   "export [BATCH]",
		Short: "Write the changes of a batch as patches, or commit them on the jobs' branches",
		Long: `Export writes the change of each approved job as a patch file, or commits it on
the job's branch, plan/BATCH/JOB, where it can be pushed from. Doing so twice
does no harm.`,
		Example: `  plan batch export 01JX --patches out/
  plan batch export 01JX --branches`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (patches == "") == !branches {
				return usage("say how: --patches DIR or --branches")
			}
			prefix := strings.Join(args, "")
			if branches {
				return a.showExported(a.batches().ExportBranches(cmd.Context(), prefix, every))
			}
			return a.showExported(a.batches().ExportPatches(cmd.Context(), prefix, patches, every))
		},
	}
	cmd.Flags().StringVar(&patches, "patches", "", "write JOB.patch files into `DIR`")
	cmd.Flags().BoolVar(&branches, "branches", false, "commit each change on the job's branch")
	cmd.Flags().BoolVar(&every, "anyway", false, "also the changes of jobs that were not approved")
	return cmd
}

func (a *app) batchApplyCommand() *cobra.Command {
	var how host.Apply
	cmd := &cobra.Command{
		Use:   "apply [BATCH]",
		Short: "Bring the changes of the approved jobs to the repositories they are for",
		Long: `Apply does for each approved job what "plan apply" does for a run: a three-way
merge into the work tree of the repository, all or nothing for each job. Jobs
whose repository was cloned from a URL have no work tree to bring it to: export
them.`,
		Example: `  plan batch apply 01JX --check
  plan batch apply 01JX --commit`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.showExported(a.batches().Apply(cmd.Context(), strings.Join(args, ""), how))
		},
	}
	cmd.Flags().BoolVar(&how.Check, "check", false, "only say what would be done")
	cmd.Flags().BoolVar(&how.Commit, "commit", false, "commit each change on the branch that is checked out")
	cmd.Flags().BoolVar(&how.Anyway, "anyway", false, "also the changes of jobs that were not approved")
	return cmd
}

// showExported tells what was done with the changes of jobs, and then what went
// wrong.
func (a *app) showExported(jobs []batches.Exported, err error) error {
	if jobs == nil {
		return err
	}
	wrong := err
	if a.json {
		err = a.document(jobs)
	} else {
		err = render.JobsExported(a.out, jobs)
	}
	if err != nil {
		return err
	}
	return wrong
}

func (a *app) batchPublishCommand() *cobra.Command {
	var how batches.Publish
	var interval time.Duration
	publish := func(cmd *cobra.Command, prefix string, do machines.Publisher) error {
		if cmd.Flags().Changed("interval") {
			how.Interval = &interval
		}
		return a.publish(cmd, prefix, how, do)
	}
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
included; only the model's key is not in it. The command finds the files of the
work tree as they were before the work, and those of the work in PLAN_TREE. Git's
hooks run unless they lie in the work tree; --run-hooks runs those too, as they
were before the work.

That a job is being published is on disk before its command starts. A job is
published once: one that failed, or whose command was cut off so that nobody
knows what came of it, is shown and left alone without --retry. After a failure
the others wait for the next time, unless --keep-going is given.

With --queue the changes come from the queue, and the repositories are cloned into
this home with your own credentials. A job is published once from all machines.`,
		Example: `  plan batch publish --dry-run
  plan batch publish 01JX --publish 'git push -q origin "$PLAN_BRANCH" &&
    gh pr create --head "$PLAN_BRANCH" --base "$PLAN_BASE" --title "$PLAN_TITLE" --body-file "$PLAN_BODY_FILE"'
  plan batch publish 01JX --retry --interval 30s`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return publish(cmd, strings.Join(args, ""), a.batches().Publish)
		},
	}
	publishFlags(cmd, &how)
	fl := cmd.Flags()
	fl.DurationVar(&interval, "interval", 0, "at least `D` between the beginnings of two commands "+
		"(default: publish_interval in your config.toml, else 2s)")
	fl.BoolVar(&how.KeepGoing, "keep-going", false, "go on with the other jobs after a failure")
	fl.StringSliceVar(&how.Only, "only", nil, "only the jobs of these `ID`s (repeatable, or with commas)")
	return a.machines().Publish(cmd, func(prefix string, do machines.Publisher) error {
		return publish(cmd, prefix, do)
	})
}

// publish publishes what is left of a batch to publish, and shows each job.
func (a *app) publish(cmd *cobra.Command, prefix string, how batches.Publish, do machines.Publisher) error {
	ctx, release := a.interruptible(cmd.Context())
	defer release()
	if a.interactive() {
		how.Ask = func(hooks string) bool { return a.terminal().AskHooks(ctx, hooks) }
	}
	if !a.json {
		how.Each = func(p batches.Published) {
			_ = render.JobPublished(a.out, p) // what is published is on disk
		}
	}
	published, err := do(ctx, prefix, how)
	if errors.Is(err, batches.ErrPublishInterrupted) {
		err = &exit{code: plan.ExitInterrupted, err: err}
	}
	if a.json && published != nil {
		err = errors.Join(err, a.document(published))
	}
	return err
}
