package service

import (
	"context"
	"os"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/memory"
)

// Run is how a run stands, as the API answers.
type Run struct {
	host.ListedRun
	Aim        plan.Aim              `json:"aim,omitempty"`
	Why        string                `json:"why"` // it is where it is
	Continues  plan.RunID            `json:"continues,omitempty"`
	Continued  []plan.RunID          `json:"continued_by,omitempty"`
	Guidance   []string              `json:"said"`   // by the person since, oldest first
	Unread     []Unread              `json:"unread"` // of what was said, oldest first
	Base       string                `json:"base"`
	Branch     string                `json:"branch"`
	WorkBranch string                `json:"work_branch,omitempty"`
	Dirty      bool                  `json:"dirty"`
	Version    string                `json:"version"` // of the program that started the run
	Models     map[plan.Phase]string `json:"models"`
	Report     string                `json:"report"`
	Plans      []plan.PlanDoc        `json:"plans"`
	Baseline   []plan.CheckResult    `json:"baseline"`
	Checks     []plan.CheckResult    `json:"checks"` // after the last change
	Verdicts   []plan.Judgement      `json:"verdicts"`
	Gaps       []plan.Gap            `json:"gaps"`
	Findings   []plan.Finding        `json:"findings"`
	Drifts     []plan.Drift          `json:"drifts"`
	Drift      *plan.Drift           `json:"drift,omitempty"` // that the run is parked with
	Snapshots  []plan.Snapshot       `json:"snapshots"`
	Moves      []plan.StateChange    `json:"moves"`
	Waiting    []Waiting             `json:"waiting"` // for a person
	Evidence   string                `json:"evidence,omitempty"`
	Notes      []string              `json:"notes,omitempty"`
	Open       []string              `json:"open,omitempty"`
	Diff       *plan.DiffStat        `json:"diff"`   // null where the repository is gone
	Events     int64                 `json:"events"` // seq of the last one
	ExitCode   *int                  `json:"exit_code"`
	Driver     *Driver               `json:"driver"` // null where no process drives the run

	Job *QueuedJob `json:"job,omitempty"` // whose run it is, in a queue
}

// Unread is what a person has said and no conversation has read yet.
type Unread struct {
	Kind host.Kind `json:"kind"` // steer or follow_up
	Text string    `json:"text"`
}

// Driver is the process that drives a run.
type Driver struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
	Here bool   `json:"here"` // it is this server
}

// Waiting is a call, a question or a plan that waits for a person.
type Waiting struct {
	Call     string   `json:"call"`
	Name     string   `json:"name"`
	Plan     bool     `json:"plan,omitempty"` // it is the plan
	Question string   `json:"question,omitempty"`
	Options  []string `json:"options,omitempty"`
	Shown    string   `json:"shown,omitempty"` // what it would do, or the plan
	Why      string   `json:"why,omitempty"`
	Rule     string   `json:"rule,omitempty"`
	// Run is what a yes for the run allows; "" where a yes counts once.
	Run    string `json:"for_run,omitempty"`
	Digest string `json:"digest"` // that a decision names
}

// Document says how a run stands.
func (w *Service) Document(ctx context.Context, id plan.RunID) (Run, error) {
	run, err := w.Host.Standing(ctx, id, nil)
	if err != nil {
		return Run{}, err
	}
	info, err := w.Host.Info(ctx, id)
	if err != nil {
		return Run{}, err
	}
	d := newRun(w.Host.ListRuns([]memory.RunInfo{info})[0], run)
	if d.Continued, _, err = w.Host.ContinuedBy(ctx, id); err != nil {
		return Run{}, err
	}
	if size, err := w.Host.SizeOf(ctx, run); err == nil { // the repository may be gone
		d.Diff = &size
	}
	if d.Driver, err = w.driver(ctx, id); err != nil {
		return Run{}, err
	}
	if d.Unread, err = w.unread(ctx, id); err != nil {
		return Run{}, err
	}
	if run.Parked != nil {
		d.Waiting, err = w.Waiting(ctx, id)
	}
	return d, err
}

