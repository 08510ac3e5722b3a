package batches

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

// NewBatch is a batch that is to be stored.
type NewBatch struct {
	// Jobs are what is to be done, as batch.List.Merge makes them.
	Jobs []batch.Job

	// Name says where they were read from.
	Name string

	// Limit is how many of them may be started for now; 0 for all.
	Limit int

	// Again stores the batch also where there is one of the same jobs.
	Again bool

	// Settings are what it is driven with.
	Settings Settings
}

// SameJobsError says that there is a batch of the same jobs already.
type SameJobsError struct {
	// Batch is that batch as it stands.
	Batch Batch
}

// Error implements error.
func (e *SameJobsError) Error() string {
	return fmt.Sprintf("batch %s has the same jobs and is %s", e.Batch.ID, e.Batch.State)
}

// Add stores a batch and returns its id. Nothing is begun yet. One of the same
// jobs is a [SameJobsError].
func (b *Batches) Add(ctx context.Context, n NewBatch) (id string, err error) {
	db, err := b.host.DB(ctx)
	if err != nil {
		return "", err
	}
	digest, err := batch.Digest(n.Jobs)
	if err != nil {
		return "", err
	}
	// Two processes that are started with the same list must not both find none.
	release, err := db.OwnBatch(ctx, "new-"+digest[:16])
	if err != nil {
		return "", fmt.Errorf("another process is just starting the same jobs: %w", err)
	}
	defer release() //nolint:errcheck // a lock that is released by the end of the process at the latest
	same, err := db.Batches(ctx, digest)
	if err != nil {
		return "", err
	}
	if len(same) > 0 && !n.Again {
		jobs, err := db.Jobs(ctx, same[0].ID)
		if err != nil {
			return "", err
		}
		return "", &SameJobsError{Batch: summarize(db, same[0], jobs)}
	}
	entries, err := batch.Entries(n.Jobs)
	if err != nil {
		return "", err
	}
	settings, err := json.Marshal(n.Settings)
	if err != nil {
		return "", fmt.Errorf("encode how the batch is driven: %w", err)
	}
	id = string(b.host.NewRunID())
	return id, db.AddBatch(ctx, memory.Batch{
		ID:        id,
		Digest:    digest,
		Name:      n.Name,
		Settings:  settings,
		MaxStarts: n.Limit,
	}, toStore(entries))
}

// toStore makes of the entries of a batch what the database keeps.
func toStore(entries []batch.Entry) []memory.Job {
	jobs := make([]memory.Job, len(entries))
	for i, e := range entries {
		jobs[i] = memory.Job{
			ID:       e.ID,
			Place:    e.Place,
			Turn:     e.Turn,
			Priority: e.Priority,
			Spec:     e.Spec,
		}
	}
	return jobs
}

// ChoosePlanJob is the job whose plan is shared: the one that is named, or the
// first of the list; "" where no plan is to be shared.
func ChoosePlanJob(jobs []batch.Job, shared bool, named string) (string, error) {
	switch {
	case !shared && named != "":
		return "", hint.Usage("--plan-job goes with --shared-plan")
	case !shared:
		return "", nil
	case len(jobs) < 2:
		return "", hint.Usage("--shared-plan needs a second job to share the plan with")
	case named == "":
		return jobs[0].ID, nil
	case slices.ContainsFunc(jobs, func(j batch.Job) bool { return j.ID == named }):
		return named, nil
	}
	return "", hint.Usage("--plan-job: there is no job %q in the list", named)
}
