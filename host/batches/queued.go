package batches

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

// Queued are the batches of a queue that workers on other machines take jobs from.
// Batches are named as in [Batches].
type Queued struct {
	batches *Batches
	store   *nats.Store
	view    *nats.View[*queuedJob] // nil for who looks once
}

// Queued are the batches in a queue.
func (b *Batches) Queued(store *nats.Store) *Queued { return &Queued{batches: b, store: store} }

// Watched are the same batches for who looks at them again and again: of what List, Open and
// Show tell, only what has changed is read, until end is called.
func (q *Queued) Watched() (watched *Queued, end func()) {
	watched = &Queued{batches: q.batches, store: q.store}
	watched.view = nats.NewView(q.store, func(ctx context.Context, of string, stored nats.Job) (*queuedJob, error) {
		j, err := q.read(ctx, of, stored)
		j.report = batch.JobReport{CostUSD: j.report.CostUSD, Tokens: j.report.Tokens} // the rest may be large
		return j, err
	})
	return watched, watched.view.Close
}

// Add puts a batch into the queue and returns its id.
func (q *Queued) Add(ctx context.Context, n NewBatch) (string, error) {
	for _, j := range n.Jobs {
		if !batch.IsURL(j.Repo) {
			return "", hint.New(
				fmt.Sprintf("job %s: %s is a folder of this machine, which workers do not have", j.ID, j.Repo),
				"With --queue a repository is a URL, such as https://example.org/shop.git.",
			)
		}
		if setting, err := workersOwn(j.Settings); err != nil {
			return "", err
		} else if setting != "" {
			return "", hint.New(
				fmt.Sprintf("job %s: it says %s, which is for the workers of a queue to say", j.ID, setting),
				"Take it out of the list or the command, and have it in the settings of the workers or among the "+
					"flags of plan worker.",
			)
		}
	}
	s := n.Settings
	if s.PlanJob != "" || s.FailFast || s.Timeout.Duration > 0 || n.Limit > 0 {
		return "", hint.Usage("--shared-plan, --limit, --timeout and --fail-fast do not go with --queue yet; " +
			"settings of a job can bound it")
	}
	settings, err := json.Marshal(Settings{MaxCost: s.MaxCost, MaxTokens: s.MaxTokens})
	if err == nil && (s.MaxCost > 0 || s.MaxTokens > 0) {
		err = q.store.EnableCounters(ctx)
	}
	if err != nil {
		return "", err
	}
	digest, err := batch.Digest(n.Jobs)
	if err != nil {
		return "", err
	}
	entries, err := batch.Entries(n.Jobs)
	if err != nil {
		return "", err
	}
	id, err := q.store.Add(ctx, nats.Batch{
		ID:       string(q.batches.host.NewRunID()),
		Digest:   digest,
		Name:     n.Name,
		Settings: settings,
	}, entries, n.Again)
	if same := new(nats.SameJobsError); errors.As(err, &same) {
		return "", hint.Wrap(err, "See it with plan batch status --queue, or start another one with --new.")
	}
	return id, err
}

// List lists the batches of the queue, newest first.
func (q *Queued) List(ctx context.Context) ([]Batch, error) {
	batches, jobs, err := q.readAll(ctx)
	out := make([]Batch, 0, len(batches))
	for _, b := range batches {
		if err != nil {
			return nil, err
		}
		var s Standing
		s, err = q.standing(ctx, b, jobs[b.ID])
		out = append(out, s.Batch)
	}
	return out, err
}

// readAll reads all batches, and their jobs by batch.
func (q *Queued) readAll(ctx context.Context) (all []nats.Batch, jobs map[string][]*queuedJob, err error) {
	if q.view != nil {
		if all, err = q.view.Batches(ctx); err == nil {
			jobs, err = q.view.Jobs(ctx)
		}
		return all, jobs, err
	}
	all, err = q.store.Batches(ctx)
	jobs = map[string][]*queuedJob{}
	for _, b := range all {
		if err == nil {
			jobs[b.ID], err = q.readJobs(ctx, b.ID)
		}
	}
	return all, jobs, err
}

// queueAnswer bounds how long a list that is looked at waits for the queue.
const queueAnswer = 5 * time.Second

// Open lists batches that have jobs left to do, newest first and at most so many, as a
// home lists its own.
func (q *Queued) Open(ctx context.Context, most int) ([]memory.Batch, error) {
	ctx, cancel := context.WithTimeout(ctx, queueAnswer)
	defer cancel()
	list, err := q.List(ctx)
	var out []memory.Batch
	for _, b := range list {
		if b.State == Done || len(out) >= most {
			continue
		}
		counts := map[memory.JobState]int{}
		for state, n := range b.Counts {
			counts[memory.JobState(state)] = n
		}
		out = append(out, memory.Batch{
			ID:      b.ID,
			Name:    b.Name,
			Jobs:    counts,
			Created: b.Created,
			Updated: b.Updated,
			CostUSD: b.CostUSD,
			Tokens:  b.Tokens,
		})
	}
	return out, err
}

// Show says how a batch and its jobs stand.
func (q *Queued) Show(ctx context.Context, prefix string) (Standing, error) {
	if q.view == nil {
		s, _, err := q.status(ctx, prefix)
		return s, err
	}
	batches, jobs, err := q.readAll(ctx)
	if err != nil {
		return Standing{}, err
	}
	b, err := nats.Find(batches, prefix)
	if err != nil {
		return Standing{}, err
	}
	return q.standing(ctx, b, jobs[b.ID])
}

