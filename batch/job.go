// Package batch runs many jobs, each as a run of its own in a work tree of its
// own: it reads lists of jobs, hands the jobs to workers, slows all of them down
// together where a model's server asks for it, and reports what came of them.
//
// What runs a job is a [Runner], and what remembers the jobs is a [Queue], so
// that both can be elsewhere. The package knows nothing of phases, models' wires
// or terminals.
package batch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
)

// Job is one request to one repository.
type Job struct {
	// ID names the job within its batch and is a part of its branch: letters,
	// digits, dots, - and _.
	ID string `json:"id"`
	// Repo is an absolute path or a git URL.
	Repo string `json:"repo"`
	// Ref is a branch, tag or commit; "" is what the repository's HEAD stands at.
	Ref string `json:"ref,omitempty"`
	// Request is what should change, with the values of its variables in it.
	Request string `json:"request"`
	// Vars are the variables of the list that the request was made of.
	Vars map[string]string `json:"vars,omitempty"`
	// Priority: higher goes first. Default 0.
	Priority int `json:"priority,omitempty"`
	// Needs are providers of models, sorted. Workers on other machines are given the
	// job only where they have keys for all of them.
	Needs []string `json:"needs,omitempty"`
	// Settings are laid over those that hold for the repository.
	Settings config.Config `json:"settings,omitzero"`
	// Line is where the job begins in the list that it was read from.
	Line int `json:"-"`

	ownSettings config.Config // settings of the job itself, before those of all jobs
}

// Try is a job that is to be run, or gone on with.
type Try struct {
	Job
	Batch string
	// Run is the id of the run that does the job. Its journal may be there
	// already: then the run goes on where it ends.
	Run plan.RunID
}

// JobState is how far a job has got.
type JobState string

// The states of a job. Done, failed and cancelled are final until another try is
// asked for.
const (
	JobQueued    JobState = "queued"
	JobRunning   JobState = "running"
	JobDone      JobState = "done"   // approved, or planned where that was all
	JobFailed    JobState = "failed" // came to an end that is not approval
	JobParked    JobState = "parked" // stopped before its end, and can go on
	JobCancelled JobState = "cancelled"
)

// Result is what came of a try.
type Result struct {
	State JobState `json:"-"`
	// Outcome is the run's final state, or "" where it has none.
	Outcome plan.State `json:"outcome,omitempty"`
	// Parked says why the run stopped where it stands, where it did.
	Parked plan.ParkReason `json:"parked,omitempty"`
	// Why explains everything that is not approval, in one line.
	Why string `json:"why,omitempty"`

	stop *StopError // why no job can go on; then the rest is empty
}

// Runner runs jobs. This is the seam behind which jobs can be run elsewhere.
type Runner interface {
	// Run runs a job, or goes on with it, until it has an end or parks. It is
	// called from several goroutines. An error means that the job could not
	// even begin, a [*StopError] that no job can.
	Run(ctx context.Context, try Try) (Result, error)
}

// Digest is a digest of what is to be done, by which the same list is known
// again.
func Digest(jobs []Job) (string, error) {
	data, err := json.Marshal(jobs)
	if err != nil {
		return "", fmt.Errorf("encode the jobs: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// Merge lays the settings of the whole list, then flags, then each job's own
// over one another.
func (l *List) Merge(flags config.Config) []Job {
	for i := range l.Jobs {
		l.Jobs[i].Settings = l.defaults.With(flags).With(l.Jobs[i].ownSettings)
	}
	return l.Jobs
}

// Entry is a job as a queue is given it.
type Entry struct {
	ID       string
	Place    int // in the list that it came from, from 0
	Turn     int // place among the jobs of its repository, from 0
	Priority int // higher goes first
	// Needs are the providers that a worker must have, sorted.
	Needs []string `json:",omitempty"`
	// Spec is the [Job] as JSON. A queue keeps it byte for byte.
	Spec json.RawMessage
}

// Entries are jobs as a queue is given them. Each repository's jobs get their
// turns, so that a repository with many jobs does not hold up the others.
func Entries(jobs []Job) ([]Entry, error) {
	turns := map[string]int{}
	out := make([]Entry, len(jobs))
	for i, j := range jobs {
		spec, err := json.Marshal(j)
		if err != nil {
			return nil, fmt.Errorf("encode job %s: %w", j.ID, err)
		}
		out[i] = Entry{
			ID:       j.ID,
			Place:    i,
			Turn:     turns[j.Repo],
			Priority: j.Priority,
			Needs:    j.Needs,
			Spec:     spec,
		}
		turns[j.Repo]++
	}
	return out, nil
}
