package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
)

// What a batch as a whole can be.
const (
	batchRunning = "running" // a process drives it
	batchDone    = "done"    // every job has ended
	batchOpen    = "open"    // there is something left to do
)

// batchState says what a batch is, from its jobs and who drives it.
func batchState(db *memory.DB, b memory.Batch) string {
	if _, held := db.BatchHolder(b.ID); held {
		return batchRunning
	}
	if b.Jobs[memory.JobQueued]+b.Jobs[memory.JobRunning]+b.Jobs[memory.JobParked] > 0 {
		return batchOpen
	}
	return batchDone
}

// isInterrupt says that a person has stopped the batch.
func isInterrupt(cause error) bool { return errors.Is(cause, engine.ErrInterrupted) }

// listedBatch is a batch in `plan batch list --json`.
type listedBatch struct {
	ID       string                  `json:"id"`
	State    string                  `json:"state"`
	Jobs     int                     `json:"jobs"`
	Counts   map[memory.JobState]int `json:"counts"`
	Name     string                  `json:"name"`
	Created  time.Time               `json:"created"`
	Updated  time.Time               `json:"updated"`
	CostUSD  float64                 `json:"cost_usd"`
	Tokens   int64                   `json:"tokens"`
	ExitCode int                     `json:"exit_code"`
}

func listBatch(db *memory.DB, b memory.Batch, jobs []memory.Job) listedBatch {
	l := listedBatch{
		ID:       b.ID,
		State:    batchState(db, b),
		Counts:   b.Jobs,
		Name:     b.Name,
		Created:  b.Created,
		Updated:  b.Updated,
		CostUSD:  b.CostUSD,
		Tokens:   b.Tokens,
		ExitCode: batchExit(b, jobs),
	}
	for _, n := range b.Jobs {
		l.Jobs += n
	}
	return l
}

// listBatches describes batches. Only of those that share a plan the jobs are
// needed.
func listBatches(ctx context.Context, db *memory.DB, all []memory.Batch) ([]listedBatch, error) {
	out := make([]listedBatch, 0, len(all))
	for _, b := range all {
		var jobs []memory.Job
		if planJobOf(b) != "" {
			var err error
			if jobs, err = db.Jobs(ctx, b.ID); err != nil {
				return nil, err
			}
		}
		out = append(out, listBatch(db, b, jobs))
	}
	return out, nil
}

func (a *app) batchListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the batches, newest first",
		Example: "  plan batch list\n  plan batch list --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				all, err := db.Batches(ctx, "")
				if err != nil {
					return failed(err)
				}
				out, err := listBatches(ctx, db, all)
				if err != nil {
					return failed(err)
				}
				if a.json {
					return a.document(out)
				}
				if len(out) == 0 {
					_, err := fmt.Fprintln(a.out, "No batches yet. `plan batch run --help` shows how to start one.")
					return failed(err)
				}
				tw := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(tw, "BATCH\tSTATE\tAGE\tJOBS\tCOST\tFROM\tSTANDING")
				for _, b := range out {
					fmt.Fprintf(
						tw,
						"%s\t%s\t%s\t%d\t%s\t%s\t%s\n",
						b.ID,
						b.State,
						render.Duration(a.now().Sub(b.Created)),
						b.Jobs,
						batchCost(b.CostUSD),
						render.SafeLine(b.Name),
						jobCounts(b.Counts),
					)
				}
				return failed(render.UnlessReaderLeft(tw.Flush()))
			})
		},
	}
}

// shownJob is a job in `plan batch show --json`.
type shownJob struct {
	ID      string          `json:"id"`
	State   memory.JobState `json:"state"`
	Run     plan.RunID      `json:"run,omitempty"`
	Repo    string          `json:"repo"`
	Ref     string          `json:"ref,omitempty"`
	Branch  string          `json:"branch"`
	Request string          `json:"request"`
	batch.Result
	Published *batch.Publication `json:"published,omitempty"`
	Started   *time.Time         `json:"started,omitempty"`
	Ended     *time.Time         `json:"ended,omitempty"`
}

// showJob takes apart a job. Publishes says that a process publishes its batch.
func showJob(j memory.Job, publishes bool) (shownJob, error) {
	var spec batch.Job
	if err := json.Unmarshal(j.Spec, &spec); err != nil {
		return shownJob{}, fmt.Errorf("read job %s: %w", j.ID, err)
	}
	s := shownJob{
		ID:      j.ID,
		State:   j.State,
		Run:     j.Run,
		Repo:    spec.Repo,
		Ref:     spec.Ref,
		Request: spec.Request,
		Branch:  jobBranch(j.Batch, j.ID),
	}
	if j.Result != nil {
		if err := json.Unmarshal(j.Result, &s.Result); err != nil {
			return shownJob{}, fmt.Errorf("read what came of job %s: %w", j.ID, err)
		}
	}
	var err error
	if s.Published, err = publicationOf(j, publishes); err != nil {
		return s, err
	}
	if !j.Started.IsZero() {
		s.Started = &j.Started
	}
	if !j.Ended.IsZero() {
		s.Ended = &j.Ended
	}
	return s, nil
}