// Report is what came of a batch, as its workers told.
func (q *Queued) Report(ctx context.Context, prefix string) (batch.Report, error) {
	s, jobs, err := q.status(ctx, prefix)
	out := batch.Report{
		ID:      s.ID,
		State:   string(s.State),
		Name:    s.Name,
		Created: s.Created,
		Counts:  s.Counts,
		CostUSD: s.CostUSD,
		Tokens:  s.Tokens,
	}
	for i, j := range jobs {
		j.report.Published = s.Jobs[i].Published
		out.Jobs = append(out.Jobs, j.report)
	}
	return out, err
}

// status reads a batch with its jobs.
func (q *Queued) status(ctx context.Context, prefix string) (s Standing, jobs []*queuedJob, err error) {
	b, err := q.store.Batch(ctx, prefix)
	if err == nil {
		jobs, err = q.readJobs(ctx, b.ID)
	}
	if err != nil {
		return Standing{}, nil, err
	}
	s, err = q.standing(ctx, b, jobs)
	if err != nil {
		return Standing{}, nil, err
	}
	return s, jobs, nil
}

// standing describes a batch from its jobs.
func (q *Queued) standing(ctx context.Context, b nats.Batch, jobs []*queuedJob) (Standing, error) {
	s := Standing{Batch: Batch{
		ID:       b.ID,
		Total:    len(jobs),
		Counts:   map[batch.JobState]int{},
		Name:     b.Name,
		Created:  b.Created,
		Updated:  b.Created,
		ExitCode: plan.ExitOK,
	}}
	s.Jobs = make([]Job, 0, len(jobs))
	for _, queued := range jobs {
		j := queued.Job // a view keeps what was told
		published, err := q.publicationOf(ctx, queued.stored)
		if err != nil {
			return s, err
		}
		j.Published = published
		s.Counts[j.State]++
		s.CostUSD += queued.report.CostUSD
		s.Tokens += queued.report.Tokens
		if j.Ended != nil && j.Ended.After(s.Updated) {
			s.Updated = *j.Ended
		}
		if j.State != batch.JobDone {
			s.ExitCode = plan.ExitNotApproved
		}
		s.Jobs = append(s.Jobs, j)
	}
	s.State = openOrDone(s.Counts)
	if s.Counts[batch.JobRunning] > 0 {
		s.State = Running
	}
	return s, nil
}

// queuedJob is a job, what its worker reported, and of its record what says how it is
// being published.
type queuedJob struct {
	Job
	report batch.JobReport
	stored nats.Job
}

// readJobs reads the jobs of a batch, and what came of them.
func (q *Queued) readJobs(ctx context.Context, id string) (out []*queuedJob, err error) {
	jobs, err := q.store.Jobs(ctx, id)
	for _, stored := range jobs {
		if err != nil {
			break
		}
		var j *queuedJob
		j, err = q.read(ctx, id, stored)
		out = append(out, j)
	}
	return out, err
}

func (q *Queued) read(ctx context.Context, of string, stored nats.Job) (j *queuedJob, err error) {
	j = &queuedJob{}
	if stored.Result, err = q.store.Result(ctx, stored); err != nil {
		return j, err
	}
	j.Job, j.report, err = readQueued(of, stored)
	j.stored = nats.Job{
		Entry:     batch.Entry{ID: stored.ID},
		Published: stored.Published,
		Publisher: stored.Publisher,
	}
	return j, err
}

// readQueued reads a job, and what its worker reported. Where none has, the story of
// the job says why.
func readQueued(of string, stored nats.Job) (Job, batch.JobReport, error) {
	var spec batch.Job
	var res queuedResult
	err := json.Unmarshal(stored.Spec, &spec)
	if err == nil && stored.Result != nil {
		err = json.Unmarshal(stored.Result, &res)
	}
	if err != nil {
		return Job{}, batch.JobReport{}, fmt.Errorf("read job %s: %w", stored.ID, err)
	}
	j := Job{
		ID:      stored.ID,
		State:   stored.State,
		Run:     stored.Run,
		Worker:  stored.Worker,
		Repo:    spec.Repo,
		Ref:     spec.Ref,
		Branch:  branchOf(of, stored.ID),
		Request: spec.Request,
		Result:  res.Result,
	}
	if n := len(stored.Story); n > 0 && j.State != batch.JobDone {
		last := stored.Story[n-1]
		j.Why = cmp.Or(j.Why, last.Worker+" "+last.What)
	}
	if j.State == batch.JobQueued && len(stored.Needs) > 0 && j.Why == "" {
		j.Why = "waits for a worker that has a key for " + strings.Join(stored.Needs, " and ")
	}
	if !stored.Started.IsZero() {
		j.Started = &stored.Started
	}
	if !stored.Ended.IsZero() {
		j.Ended = &stored.Ended
	}
	if res.Report != nil && j.State == res.Report.State {
		return j, *res.Report, nil
	}
	return j, batch.JobReport{
		ID:      j.ID,
		State:   j.State,
		Outcome: j.Outcome,
		Parked:  j.Parked,
		Why:     j.Why,
		Repo:    j.Repo,
		Ref:     j.Ref,
		Branch:  j.Branch,
		Request: j.Request,
	}, nil
}

// requireQueued refuses the name of a job that a batch does not have.
func requireQueued(of string, jobs []nats.Job, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(jobs, func(j nats.Job) bool { return j.ID == name }) {
			return hint.Usage("batch %s has no job %q", of, name)
		}
	}
	return nil
}

// find finds a batch and its jobs.
func (q *Queued) find(ctx context.Context, prefix string) (b nats.Batch, jobs []nats.Job, err error) {
	b, err = q.store.Batch(ctx, prefix)
	if err == nil {
		jobs, err = q.store.Jobs(ctx, b.ID)
	}
	return b, jobs, err
}
