package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/memory"
)

// sharedPlan holds the jobs of a batch back until a person has approved the plan
// of one of them, and then hands it to the others. Nothing of it is kept but
// that job's own journal. A nil one holds nobody back.
type sharedPlan struct {
	db    *memory.DB
	batch string
	job   string        // whose plan it is
	known chan struct{} // closed once the job's journal says all that it will say for now
	once  sync.Once

	mu    sync.Mutex
	begun bool   // the job itself has been asked for
	text  string // of the plan that was approved
}

// openSharedPlan reads how the shared plan of a batch stands.
func openSharedPlan(ctx context.Context, db *memory.DB, b memory.Batch, settings batchSettings) (*sharedPlan, error) {
	if settings.PlanJob == "" {
		return nil, nil
	}
	s := &sharedPlan{
		db:    db,
		batch: b.ID,
		job:   settings.PlanJob,
		known: make(chan struct{}),
	}
	return s, failed(s.read(ctx))
}

// read looks for an approved plan in the job's journal: the latest.
func (s *sharedPlan) read(ctx context.Context) error {
	jobs, err := s.db.Jobs(ctx, s.batch)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(jobs, func(j memory.Job) bool { return j.ID == s.job })
	if at < 0 {
		return fmt.Errorf("batch %s has no job %q whose plan the others could share", s.batch, s.job)
	}
	if jobs[at].Run == "" {
		return nil
	}
	text, err := approvedPlan(ctx, s.db, jobs[at].Run)
	if errors.Is(err, memory.ErrNoRun) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
	return err
}

// approvedPlan is the text of the plan of a run that was approved last, as the
// person left it; "" for none.
func approvedPlan(ctx context.Context, db *memory.DB, run plan.RunID) (string, error) {
	var latest plan.PlanDoc
	text, edited := "", false
	for ev, err := range db.Events(ctx, run, memory.Query{Types: []plan.EventType{plan.TypePlan, plan.TypeApprovalResolved}}) {
		if err != nil {
			return "", fmt.Errorf("look for the approved plan: %w", err)
		}
		switch b := ev.Body.(type) {
		case plan.PlanMade:
			latest = b.PlanDoc
			if edited && latest.By != "" { // it is what the yes was for
				text = latest.Text
			}
			edited = false
		case plan.ApprovalResolved:
			edited = b.Approved && b.Call == plan.PlanCall(latest.Version)
			if edited {
				text = latest.Text
			}
		}
	}
	return text, nil
}

// admit says whether a further job may be claimed, and if only one may, which.
// It waits until that is known.
func (s *sharedPlan) admit(ctx context.Context) (only string, ok bool, err error) {
	if s == nil {
		return "", true, nil
	}
	s.mu.Lock()
	first := !s.begun && s.text == ""
	s.begun = true
	there := s.text != ""
	s.mu.Unlock()
	switch {
	case first:
		return s.job, true, nil
	case there:
		return "", true, nil
	}
	select {
	case <-s.known:
	case <-ctx.Done():
		return "", false, nil
	}
	err = s.read(ctx)
	return "", s.seed("") != "", err
}

// look lets those who wait look at the journal.
func (s *sharedPlan) look() {
	if s != nil {
		s.once.Do(func() { close(s.known) })
	}
}

// heard is told of the events of jobs.
func (s *sharedPlan) heard(job string, ev plan.Event) {
	if s == nil || job != s.job {
		return
	}
	if b, ok := ev.Body.(plan.ApprovalResolved); ok && b.Approved && strings.HasPrefix(b.Call, plan.PlanTool+"-") {
		s.look()
	}
}

// settled is told of jobs that stop.
func (s *sharedPlan) settled(job string) {
	if s != nil && job == s.job {
		s.look()
	}
}

