package batches

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/memory"
)

// State is what a batch as a whole can be.
type State string

// The states of a batch.
const (
	Running State = "running" // a process drives it
	Done    State = "done"    // every job has ended
	Open    State = "open"    // there is something left to do
)

// Batch is a batch as a list shows it.
type Batch struct {
	ID      string                 `json:"id"`
	State   State                  `json:"state"`
	Total   int                    `json:"jobs"` // how many it has
	Counts  map[batch.JobState]int `json:"counts"`
	Name    string                 `json:"name"` // where the jobs were read from
	Created time.Time              `json:"created"`
	Updated time.Time              `json:"updated"`
	CostUSD float64                `json:"cost_usd"`
	Tokens  int64                  `json:"tokens"`

	// ExitCode is plan.ExitOK only if every job was approved, and plan.ExitWaiting
	// where all wait for a person to decide about the plan that they share.
	ExitCode int `json:"exit_code"`
}

// Standing is a batch with all its jobs.
type Standing struct {
	Batch
	Jobs []Job `json:"jobs"`

	// Plan is the job whose plan the others wait for; nil where none does.
	Plan *AwaitedPlan `json:"-"`

	// Limit is how many jobs may be started; 0 for all.
	Limit int `json:"-"`
}

// Job is a job as it stands.
type Job struct {
	ID      string         `json:"id"`
	State   batch.JobState `json:"state"`
	Run     plan.RunID     `json:"run,omitempty"`
	Worker  string         `json:"worker,omitempty"` // whose home has the run; "" for this one
	Repo    string         `json:"repo"`
	Ref     string         `json:"ref,omitempty"`
	Branch  string         `json:"branch"`
	Request string         `json:"request"`
	batch.Result
	Published *batch.Publication `json:"published,omitempty"`
	Started   *time.Time         `json:"started,omitempty"`
	Ended     *time.Time         `json:"ended,omitempty"`
}

// NeedsPerson reports whether the job waits for a person.
func (j Job) NeedsPerson() bool {
	return j.State == batch.JobParked && j.Parked.ExitCode() == plan.ExitWaiting
}

// List lists all batches, newest first.
func (b *Batches) List(ctx context.Context) ([]Batch, error) {
	db, err := b.host.DB(ctx)
	if err != nil {
		return nil, err
	}
	list, err := db.Batches(ctx, "")
	if err != nil {
		return nil, err
	}
	out := make([]Batch, 0, len(list))
	for _, stored := range list {
		var jobs []memory.Job
		if planJobOf(stored) != "" { // only then its exit code is a matter of single jobs
			if jobs, err = db.Jobs(ctx, stored.ID); err != nil {
				return nil, err
			}
		}
		out = append(out, summarize(db, stored, jobs))
	}
	return out, nil
}

// Show says how a batch and its jobs stand.
func (b *Batches) Show(ctx context.Context, prefix string) (Standing, error) {
	db, stored, jobs, err := b.findJobs(ctx, prefix)
	if err != nil {
		return Standing{}, err
	}
	out := standingOf(db, stored, jobs)
	return out, noteGoneOn(ctx, db, out.Jobs)
}

// noteGoneOn says of jobs that are parked when something else than the batch has gone on
// with their run, such as a person who opened and answered it. The batch learns what came
// of it when it is resumed.
func noteGoneOn(ctx context.Context, db *memory.DB, jobs []Job) error {
	parked := map[plan.RunID]*Job{}
	for i := range jobs {
		if j := &jobs[i]; j.State == batch.JobParked && j.Run != "" && j.Parked != "" {
			parked[j.Run] = j
		}
	}
	if len(parked) == 0 {
		return nil
	}
	goesOn, err := db.Runs(ctx, memory.Filter{
		IDs:    slices.Collect(maps.Keys(parked)),
		Parked: new(false),
	})
	for _, run := range goesOn {
		j := parked[run.ID]
		j.Parked = ""
		j.Why = fmt.Sprintf("its run was gone on with, and is %s: `plan batch resume` takes it over", run.State)
	}
	return err
}

// standingOf describes a batch.
func standingOf(db *memory.DB, stored memory.Batch, storedJobs []memory.Job) Standing {
	_, publishes := db.BatchHolder(publishLock + stored.ID)
	jobs := readJobs(storedJobs, publishes)
	return Standing{
		Batch: summarize(db, stored, storedJobs),
		Jobs:  jobs,
		Plan:  awaitedPlan(stored, jobs),
		Limit: stored.MaxStarts,
	}
}

