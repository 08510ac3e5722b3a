package batches

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

// sharedPlan holds the jobs of a batch back until a person has approved the plan
// of one of them, and then hands it to the others. Nothing of it is kept but that
// job's own journal. A nil one holds no job back.
type sharedPlan struct {
	db    *memory.DB
	batch string
	job   string        // whose plan it is
	known chan struct{} // closed once the job's journal says all that it will say for now
	once  sync.Once

	mu      sync.Mutex
	claimed bool   // the job itself was given out
	text    string // of the plan that was approved
}

// openSharedPlan reads how the plan of a job stands that the others of a batch
// share; nil for "".
func openSharedPlan(ctx context.Context, db *memory.DB, batch, job string) (*sharedPlan, error) {
	if job == "" {
		return nil, nil
	}
	s := &sharedPlan{
		db:    db,
		batch: batch,
		job:   job,
		known: make(chan struct{}),
	}
	return s, s.readApproved(ctx)
}

// readApproved looks for an approved plan in the job's journal: the latest.
func (s *sharedPlan) readApproved(ctx context.Context) error {
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
	types := []plan.EventType{plan.TypePlan, plan.TypeApprovalResolved}
	var latest plan.PlanDoc
	text := ""
	justApproved := false // and an edited version of it may follow
	for ev, err := range db.Events(ctx, run, memory.Query{Types: types}) {
		if err != nil {
			return "", fmt.Errorf("look for the approved plan: %w", err)
		}
		switch b := ev.Body.(type) {
		case plan.PlanMade:
			latest = b.PlanDoc
			if justApproved && latest.By != "" { // it is what the yes was for
				text = latest.Text
			}
			justApproved = false
		case plan.ApprovalResolved:
			justApproved = b.Approved && b.Call == plan.PlanCall(latest.Version)
			if justApproved {
				text = latest.Text
			}
		}
	}
	return text, nil
}

// admit says whether a further job may be claimed, and if only one may, which. It
// waits until that is known.
func (s *sharedPlan) admit(ctx context.Context) (only string, ok bool, err error) {
	if s == nil {
		return "", true, nil
	}
	s.mu.Lock()
	approved := s.text != ""
	first := !s.claimed && !approved
	s.claimed = true
	s.mu.Unlock()
	switch {
	case first:
		return s.job, true, nil
	case approved:
		return "", true, nil
	}
	select {
	case <-s.known:
	case <-ctx.Done():
		return "", false, nil
	}
	err = s.readApproved(ctx)
	return "", s.textFor("") != "", err
}

// endWait lets the workers that wait for the plan read the job's journal.
func (s *sharedPlan) endWait() {
	if s != nil {
		s.once.Do(func() { close(s.known) })
	}
}

// observe takes the events of all jobs.
func (s *sharedPlan) observe(job string, ev plan.Event) {
	if !s.isMadeBy(job) {
		return
	}
	if b, ok := ev.Body.(plan.ApprovalResolved); ok && b.Approved && strings.HasPrefix(b.Call, plan.PlanTool+"-") {
		s.endWait()
	}
}

// jobStopped is told of each job that has ended or parked.
func (s *sharedPlan) jobStopped(job string) {
	if s.isMadeBy(job) {
		s.endWait()
	}
}

// textFor is the plan that a job is shown when it makes its own; "" for none.
func (s *sharedPlan) textFor(job string) string {
	if s == nil || job == s.job {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text
}

// isMadeBy reports whether it is this job that makes the plan.
func (s *sharedPlan) isMadeBy(job string) bool { return s != nil && job == s.job }

// Decide decides about the plan that a batch shares and that waits for a person,
// and returns the id of the batch, which can be resumed then.
func (b *Batches) Decide(ctx context.Context, prefix string, d host.Decision) (id string, err error) {
	_, stored, jobs, err := b.findJobs(ctx, prefix)
	if err != nil {
		return "", err
	}
	name := planJobOf(stored)
	at := slices.IndexFunc(jobs, func(j memory.Job) bool { return j.ID == name })
	if at < 0 {
		return "", hint.New(
			fmt.Sprintf("batch %s shares no plan", stored.ID),
			"A single job is decided about with `plan approve RUN` or `plan deny RUN`.",
		)
	}
	run := jobs[at].Run
	if run != "" {
		d.Call, err = b.host.WaitingPlan(ctx, run)
		if err != nil && !errors.Is(err, memory.ErrNoRun) {
			return "", err
		}
	}
	if d.Call == "" {
		return "", hint.New(
			fmt.Sprintf("no plan of batch %s waits to be approved", stored.ID),
			"`plan batch show "+stored.ID+"` says how it stands.",
		)
	}
	_, err = b.host.Decide(ctx, run, d)
	return stored.ID, err
}
