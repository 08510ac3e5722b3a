package batches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/connect"
	"github.com/plan-engine/plan/internal/durable"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/memory"
)

// Work is how a worker takes jobs from a queue.
type Work struct {
	Concurrency int
	Drain       bool // end once no job is left to take

	// Repos are beginnings of the URLs that jobs may name. Default: https:// and ssh://.
	Repos []string
}

// queuedResult is what a worker tells of a job: its result, and what a report says.
type queuedResult struct {
	batch.Result
	Report *batch.JobReport `json:"report,omitempty"`

	// Base is the commit that the change is one of, and Message that of its own commit.
	Base    string `json:"base,omitempty"`
	Message string `json:"message,omitempty"`

	// Waits are what a parked run waits for a person with.
	Waits []plan.WaitingCall `json:"waits,omitempty"`
}

// maxReport bounds what a worker tells of a job, in bytes.
const maxReport = 8 << 20

// maxPatch bounds the change of a job in a queue, in bytes. A larger one stays with
// its worker.
const maxPatch = 32 << 20

// encode is what the queue keeps. Of a report that is too large it has what the job
// is and cost, and how it ended.
func (r queuedResult) encode() (json.RawMessage, error) {
	data, err := json.Marshal(r)
	if err != nil || len(data) <= maxReport || r.Report == nil {
		return data, err //nolint:wrapcheck // the caller says of which job
	}
	short := *r.Report
	short.Diff = ""
	short.Checks = nil
	short.Gaps = nil
	short.Open = nil
	short.Accepted = nil
	short.Notes = []string{fmt.Sprintf(
		"The report has %d MiB, which is too much for the queue: diff, checks and gaps are left out. "+
			"plan show %s on the worker has them.", len(data)>>20, short.Run,
	)}
	r.Report = &short
	return json.Marshal(r) //nolint:wrapcheck // the caller says of which job
}

// Work takes jobs of all batches from a queue and runs them in this home, until ctx
// ends or, with Drain, none is left. What the settings of this home say holds for them;
// jobs may ask for no more than [asksTooMuch] lets them.
func (b *Batches) Work(ctx context.Context, store *nats.Store, how Work, o host.Options, view View) error {
	db, err := b.host.DB(ctx)
	if err != nil {
		return err
	}
	release, err := db.OwnBatch(ctx, "worker")
	if err != nil {
		return fmt.Errorf("a worker needs a home of its own (PLAN_HOME): %w", err)
	}
	defer release() //nolint:errcheck // a lock that is released by the end of the process at the latest
	name, err := b.workerName()
	if err != nil {
		return err
	}
	some := memory.Batch{Jobs: map[memory.JobState]int{memory.JobQueued: 1}}
	if err := b.requireModel(ctx, some, Settings{}, &o); err != nil {
		return err
	}
	host.Sweep()
	providers, err := b.providers(ctx, o)
	if err != nil {
		return err
	}
	worker, err := store.NewWorker(nats.WorkerConfig{
		Name:      name,
		Providers: providers,
		Drain:     how.Drain,
		NewRun:    b.host.NewRunID,
	})
	if err != nil {
		return err
	}
	defer worker.Close()
	workers := Settings{Concurrency: how.Concurrency}.workers()
	transport := newTransport(workers)
	defer transport.CloseIdleConnections()
	limiter := batch.NewLimiter(workers, b.host.Now)
	inboxes := &host.Inboxes{}
	limiter.Tell(worker.TellPause)
	deaf, err := worker.OnPause(limiter.Slow)
	if err != nil {
		return err
	}
	defer deaf()
	view.begin(Progress{
		Counts:  map[batch.JobState]int{},
		Workers: workers,
		Window:  limiter.Window,
	})
	defer inBackground(ctx, func(ctx context.Context) { inboxes.Work(ctx, db) })()
	budgets := &sharedBudgets{store: store, newID: func() string { return string(b.host.NewRunID()) }}
	letters := func(job string) []json.RawMessage {
		held, _ := worker.Held(job) // it has none where the job is lost already
		return held.Letters
	}
	return batch.Run(ctx, batch.Config{
		Queue: reportingQueue{worker, b, db},
		Runner: boundedRunner{how.Repos, budgets, &runner{
			host:    b.host,
			db:      db,
			options: o,
			view:    view,
			spend:   budgets.spend,
			letters: letters,
			takeUp: func(ctx context.Context, try batch.Try) (*takeover, func(), error) {
				return b.takeUp(ctx, db, worker, try)
			},
			shared: func(try batch.Try) *host.Shared {
				return &host.Shared{
					HTTP:    &http.Client{Transport: transport},
					Limit:   func(m loop.Model) loop.Model { return limiter.Model(budgets.gate(try, m)) },
					Inboxes: inboxes,
				}
			},
		}},
		Workers:  workers,
		Started:  view.started,
		Finished: view.finished,
	})
}