// batchShowCommand makes show, which lists the jobs, and status, which lists
// only those that are not approved or not finished.
func (a *app) batchShowCommand(name string) *cobra.Command {
	short, long := "Show a batch with all its jobs", "Show lists every job of a batch. Without BATCH it takes the newest."
	if name == "status" {
		short, long = "Say how a batch stands", "Status says how many jobs are how far, and lists those that run, wait or have failed.\nWithout BATCH it takes the newest."
	}
	return &cobra.Command{
		Use:     name + " [BATCH]",
		Short:   short,
		Long:    long,
		Example: fmt.Sprintf("  plan batch %s\n  plan batch %s 01JX --json", name, name),
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				return a.batchShow(ctx, db, strings.Join(args, ""), name == "status")
			})
		},
	}
}

func (a *app) batchShow(ctx context.Context, db *memory.DB, prefix string, short bool) error {
	b, err := findBatch(ctx, db, prefix)
	if err != nil {
		return err
	}
	jobs, err := db.Jobs(ctx, b.ID)
	if err != nil {
		return failed(err)
	}
	_, publishes := db.BatchHolder(publishLock + b.ID)
	shown := make([]shownJob, 0, len(jobs))
	for _, j := range jobs {
		s, err := showJob(j, publishes)
		if err != nil {
			return failed(err)
		}
		shown = append(shown, s)
	}
	head := listBatch(db, b, jobs)
	if a.json {
		// jobs is the number of jobs in lists, and the jobs themselves here.
		return a.document(struct {
			listedBatch
			Jobs []shownJob `json:"jobs"`
		}{head, shown})
	}
	fmt.Fprintf(a.out, "batch %s  %s  %s  %s\n", head.ID, head.State, jobCounts(b.Jobs), batchCost(b.CostUSD))
	tw := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, j := range shown {
		if !short || j.State != memory.JobDone && j.State != memory.JobQueued {
			why := j.Why
			if j.Published != nil {
				why = strings.TrimSpace(why + " " + j.Published.Summary())
			}
			fmt.Fprintf(
				tw,
				"  %s\t%s\t%s\t%s\n",
				render.SafeLine(j.ID),
				standingWord(j),
				j.Run,
				render.SafeLine(cutRunes(why, 160)),
			)
		}
	}
	if err := tw.Flush(); err != nil {
		return failed(render.UnlessReaderLeft(err))
	}
	if head.State == batchOpen {
		planStands(b, jobs).tell(a.out, b)
	}
	return nil
}

// standingWord names where a job stands, as exactly as is known.
func standingWord(j shownJob) string {
	switch {
	case j.State == memory.JobParked && j.Parked != "":
		return "parked: " + string(j.Parked)
	case (j.State == memory.JobDone || j.State == memory.JobFailed) && j.Outcome != "":
		return string(j.Outcome)
	}
	return string(j.State)
}

// batchSummary tells at the end how the batch stands and what can be done next.
func (a *app) batchSummary(b memory.Batch, jobs []memory.Job, cause error) {
	to := a.out
	if a.json {
		to = a.err
	}
	fmt.Fprintf(
		to,
		"\nbatch %s: %s; %s, %s tokens\n",
		b.ID,
		jobCounts(b.Jobs),
		batchCost(b.CostUSD),
		render.Tokens(b.Tokens),
	)
	var full *batch.BudgetError
	var up *plan.TimeUp
	switch {
	case isInterrupt(cause):
		fmt.Fprintln(to, "  interrupted; jobs that ran are parked where they stood")
	case errors.As(cause, &full):
		fmt.Fprintln(to, "  "+full.Error()+"; what was left is parked")
	case errors.As(cause, &up):
		fmt.Fprintln(to, "  "+up.Error()+"; what was left is parked")
	}
	if planStands(b, jobs).tell(to, b) {
		return
	}
	waiting := 0
	for _, j := range jobs {
		s, err := showJob(j, false)
		if err == nil && s.Parked.ExitCode() == plan.ExitWaiting && s.State == memory.JobParked {
			waiting++
			fmt.Fprintf(to, "  job %s waits for a person: plan show %s\n", render.SafeLine(s.ID), s.Run)
		}
	}
	suggest(to, b, waiting)
}

// suggest lists the commands that make sense now.
func suggest(to io.Writer, b memory.Batch, waiting int) {
	fmt.Fprintf(to, "  next  plan batch report %s\n", b.ID)
	started := 0
	for s, n := range b.Jobs {
		if s != memory.JobQueued {
			started += n
		}
	}
	switch {
	case b.Jobs[memory.JobQueued] > 0 && b.MaxStarts > 0 && started >= b.MaxStarts:
		fmt.Fprintf(to, "        plan batch continue %s\n", b.ID)
	case b.Jobs[memory.JobQueued]+b.Jobs[memory.JobParked]-waiting > 0:
		fmt.Fprintf(to, "        plan batch resume %s\n", b.ID)
	}
	if b.Jobs[memory.JobFailed] > 0 {
		fmt.Fprintf(to, "        plan batch retry %s --failed\n", b.ID)
	}
	if b.Jobs[memory.JobDone] > 0 {
		fmt.Fprintf(to, "        plan batch apply %s, or publish\n", b.ID)
	}
}
