package batches

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/memory"
)

// Exported is what was done with the change of a job.
type Exported struct {
	Job    string `json:"job"`
	Result string `json:"result,omitempty"` // what was done
	Error  string `json:"error,omitempty"`  // why it was not
}

// ExportPatches writes the change of each approved job as a patch file into a
// directory, with every of each job that has one. What fails for one job is told
// of it and the others go on; then there is an error beside the list.
func (b *Batches) ExportPatches(ctx context.Context, prefix, dir string, every bool) ([]Exported, error) {
	return b.eachChange(ctx, prefix, every, func(j memory.Job, run *engine.Run) (string, error) {
		return b.writePatch(ctx, dir, j.ID, run)
	})
}

// ExportBranches commits the changes on the jobs' branches, as
// [Batches.ExportPatches] writes them. Doing so twice does no harm.
func (b *Batches) ExportBranches(ctx context.Context, prefix string, every bool) ([]Exported, error) {
	return b.eachChange(ctx, prefix, every, func(_ memory.Job, run *engine.Run) (string, error) {
		return b.commitOnBranch(ctx, run)
	})
}

// Apply brings the changes to the work trees of the repositories that they are
// for, as [host.Host.Apply] does for a run. A job whose repository was cloned has
// no such tree.
func (b *Batches) Apply(ctx context.Context, prefix string, a host.Apply) ([]Exported, error) {
	return b.eachChange(ctx, prefix, a.Anyway, func(j memory.Job, run *engine.Run) (string, error) {
		job, err := readJob(j, false)
		if err != nil {
			return "", err
		}
		if batch.IsURL(job.Repo) {
			return "", errors.New("it was cloned: use `plan batch export --branches` or --patches")
		}
		moved, err := b.host.Apply(ctx, run, a)
		b.noteSubmodules(moved)
		return moved.Words(), err
	})
}

// eachChange does something with the change of each approved job, or of every job
// that has one, and keeps what was done.
func (b *Batches) eachChange(
	ctx context.Context,
	prefix string,
	every bool,
	do func(memory.Job, *engine.Run) (string, error),
) ([]Exported, error) {
	_, _, jobs, err := b.findJobs(ctx, prefix)
	if err != nil {
		return nil, err
	}
	out := []Exported{}
	failed := 0
	for _, j := range jobs {
		run := b.runOf(ctx, j)
		if run == nil || j.State != memory.JobDone && !every {
			continue
		}
		e := Exported{Job: j.ID}
		if result, err := do(j, run); err != nil {
			e.Error = err.Error()
			failed++
		} else {
			e.Result = result
		}
		out = append(out, e)
	}
	if failed > 0 {
		return out, fmt.Errorf("%s of %d could not be done", countJobs(failed), len(out))
	}
	return out, nil
}

// runOf is the run that did a job; nil if none began.
func (b *Batches) runOf(ctx context.Context, j memory.Job) *engine.Run {
	run, err := b.host.Load(ctx, j.Run)
	if err != nil {
		return nil
	}
	return run
}

// commitOnBranch commits the change of a job on its branch, which it returns.
func (b *Batches) commitOnBranch(ctx context.Context, run *engine.Run) (string, error) {
	moved, err := b.host.CommitOnBranch(ctx, run)
	b.noteSubmodules(moved)
	return run.Start.WorkBranch, err
}

func (b *Batches) noteSubmodules(m host.ApplyResult) {
	for _, path := range m.Submodules {
		b.host.Note(fmt.Sprintf(
			"submodule %s should stand at another commit; move it with `git submodule update`", path))
	}
}

// writePatch writes the change of a job as a patch.
func (b *Batches) writePatch(ctx context.Context, dir, job string, run *engine.Run) (string, error) {
	change, err := b.host.ChangeOf(ctx, run)
	if err != nil {
		return "", err
	}
	text, err := change.Patch(ctx)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err //nolint:wrapcheck // names the directory
	}
	path := filepath.Join(dir, job+".patch")
	return path, b.host.WriteFile(ctx, path, []byte(text), 0o644)
}

func countJobs(n int) string {
	if n == 1 {
		return "1 job"
	}
	return fmt.Sprintf("%d jobs", n)
}