// providers are those of models that this home has keys for, or that need none.
func (b *Batches) providers(ctx context.Context, o host.Options) (names []string, err error) {
	cfg, err := b.host.Settings("", o.Settings)
	if err != nil {
		return nil, err
	}
	for _, k := range b.host.Connector(ctx, "").Keys(cfg) {
		if k.Provider != "" && (k.Set || k.From == connect.KeyFromNone) {
			names = append(names, k.Provider)
		}
	}
	return names, nil
}

// workerName is the same for as long as the home is there: a run that began in it
// goes on in it.
func (b *Batches) workerName() (string, error) {
	paths, err := b.host.Paths()
	if err != nil {
		return "", err
	}
	file := filepath.Join(paths.Home, "worker")
	data, err := os.ReadFile(file)
	if err == nil && len(data) > 0 {
		return strings.TrimSpace(string(data)), nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read the name of this worker: %w", err)
	}
	machine, _ := os.Hostname() // the rest of the name is enough to tell workers apart
	name := strings.Trim(machine+"-"+string(b.host.NewRunID()), "-")
	return name, durable.Replace(file, []byte(name+"\n"), 0o600)
}

// boundedRunner runs those jobs that ask for no more than the worker gives, for as
// long as their batch may use something.
type boundedRunner struct {
	repos   []string
	budgets *sharedBudgets
	*runner
}

// Run implements batch.Runner.
func (r boundedRunner) Run(ctx context.Context, try batch.Try) (batch.Result, error) {
	if why := asksTooMuch(try.Job, r.repos); why != "" {
		return batch.Result{State: batch.JobFailed, Why: "refused by the worker: " + why}, nil
	}
	ctx, leave, err := r.budgets.enter(ctx, try, r.priced)
	if err != nil {
		return batch.Result{}, err
	}
	defer leave()
	if full := new(batch.BudgetError); errors.As(context.Cause(ctx), &full) {
		return batch.Result{State: batch.JobParked, Parked: plan.ParkLimit, Why: full.Error()}, nil
	}
	res, err := r.runner.Run(ctx, try)
	if full := new(batch.BudgetError); res.State == batch.JobParked && errors.As(context.Cause(ctx), &full) {
		res.Parked = plan.ParkLimit // and not given to another worker, which would find the same
		res.Why = full.Error()
	}
	return res, err
}

// priced makes sure that a budget in USD can be kept with the model of this home.
func (r boundedRunner) priced(ctx context.Context, s Settings) error {
	some := memory.Batch{Jobs: map[memory.JobState]int{memory.JobQueued: 1}}
	o := r.options
	return New(r.host).requireModel(ctx, some, s, &o)
}

