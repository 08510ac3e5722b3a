package service

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/internal/hint"
)

// NewBatch is a batch that is asked for: one request over many repositories, or a list of
// jobs as `plan batch run` reads it.
type NewBatch struct {
	Request string   `json:"request"`
	Repos   []string `json:"repos"`
	Checks  []string `json:"checks"`
	Jobs    string   `json:"jobs"` // YAML, or one JSON object a line
	// Again begins another one where there is one of the same jobs.
	Again bool `json:"new"`
}

// Again says which jobs of a batch are run again.
type Again struct {
	Only []string `json:"only"` // by their ids; all that failed where none is named
}

// Batches lists the batches, newest first.
func (w *Service) Batches(ctx context.Context) ([]batches.Batch, error) {
	return w.everywhere().List(ctx)
}

// Batch says how a batch and its jobs stand.
func (w *Service) Batch(ctx context.Context, prefix string) (batches.Standing, error) {
	return w.everywhere().Show(ctx, prefix)
}

// BeginBatch stores a batch and drives it. Its jobs may name allowed repositories alone.
func (w *Service) BeginBatch(ctx context.Context, n NewBatch) (string, error) {
	file := batches.JobFile{
		Path:  "-",
		Input: strings.NewReader(n.Jobs),
		Dir:   "/",
	}
	switch {
	case (n.Jobs == "") == (len(n.Repos) == 0):
		return "", hint.Usage("write repos and a request, or jobs as `plan batch run` reads them")
	case n.Jobs == "":
		file.Input = strings.NewReader(strings.Join(n.Repos, "\n"))
		file.Repos = true
		file.Request = n.Request
	}
	list, _, err := batches.ReadJobs(file)
	if err != nil {
		return "", hint.Usage("%v", err)
	}
	settings := w.Options.Settings
	settings.Checks.Required = slices.Concat(settings.Checks.Required, n.Checks)
	jobs := list.Merge(settings)
	for _, j := range jobs {
		if err := w.requireAllowed(j.Repo); err != nil {
			return "", err
		}
	}
	id, err := w.batches().Add(ctx, batches.NewBatch{
		Jobs:  jobs,
		Name:  "plan serve",
		Again: n.Again,
	})
	if err != nil {
		return "", err
	}
	return id, w.driveBatch(id)
}

// ResumeBatch goes on with the jobs of a batch that have not ended.
func (w *Service) ResumeBatch(ctx context.Context, prefix string) (string, error) {
	queued, err := w.everywhere().InQueue(ctx, prefix)
	if err != nil {
		return "", err
	}
	if queued { // workers drive it
		id, _, err := w.Queue.Resume(ctx, prefix, batches.Settings{})
		return id, err
	}
	id, err := w.batches().Resume(ctx, prefix, nil)
	if err != nil {
		return "", err
	}
	return id, w.driveBatch(id)
}

// RetryBatch runs jobs again that were not approved.
func (w *Service) RetryBatch(ctx context.Context, prefix string, a Again) (string, error) {
	queued, err := w.everywhere().InQueue(ctx, prefix)
	if err != nil {
		return "", err
	}
	if queued {
		id, _, err := w.Queue.Retry(ctx, prefix, a.Only, batches.Settings{})
		return id, err
	}
	id, err := w.batches().Retry(ctx, prefix, a.Only, nil)
	if err != nil {
		return "", err
	}
	return id, w.driveBatch(id)
}

// CancelBatch ends jobs of a batch that have not ended, and says how many.
func (w *Service) CancelBatch(ctx context.Context, prefix string, a Again) (id string, jobs int, err error) {
	queued, err := w.everywhere().InQueue(ctx, prefix)
	if err != nil {
		return "", 0, err
	}
	if queued {
		return w.Queue.Cancel(ctx, prefix, a.Only)
	}
	return w.batches().Cancel(ctx, prefix, a.Only)
}

// driveBatch has a batch driven. It counts as one run, and has as many jobs under way as
// its own settings say.
func (w *Service) driveBatch(id string) error {
	o := w.Options
	o.Settings.MaxCost = 0 // those are limits of a run, and its jobs have theirs
	o.Settings.MaxTokens = 0
	begun, err := w.Runs.Start(plan.RunID("batch "+id), func(ctx context.Context) error {
		_, err := w.batches().Drive(ctx, id, o, batches.View{
			Event: func(_ string, ev plan.Event) {
				if w.See != nil {
					w.See(ev)
				}
			},
		})
		return err
	})
	if err == nil && !begun {
		err = fmt.Errorf("batch %s is driven here already", id)
	}
	return err
}
