package batches

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
)

// ExportPatches writes the change of each approved job as a patch file into a
// directory, with every of each job that has one, as [Batches.ExportPatches] does.
func (q *Queued) ExportPatches(ctx context.Context, prefix, dir string, every bool) ([]Exported, error) {
	_, jobs, err := q.find(ctx, prefix)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err //nolint:wrapcheck // names the directory
	}
	out := []Exported{}
	failed := 0
	for _, j := range jobs {
		if j.State != batch.JobDone && (!every || j.Patch == "") {
			continue
		}
		e := Exported{Job: j.ID}
		if e.Result, err = q.writePatch(ctx, dir, j); err != nil {
			e.Error = err.Error()
			failed++
		}
		out = append(out, e)
	}
	if failed > 0 {
		return out, fmt.Errorf("%s of %d could not be done", countJobs(failed), len(out))
	}
	return out, nil
}

// writePatch writes the change of a job, whose name is whatever the queue has.
func (q *Queued) writePatch(ctx context.Context, dir string, j nats.Job) (path string, err error) {
	if filepath.Base(j.ID) != j.ID || !filepath.IsLocal(j.ID) {
		return "", fmt.Errorf("%q is no name of a file", j.ID)
	}
	patch, err := q.patch(ctx, j)
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, j.ID+".patch")
	return path, q.batches.host.WriteFile(ctx, path, patch, 0o644)
}

// Patch is the change of a job that has ended, as a patch.
func (q *Queued) Patch(ctx context.Context, prefix, job string) ([]byte, error) {
	b, jobs, err := q.find(ctx, prefix)
	if err == nil {
		err = requireQueued(b.ID, jobs, []string{job})
	}
	if err != nil {
		return nil, err
	}
	j := jobs[slices.IndexFunc(jobs, func(j nats.Job) bool { return j.ID == job })]
	if j.Patch == "" {
		return nil, fmt.Errorf("job %s has no change yet: it is %s", j.ID, j.State)
	}
	return q.patch(ctx, j)
}

func (q *Queued) patch(ctx context.Context, j nats.Job) ([]byte, error) {
	patch, kept, err := q.store.Patch(ctx, j)
	if err == nil && !kept {
		err = notKept(j)
	}
	return patch, err
}

func notKept(j nats.Job) error {
	return fmt.Errorf("its change is not in the queue, because it is over %d MiB or could not be read; it is with %s, "+
		"where `plan diff %s` shows it", maxPatch>>20, j.Worker, j.Run)
}