// asksTooMuch says why a job is refused that came from another machine, "" for a job
// that may run. It may name a URL, required checks, a model that this worker's settings
// know, and limits. Walls, network, hooks, permissions and servers are the worker's.
func asksTooMuch(j batch.Job, repos []string) string {
	if len(repos) == 0 {
		repos = []string{"https://", "ssh://"}
	}
	if !batch.IsURL(j.Repo) {
		return "its repository is no URL: " + j.Repo
	}
	if !slices.ContainsFunc(repos, func(begin string) bool { return strings.HasPrefix(j.Repo, begin) }) {
		return "its repository is none of those that the worker takes (--repo): " + j.Repo
	}
	setting, err := workersOwn(j.Settings)
	switch {
	case err != nil:
		return err.Error()
	case setting != "":
		return "its settings say " + setting + ", which is the worker's to say"
	}
	return ""
}

// workersOwn names a setting of a job that is for workers alone to say; "" where the
// job has none.
func workersOwn(of config.Config) (setting string, err error) {
	settings, err := json.Marshal(of)
	asked := map[string]json.RawMessage{}
	if err == nil {
		err = json.Unmarshal(settings, &asked)
	}
	checks := map[string]json.RawMessage{}
	if given := asked["checks"]; err == nil && given != nil {
		err = json.Unmarshal(given, &checks)
	}
	for phase, given := range of.Phase {
		if given.Network != nil {
			return "phase." + string(phase) + ".network", nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("read the settings of the job: %w", err)
	}
	granted := []string{
		"model", "max_review_cycles", "max_turns", "max_tokens", "max_cost", "timeout",
		"checks", "phase", "way", "plan_size", "critique", "wait", "effort",
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if !slices.Contains(granted, name) {
			return name, nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		if name != "required" {
			return "checks." + name, nil
		}
	}
	return "", nil
}

// reportingQueue adds to each result what a report says of the job, since the journal
// of its run stays with the worker.
type reportingQueue struct {
	*nats.Worker
	batches *Batches
	db      *memory.DB
}

// RecordResult implements batch.Queue.
func (q reportingQueue) RecordResult(ctx context.Context, id string, state batch.JobState, data json.RawMessage) error {
	job, ok := q.Held(id)
	if !ok {
		return batch.ErrLeaseLost
	}
	var res queuedResult
	if err := json.Unmarshal(data, &res); err != nil {
		return fmt.Errorf("read what came of job %s: %w", id, err)
	}
	of, _, _ := strings.Cut(id, "/")
	j, err := readJob(memory.Job{
		Batch:  of,
		ID:     job.ID,
		State:  memory.JobState(state),
		Run:    job.Run,
		Spec:   job.Spec,
		Result: data,
	}, false)
	if err == nil {
		var report batch.JobReport
		if report, err = q.batches.reportJob(ctx, q.db, j); err == nil {
			res.Report = &report
		}
	}
	if err == nil && state == batch.JobParked && job.Run != "" {
		res.Waits, err = q.batches.host.Waits(ctx, job.Run)
		if errors.Is(err, memory.ErrNoRun) {
			err = nil
		}
	}
	run, patch := q.patch(ctx, job.Run)
	if run != nil {
		res.Base = run.Start.Base
		res.Message = host.CommitMessage(run)
	}
	if err == nil {
		data, err = res.encode()
	}
	if err != nil {
		return fmt.Errorf("report job %s: %w", id, err)
	}
	if patch != nil && len(patch) <= maxPatch {
		q.Attach(id, patch)
	}
	return q.Worker.RecordResult(ctx, id, state, data)
}

// patch is the change of a run; nil where there is none, or its repository is gone.
func (q reportingQueue) patch(ctx context.Context, id plan.RunID) (*engine.Run, []byte) {
	run, err := q.batches.host.Load(ctx, id)
	if err != nil || run.Start == nil {
		return nil, nil
	}
	change, err := q.batches.host.ChangeOf(ctx, run)
	if err != nil {
		return nil, nil
	}
	text, err := change.Patch(ctx)
	if err != nil {
		return nil, nil
	}
	return run, []byte(text)
}