// summarize describes a batch as a list shows it. Of one that shares a plan the
// jobs are needed.
func summarize(db *memory.DB, stored memory.Batch, storedJobs []memory.Job) Batch {
	b := Batch{
		ID:       stored.ID,
		Counts:   countsOf(stored),
		Name:     stored.Name,
		Created:  stored.Created,
		Updated:  stored.Updated,
		CostUSD:  stored.CostUSD,
		Tokens:   stored.Tokens,
		ExitCode: plan.ExitOK,
	}
	b.State = openOrDone(b.Counts)
	if _, held := db.BatchHolder(stored.ID); held {
		b.State = Running
	}
	for state, n := range b.Counts {
		b.Total += n
		if state != batch.JobDone && n > 0 {
			b.ExitCode = plan.ExitNotApproved
		}
	}
	jobs := readJobs(storedJobs, false) // what cannot be read waits for no person
	if awaitedPlan(stored, jobs).NeedsPerson() {
		b.ExitCode = plan.ExitWaiting
	}
	return b
}

func openOrDone(counts map[batch.JobState]int) State {
	if counts[batch.JobQueued]+counts[batch.JobRunning]+counts[batch.JobParked] > 0 {
		return Open
	}
	return Done
}

// countsOf is how many jobs are in each state.
func countsOf(b memory.Batch) map[batch.JobState]int {
	out := make(map[batch.JobState]int, len(b.Jobs))
	for state, n := range b.Jobs {
		out[batch.JobState(state)] = n
	}
	return out
}

// readJobs reads what is stored of jobs. Publishes says that a process publishes
// their batch. What cannot be read of a job is why that one is shown without it.
func readJobs(stored []memory.Job, publishes bool) []Job {
	out := make([]Job, 0, len(stored))
	for _, s := range stored {
		j, err := readJob(s, publishes)
		if err != nil {
			j.Why = damagedWhy(j.Run, err)
		}
		out = append(out, j)
	}
	return out
}

// damagedWhy says that what is stored of a job is damaged, and what has it all the same.
func damagedWhy(run plan.RunID, err error) string {
	what := "a backup may have it"
	if run != "" {
		what = "`plan show " + string(run) + "` shows its run"
	}
	return fmt.Sprintf("what is stored of this job is damaged; %s (%v)", what, oneline.Of(err.Error()))
}

func readJob(stored memory.Job, publishes bool) (Job, error) {
	j := Job{
		ID:     stored.ID,
		State:  batch.JobState(stored.State),
		Run:    stored.Run,
		Branch: branchOf(stored.Batch, stored.ID),
	}
	if !stored.Started.IsZero() {
		j.Started = &stored.Started
	}
	if !stored.Ended.IsZero() {
		j.Ended = &stored.Ended
	}
	if stored.Damage != nil {
		return j, stored.Damage
	}
	var spec batch.Job
	if err := json.Unmarshal(stored.Spec, &spec); err != nil {
		return j, fmt.Errorf("read job %s: %w", stored.ID, err)
	}
	j.Repo = spec.Repo
	j.Ref = spec.Ref
	j.Request = spec.Request
	if stored.Result != nil {
		if err := json.Unmarshal(stored.Result, &j.Result); err != nil {
			j.Result = batch.Result{} // not the half of it
			return j, fmt.Errorf("read what came of job %s: %w", stored.ID, err)
		}
	}
	var err error
	j.Published, err = publicationOf(stored, publishes)
	return j, err
}

// AwaitedPlan is the job whose plan the other jobs of a batch wait for.
type AwaitedPlan struct {
	Job   string
	Run   plan.RunID
	State batch.JobState

	// Parked says why the job stands still, "" where it does not.
	Parked plan.ParkReason
}

// awaitedPlan finds the job that the others wait for; nil where none does.
func awaitedPlan(b memory.Batch, jobs []Job) *AwaitedPlan {
	name := planJobOf(b)
	at := slices.IndexFunc(jobs, func(j Job) bool { return j.ID == name })
	if at < 0 || slices.ContainsFunc(jobs, func(j Job) bool { return j.ID != name && j.Started != nil }) {
		return nil
	}
	p := &AwaitedPlan{
		Job:   name,
		Run:   jobs[at].Run,
		State: jobs[at].State,
	}
	if p.State == batch.JobParked {
		p.Parked = jobs[at].Parked
	}
	return p
}

// NeedsPerson reports whether a person has to do something first.
func (p *AwaitedPlan) NeedsPerson() bool {
	return p != nil && p.Parked.ExitCode() == plan.ExitWaiting
}

// planJobOf is the job whose plan the others of a batch share; "" for none.
func planJobOf(b memory.Batch) string {
	settings, err := settingsOf(b)
	if err != nil {
		return ""
	}
	return settings.PlanJob
}