// newRun says of a run what its journal does.
func newRun(listed host.ListedRun, run *engine.Run) Run {
	d := Run{
		ListedRun: listed,
		Guidance:  listOf(run.Guidance),
		Report:    run.Report,
		Plans:     listOf(run.Plans),
		Baseline:  listOf(run.Baseline),
		Checks:    listOf(run.Checks),
		Verdicts:  listOf(run.Verdicts),
		Gaps:      listOf(run.Gaps),
		Findings:  listOf(run.Findings),
		Drifts:    listOf(run.Drifts),
		Snapshots: listOf(run.Snapshots),
		Moves:     listOf(run.Moves),
		Waiting:   []Waiting{},
		Events:    run.Head,
	}
	d.State = run.State
	d.begin(run)
	d.stand(run)
	return d
}

func (w *Service) unread(ctx context.Context, id plan.RunID) ([]Unread, error) {
	letters, err := w.Host.Unread(ctx, id)
	out := make([]Unread, 0, len(letters))
	for _, l := range letters {
		out = append(out, Unread{
			Kind: l.Kind,
			Text: l.Text,
		})
	}
	return out, err
}

// begin says what the run was started with.
func (d *Run) begin(run *engine.Run) {
	start := run.Start
	if start == nil {
		return
	}
	d.Aim = start.Aim
	d.Continues = start.Continues
	d.Base = start.Base
	d.Branch = start.Branch
	d.WorkBranch = start.WorkBranch
	d.Dirty = start.Dirty
	d.Version = start.Version
	d.Models = start.Models
	if run.Settings != nil {
		d.Models = run.Settings.Models
	}
}

// stand says where the run stands.
func (d *Run) stand(run *engine.Run) {
	if n := len(run.Verdicts); n > 0 {
		d.Why = run.Verdicts[n-1].Why
	}
	switch {
	case run.Outcome != nil:
		d.ExitCode = &run.Outcome.ExitCode
		d.Evidence = run.Outcome.Evidence
		d.Notes = run.Outcome.Notes
		d.Open = run.Outcome.Open
		if run.Outcome.Why != "" {
			d.Why = run.Outcome.Why
		}
	case run.Parked != nil:
		d.Parked = run.Parked.Reason
		d.WakeAt = run.Parked.WakeAt
		d.Why = run.Parked.Detail
		d.Drift = run.Parked.Drift
		d.ExitCode = new(run.Parked.Reason.ExitCode())
	}
}

// driver is the process that drives a run, nil where none does.
func (w *Service) driver(ctx context.Context, id plan.RunID) (*Driver, error) {
	db, err := w.Host.DB(ctx)
	if err != nil {
		return nil, err
	}
	held, ok := db.Holder(id)
	if !ok {
		return nil, nil //nolint:nilnil // none drives it
	}
	return &Driver{
		PID:  held.PID,
		Host: held.Host,
		Here: held.PID == os.Getpid(),
	}, nil
}

// Waiting lists what a run waits for a person with, and none has decided.
func (w *Service) Waiting(ctx context.Context, id plan.RunID) ([]Waiting, error) {
	calls, err := w.Host.Waits(ctx, id)
	if err != nil {
		return nil, err
	}
	return listWaiting(calls), nil
}

func listWaiting(calls []plan.WaitingCall) []Waiting {
	out := make([]Waiting, 0, len(calls))
	for _, c := range calls {
		waiting := Waiting{
			Call:     c.Call,
			Name:     c.Name,
			Plan:     c.IsPlan(),
			Question: c.Question,
			Options:  c.Options,
			Why:      c.Why,
			Rule:     c.Rule,
			Digest:   c.Digest,
		}
		if c.Question == "" {
			waiting.Shown = c.Shown()
		}
		if c.Grant != (plan.Grant{}) {
			waiting.Run = host.GrantText(c.Grant)
		}
		out = append(out, waiting)
	}
	return out
}

// listOf is a list that is [] in JSON where it is empty.
func listOf[T any](of []T) []T {
	if of == nil {
		return []T{}
	}
	return of
}
