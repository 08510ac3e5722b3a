// Package batches drives many jobs: it stores a list of jobs, drives them with
// bounded concurrency, shares the plan of one with the others, parks and retries
// them, and exports, publishes and reports what came of them. Each job is a run of
// a [host.Host] in a work tree of its own. It imports no face, reads no arguments,
// writes to no terminal and hears no signals: who calls it does.
//
// [Batches.Add] stores a batch; [Batches.Resume], [Batches.Continue] and
// [Batches.Retry] put jobs of one back into its queue. After either
// [Batches.Drive] works through the queue, and the other methods look at what came
// of it. The queue is on disk: a batch whose process was killed goes on where each
// job stood.
package batches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

// Batches are the batches of one home. A batch is named by its id, by a prefix of
// it that fits no other, or by "" for the newest.
type Batches struct {
	host *host.Host
}

// New opens the batches of a home.
func New(h *host.Host) *Batches { return &Batches{host: h} }

// Settings is what a batch is driven with, beside its jobs. It is kept with the
// batch.
type Settings struct {
	// Concurrency is how many jobs run at the same time. Default: twice the cores,
	// from 4 to 32.
	Concurrency int `json:"concurrency,omitempty"`

	// FailFast starts no further job once one has ended without approval.
	FailFast bool `json:"fail_fast,omitempty"`

	// MaxCost in USD and MaxTokens bound what all jobs use together; 0 for no bound.
	MaxCost   float64 `json:"max_cost,omitempty"`
	MaxTokens int64   `json:"max_tokens,omitempty"`

	// Timeout bounds the work of one process; 0 for no bound.
	Timeout config.Duration `json:"timeout,omitzero"`

	// PlanJob is the job whose plan the others share; "" for none.
	PlanJob string `json:"plan_job,omitempty"`
}

// workers is how many jobs run at the same time.
func (s Settings) workers() int {
	if s.Concurrency > 0 {
		return s.Concurrency
	}
	return min(max(2*runtime.NumCPU(), 4), 32)
}

// settingsOf reads what a batch was driven with before.
func settingsOf(b memory.Batch) (s Settings, err error) {
	if b.Damage != nil {
		return s, b.Damage
	}
	if err := json.Unmarshal(b.Settings, &s); err != nil {
		return s, fmt.Errorf("read how batch %s was driven: %w", b.ID, err)
	}
	return s, nil
}

// find finds a batch by a prefix of its id.
func (b *Batches) find(ctx context.Context, prefix string) (*memory.DB, memory.Batch, error) {
	db, err := b.host.DB(ctx)
	if err != nil {
		return nil, memory.Batch{}, err
	}
	stored, err := db.Batch(ctx, prefix)
	if errors.Is(err, memory.ErrNoBatch) {
		err = hint.Wrap(err,
			"`plan batch list` shows all batches; any beginning of an id that fits only one will do.")
	}
	return db, stored, err
}

// findJobs finds a batch, and its jobs in the order of their list.
func (b *Batches) findJobs(ctx context.Context, prefix string) (*memory.DB, memory.Batch, []memory.Job, error) {
	db, stored, err := b.find(ctx, prefix)
	if err != nil {
		return nil, stored, nil, err
	}
	jobs, err := db.Jobs(ctx, stored.ID)
	return db, stored, jobs, err
}

// requireKnown refuses the name of a job that a batch does not have.
func requireKnown(batch string, jobs []memory.Job, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(jobs, func(j memory.Job) bool { return j.ID == name }) {
			return hint.Usage("batch %s has no job %q", batch, name)
		}
	}
	return nil
}

// branchOf is the branch that a job works on.
func branchOf(batch, job string) string { return "plan/" + strings.ToLower(batch) + "/" + job }

// Interface checks: what package batch asks for is what this one has.
var (
	_ batch.Queue  = queue{}
	_ batch.Runner = (*runner)(nil)
)
