package render

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/internal/oneline"
)

// maxJobWhy bounds why a job is not approved in a list, in characters.
const maxJobWhy = 160

// Batches writes a table of batches. Their age is counted to now.
func Batches(w io.Writer, list []batches.Batch, now time.Time) error {
	if len(list) == 0 {
		return writef(w, "No batches yet. `plan batch run --help` shows how to start one.\n")
	}
	rows := [][]string{{"BATCH", "STATE", "AGE", "JOBS", "COST", "FROM", "STANDING"}}
	for _, b := range list {
		rows = append(rows, []string{
			b.ID,
			string(b.State),
			Duration(now.Sub(b.Created)),
			strconv.Itoa(b.Total),
			batchCost(b.CostUSD),
			SafeLine(b.Name),
			jobCounts(b.Counts),
		})
	}
	return writeTable(w, rows)
}

// Batch writes how a batch and its jobs stand, with short only those that run, wait
// or have failed.
func Batch(w io.Writer, b batches.Standing, short bool) error {
	tellf(w, "batch %s  %s  %s  %s\n", b.ID, b.State, jobCounts(b.Counts), batchCost(b.CostUSD))
	tw := tabwriter.NewWriter(w, 0, 0, len(columnGap), ' ', 0)
	for _, j := range b.Jobs {
		if short && (j.State == batch.JobDone || j.State == batch.JobQueued) {
			continue
		}
		why := j.Why
		if j.Published != nil {
			why = strings.TrimSpace(why + " " + j.Published.Summary())
		}
		why = SafeLine(oneline.Cut(why, maxJobWhy))
		tellf(tw, "  %s\t%s\t%s\t%s\n", SafeLine(j.ID), jobWord(j), j.Run, why)
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("write the jobs: %w", err)
	}
	if b.State == batches.Open {
		writeAwaitedPlan(w, b)
	}
	return nil
}

// jobWord names where a job stands, as exactly as is known.
func jobWord(j batches.Job) string {
	switch {
	case j.State == batch.JobParked && j.Parked != "":
		return "parked: " + string(j.Parked)
	case (j.State == batch.JobDone || j.State == batch.JobFailed) && j.Outcome != "":
		return string(j.Outcome)
	}
	return string(j.State)
}

// SameJobs writes that nothing was started because there is a batch of the same
// jobs, and what can be done with that one.
func SameJobs(w io.Writer, b batches.Batch) error {
	next := map[batches.State]string{
		batches.Running: "watch it with `plan batch status " + b.ID + "`",
		batches.Done:    "see `plan batch report " + b.ID + "`",
		batches.Open:    "go on with `plan batch resume " + b.ID + "`",
	}[b.State]
	return writef(w, "plan: batch %s has the same jobs and is %s (%s): nothing was started. "+
		"Now %s, or start another one with --new.\n", b.ID, b.State, jobCounts(b.Counts), next)
}

// BatchOutcome writes how a batch stands at the end, and what can be done next.
func BatchOutcome(w io.Writer, o batches.Outcome) {
	b := o.Batch
	tellf(w, "\nbatch %s: %s; %s, %s tokens\n",
		b.ID, jobCounts(b.Counts), batchCost(b.CostUSD), Tokens(b.Tokens))
	var full *batch.BudgetError
	var up *plan.TimeUp
	switch {
	case o.Interrupted():
		tellf(w, "%s\n", "  interrupted; jobs that ran are parked where they stood")
	case errors.As(o.Stopped, &full):
		tellf(w, "%s\n", "  "+full.Error()+"; what was left is parked")
	case errors.As(o.Stopped, &up):
		tellf(w, "%s\n", "  "+up.Error()+"; what was left is parked")
	}
	if writeAwaitedPlan(w, b) {
		return
	}
	waiting := 0
	for _, j := range b.Jobs {
		if j.NeedsPerson() {
			waiting++
			tellf(w, "  job %s waits for a person: plan show %s\n", SafeLine(j.ID), j.Run)
		}
	}
	writeNextCommands(w, b, waiting)
}

// writeAwaitedPlan writes what can be done about the plan that a batch waits for,
// and reports whether that is something else than usual.
func writeAwaitedPlan(w io.Writer, b batches.Standing) bool {
	p := b.Plan
	if p == nil {
		return false
	}
	job := SafeLine(p.Job)
	switch {
	case p.Parked == plan.ParkApproval:
		tellf(w, "  the other jobs wait for the plan of job %s to be approved\n", job)
		tellf(w, "  next  plan show %s --plan\n", p.Run)
		tellf(w, "        plan batch approve %s, with --plan FILE to change it, "+
			"or plan batch deny %s --comment TEXT\n", b.ID, b.ID)
		tellf(w, "        plan batch resume %s\n", b.ID)
	case p.State == batch.JobFailed || p.State == batch.JobCancelled:
		tellf(w, "  the other jobs wait for a plan, and job %s that was to make it is %s: "+
			"plan batch retry %s --only %s\n", job, p.State, b.ID, job)
	default:
		return false
	}
	return true
}

// writeNextCommands lists the commands that make sense now. Waiting is how many
// jobs wait for a person.
func writeNextCommands(w io.Writer, b batches.Standing, waiting int) {
	tellf(w, "  next  plan batch report %s\n", b.ID)
	queued := b.Counts[batch.JobQueued]
	switch {
	case queued > 0 && b.Limit > 0 && b.Total-queued >= b.Limit:
		tellf(w, "        plan batch resume %s --limit 0\n", b.ID)
	case queued+b.Counts[batch.JobParked]-waiting > 0:
		tellf(w, "        plan batch resume %s\n", b.ID)
	}
	if b.Counts[batch.JobFailed] > 0 {
		tellf(w, "        plan batch retry %s --failed\n", b.ID)
	}
	if b.Counts[batch.JobDone] > 0 {
		tellf(w, "        plan batch apply %s, or publish\n", b.ID)
	}
}

// JobsExported writes what was done with the changes of jobs.
func JobsExported(w io.Writer, jobs []batches.Exported) error {
	for _, e := range jobs {
		if err := writef(w, "%s: %s\n", SafeLine(e.Job), SafeLine(e.Result+e.Error)); err != nil {
			return err
		}
	}
	return nil
}

// JobPublished writes what came of publishing the change of a job.
func JobPublished(w io.Writer, p batches.Published) error {
	text := p.Summary()
	switch {
	case p.Command != "":
		text = "would be published from " + p.Branch + " with: " + p.Command
	case p.Publication == nil:
		text = "skipped: " + p.Skipped
	case p.Skipped != "" && p.Problem() == "":
		text += ", " + p.Skipped
	}
	if p.Publication != nil && p.HooksLeft != "" && p.Skipped == "" {
		text += "; the hooks in " + p.HooksLeft + " did not run, for they lie in the work tree (--run-hooks runs them)"
	}
	return writef(w, "%s: %s\n", SafeLine(p.Job), SafeLine(text))
}

// jobCounts writes how many jobs are in each state that any is in.
func jobCounts(counts map[batch.JobState]int) string {
	var parts []string
	for _, s := range []batch.JobState{
		batch.JobDone,
		batch.JobFailed,
		batch.JobParked,
		batch.JobCancelled,
		batch.JobRunning,
		batch.JobQueued,
	} {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(parts) == 0 {
		return "no jobs"
	}
	return strings.Join(parts, ", ")
}

// batchCost is a price in words; of models without a price nothing is known.
func batchCost(usd float64) string { return Cost(usd, usd > 0) }
