package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
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
			return a.eachResult(
				cmd,
				strings.Join(args, ""),
				every,
				func(ctx context.Context, db *memory.DB, j memory.Job, run *engine.Run) (string, error) {
					if branches {
						return a.commitJob(ctx, db, run)
					}
					return patchJob(ctx, patches, j.ID, run)
				},
			)
		},
	}
	cmd.Flags().StringVar(&patches, "patches", "", "write JOB.patch files into `DIR`")
	cmd.Flags().BoolVar(&branches, "branches", false, "commit each change on the job's branch")
	cmd.Flags().BoolVar(&every, "anyway", false, "also the changes of jobs that were not approved")
	return cmd
}

func (a *app) batchApplyCommand() *cobra.Command {
	var how applying
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
			return a.eachResult(
				cmd,
				strings.Join(args, ""),
				how.anyway,
				func(ctx context.Context, db *memory.DB, j memory.Job, run *engine.Run) (string, error) {
					s, err := showJob(j, false)
					if err != nil {
						return "", err
					}
					if batch.IsURL(s.Repo) {
						return "", errors.New("it was cloned: use `plan batch export --branches` or --patches")
					}
					quiet := *a
					quiet.out, quiet.dir, quiet.json = io.Discard, ".", false
					return "applied to " + run.Start.Repo, quiet.apply(ctx, db, run, how)
				},
			)
		},
	}
	cmd.Flags().BoolVar(&how.check, "check", false, "only say what would be done")
	cmd.Flags().BoolVar(&how.commit, "commit", false, "commit each change on the branch that is checked out")
	cmd.Flags().BoolVar(&how.anyway, "anyway", false, "also the changes of jobs that were not approved")
	return cmd
}

// jobDone is what was done with the change of a job.
type jobDone struct {
	Job    string `json:"job"`
	Result string `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

// jobDeed does something with the change of a job, and says what.
type jobDeed func(context.Context, *memory.DB, memory.Job, *engine.Run) (string, error)

// eachResult does something with the change of each approved job, or of every
// job that has one. What fails for one job is said, and the others go on.
func (a *app) eachResult(cmd *cobra.Command, prefix string, every bool, do jobDeed) error {
	return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
		b, err := findBatch(ctx, db, prefix)
		if err != nil {
			return err
		}
		jobs, err := db.Jobs(ctx, b.ID)
		if err != nil {
			return failed(err)
		}
		out, wrong := []jobDone{}, 0
		for _, j := range jobs {
			run := changeOf(ctx, db, j)
			if run == nil || j.State != memory.JobDone && !every {
				continue
			}
			d := jobDone{Job: j.ID}
			if d.Result, err = do(ctx, db, j, run); err != nil {
				d.Result, d.Error = "", err.Error()
				wrong++
			}
			out = append(out, d)
		}
		if err := a.tellDone(out); err != nil {
			return err
		}
		if wrong > 0 {
			return failed(fmt.Errorf("%s of %d could not be done", render.Count(wrong, "job"), len(out)))
		}
		return nil
	})
}

// changeOf is the run that did a job; nil if none began.
func changeOf(ctx context.Context, db *memory.DB, j memory.Job) *engine.Run {
	run, err := foldRun(ctx, db, j.Run, nil)
	if err != nil || run.Start == nil || len(run.Snapshots) == 0 {
		return nil
	}
	return run
}

func (a *app) tellDone(out []jobDone) error {
	if a.json {
		return a.document(out)
	}
	for _, d := range out {
		if _, err := fmt.Fprintf(a.out, "%s: %s\n", render.SafeLine(d.Job), render.SafeLine(d.Result+d.Error)); err != nil {
			return failed(err)
		}
	}
	return nil
}

// patchJob writes the change of a job as a patch.
func patchJob(ctx context.Context, dir, id string, run *engine.Run) (string, error) {
	repo, from, to, err := endsOf(ctx, run)
	if err != nil {
		return "", err
	}
	text, err := repo.Patch(ctx, from, to)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err //nolint:wrapcheck // names the directory
	}
	path := filepath.Join(dir, id+".patch")
	return path, os.WriteFile(path, []byte(text), 0o644) //nolint:wrapcheck // names the file
}

// commitJob commits the change of a job on its branch.
func (a *app) commitJob(ctx context.Context, db *memory.DB, run *engine.Run) (string, error) {
	repo, from, to, err := endsOf(ctx, run)
	if err != nil {
		return "", err
	}
	branch := run.Start.WorkBranch
	tree, err := worktree.OpenOwn(ctx, run.Start.Worktree)
	if err != nil { // only the snapshots are left
		_, err := repo.CommitTo(ctx, branch, run.Start.Base, from, to, messageOf(run), false)
		if err != nil && !errors.Is(err, worktree.ErrNothing) {
			return "", err
		}
		return branch, nil
	}
	hold, err := a.occupy(tree, run.ID)
	if err != nil {
		return "", err
	}
	quiet := *a
	quiet.out, quiet.json = io.Discard, false
	return branch, errors.Join(quiet.bring(ctx, tree, run, from, to, applying{
		commit: true,
		anyway: true,
	}), hold.Close())
}