// seed is the plan that a job is shown when it makes its own; "" for none.
func (s *sharedPlan) seed(job string) string {
	if s == nil || job == s.job {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text
}

// makes says that the job's plan is the one to be shared.
func (s *sharedPlan) makes(job string) bool { return s != nil && job == s.job }

// choosePlanJob is the job whose plan is shared: the one that is named, or the
// first of the list.
func choosePlanJob(jobs []batch.Job, shared bool, named string) (string, error) {
	switch {
	case !shared && named != "":
		return "", usage("--plan-job goes with --shared-plan")
	case !shared:
		return "", nil
	case len(jobs) < 2:
		return "", usage("--shared-plan needs a second job to share the plan with")
	case named == "":
		return jobs[0].ID, nil
	}
	for _, j := range jobs {
		if j.ID == named {
			return named, nil
		}
	}
	return "", usage("--plan-job: there is no job %q in the list", named)
}

// planStanding is the job whose plan the others of a batch wait for.
type planStanding struct {
	job    memory.Job
	parked plan.ParkReason // "" where it is not
}

// planStands finds the job that the others wait for; nil where nobody does.
func planStands(b memory.Batch, jobs []memory.Job) *planStanding {
	id := planJobOf(b)
	at := slices.IndexFunc(jobs, func(j memory.Job) bool { return j.ID == id })
	if at < 0 || slices.ContainsFunc(jobs, func(j memory.Job) bool { return j.ID != id && !j.Started.IsZero() }) {
		return nil
	}
	p := &planStanding{job: jobs[at]}
	if s, err := showJob(p.job, false); err == nil && s.State == memory.JobParked {
		p.parked = s.Parked
	}
	return p
}

// waits says that a person has to do something first.
func (p *planStanding) waits() bool { return p != nil && p.parked.ExitCode() == plan.ExitWaiting }

// planJobOf is the job whose plan the others of a batch share; "" for none.
func planJobOf(b memory.Batch) string {
	var settings batchSettings
	if json.Unmarshal(b.Settings, &settings) != nil {
		return ""
	}
	return settings.PlanJob
}

// tell says what can be done about it, if that is something else than usual.
func (p *planStanding) tell(to io.Writer, b memory.Batch) bool {
	if p == nil {
		return false
	}
	id := render.SafeLine(p.job.ID)
	switch {
	case p.parked == plan.ParkApproval:
		fmt.Fprintf(to, "  the other jobs wait for the plan of job %s to be approved\n", id)
		fmt.Fprintf(to, "  next  plan show %s --plan\n", p.job.Run)
		fmt.Fprintf(
			to,
			"        plan batch approve %s, with --plan FILE to change it, or plan batch deny %s --comment TEXT\n",
			b.ID,
			b.ID,
		)
		fmt.Fprintf(to, "        plan batch resume %s\n", b.ID)
	case p.job.State == memory.JobFailed || p.job.State == memory.JobCancelled:
		fmt.Fprintf(
			to,
			"  the other jobs wait for a plan, and job %s that was to make it is %s: plan batch retry %s --only %s\n",
			id,
			p.job.State,
			b.ID,
			id,
		)
	default:
		return false
	}
	return true
}

// batchRuleCommand makes a command that decides about the shared plan.
func (a *app) batchRuleCommand(use, short string, kind loop.LetterKind) *cobra.Command {
	var flags planFlags
	var reason string
	cmd := &cobra.Command{
		Use:   use + " [BATCH]",
		Short: short,
		Long: `The plan of a batch that was started with --shared-plan waits for this. See it
with "plan show RUN --plan"; after this, "plan batch resume" goes on.`,
		Example: map[loop.LetterKind]string{
			loop.Approve: "  plan batch approve 01JX\n  plan batch approve 01JX --plan edited.md",
			loop.Deny:    "  plan batch deny 01JX --comment \"Keep the old flag working\"\n  plan batch deny 01JX --reject",
		}[kind],
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				b, err := findBatch(ctx, db, strings.Join(args, ""))
				if err != nil {
					return err
				}
				return a.batchRule(ctx, db, b, kind, &flags, reason)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "a `TEXT` that the model reads")
	flags.register(cmd, kind)
	return cmd
}

func (a *app) batchRule(
	ctx context.Context,
	db *memory.DB,
	b memory.Batch,
	kind loop.LetterKind,
	flags *planFlags,
	reason string,
) error {
	jobs, err := db.Jobs(ctx, b.ID)
	if err != nil {
		return failed(err)
	}
	id := planJobOf(b)
	at := slices.IndexFunc(jobs, func(j memory.Job) bool { return j.ID == id })
	if at < 0 {
		return failed(
			&advice{
				fmt.Sprintf("batch %s shares no plan", b.ID),
				"A single job is decided about with `plan approve RUN` or `plan deny RUN`.",
			},
		)
	}
	run := jobs[at].Run
	call := ""
	if run != "" {
		if call, err = waitingPlan(ctx, db, run); err != nil && !errors.Is(err, memory.ErrNoRun) {
			return failed(err)
		}
	}
	if call == "" {
		return failed(
			&advice{
				fmt.Sprintf("no plan of batch %s waits to be approved", b.ID),
				"`plan batch show " + b.ID + "` says how it stands.",
			},
		)
	}
	letter, err := flags.address(ctx, a, db, run, kind, letterText{Text: reason})
	if err != nil {
		return err
	}
	if err := a.post(ctx, db, run, kind, letter); err != nil {
		return err
	}
	return a.told(plan.RunID(b.ID), "resume", "it is decided; go on with: plan batch resume "+b.ID)
}
