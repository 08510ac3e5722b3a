package render

import (
	"encoding/json"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/memory"
)

// RunDocument is a run in `plan show --json`.
type RunDocument struct {
	ID       plan.RunID            `json:"id"`
	Title    string                `json:"title"`
	State    plan.State            `json:"state"`
	Parked   *plan.Parked          `json:"parked"`
	Outcome  plan.State            `json:"outcome"`
	ExitCode *int                  `json:"exit_code"` // null while the run is neither final nor parked
	Why      string                `json:"why"`       // it is where it is
	Request  string                `json:"request"`
	Aim      plan.Aim              `json:"aim,omitempty"`
	From     plan.RunID            `json:"continues,omitempty"` // the final run that it goes on from
	Guidance []string              `json:"said"`                // by the person since, oldest first
	Repo     string                `json:"repo"`
	Worktree string                `json:"worktree,omitempty"`    // of the run's own
	Work     string                `json:"work_branch,omitempty"` // checked out there
	Forked   *plan.Fork            `json:"forked_from,omitempty"`
	Base     string                `json:"base"`
	Branch   string                `json:"branch"`
	Dirty    bool                  `json:"dirty"`
	Version  string                `json:"version"` // of the program that started the run
	Models   map[plan.Phase]string `json:"models"`
	Created  time.Time             `json:"created"`
	Updated  time.Time             `json:"updated"`
	Config   json.RawMessage       `json:"config"` // as it holds now
	Phases   []PhaseDocument       `json:"phases"` // attempts, in order
	Report   string                `json:"report"`
	Plans    []plan.PlanDoc        `json:"plans"`
	Baseline []plan.CheckResult    `json:"baseline"`
	Checks   []plan.CheckResult    `json:"checks"`
	Verdicts []plan.Judgement      `json:"verdicts"`
	Gaps     []plan.Gap            `json:"gaps"`
	Moves    []plan.StateChange    `json:"moves"`
	Drifts   []plan.Drift          `json:"drifts"`
	Trees    []plan.Snapshot       `json:"snapshots"`
	Usage    plan.Usage            `json:"usage"`
	CostUSD  float64               `json:"cost_usd"`
	Priced   bool                  `json:"priced"`
	Diff     *plan.DiffStat        `json:"diff"`
	Events   int64                 `json:"events"`
}

// PhaseDocument is one attempt of a phase.
type PhaseDocument struct {
	Phase      plan.Phase `json:"phase"`
	Attempt    int        `json:"attempt"`
	Open       bool       `json:"open"` // it has not ended
	DurationMS int64      `json:"duration_ms"`
	Turns      int        `json:"turns"`
	Tools      int        `json:"tool_calls"`
	Usage      plan.Usage `json:"usage"`
	CostUSD    float64    `json:"cost_usd"`
	Priced     bool       `json:"priced"`
}

// NewRunDocument makes the document of a run from its folded journal, what the
// database says of it, and the tally of all of its events.
func NewRunDocument(run *engine.Run, info memory.RunInfo, t *Tally) RunDocument {
	d := RunDocument{
		ID:       run.ID,
		Title:    host.TitleOf(info),
		State:    run.State,
		Parked:   run.Parked,
		Outcome:  info.Outcome,
		Why:      t.Why,
		Created:  info.Created,
		Updated:  info.Updated,
		Report:   run.Report,
		Guidance: emptyIfNil(run.Guidance),
		Plans:    emptyIfNil(run.Plans),
		Baseline: emptyIfNil(run.Baseline),
		Checks:   emptyIfNil(run.Checks),
		Verdicts: emptyIfNil(run.Verdicts),
		Gaps:     emptyIfNil(run.Gaps),
		Moves:    emptyIfNil(run.Moves),
		Drifts:   emptyIfNil(run.Drifts),
		Trees:    emptyIfNil(run.Snapshots),
		Phases:   phaseDocuments(t),
		Usage:    run.Usage,
		CostUSD:  run.Cost,
		Priced:   run.Priced,
		Events:   run.Head,
	}
	if start := run.Start; start != nil {
		d.Request = start.Request
		d.Aim = start.Aim
		d.From = start.Continues
		d.Repo = start.Repo
		d.Base = start.Base
		d.Branch = start.Branch
		d.Dirty = start.Dirty
		d.Models = start.Models
		d.Config = start.Config
		d.Version = start.Version
		d.Worktree = start.Worktree
		d.Work = start.WorkBranch
		d.Forked = start.ForkedFrom
	}
	if s := run.Settings; s != nil {
		d.Models = s.Models
		d.Config = s.Config
	}
	switch {
	case run.Outcome != nil:
		d.Diff = &run.Outcome.Diff
		d.ExitCode = new(run.Outcome.ExitCode)
	case run.Parked != nil:
		d.ExitCode = new(run.Parked.Reason.ExitCode())
		d.Why = run.Parked.Detail
	}
	return d
}

func phaseDocuments(t *Tally) []PhaseDocument {
	out := make([]PhaseDocument, 0, len(t.Phases))
	for _, p := range t.Phases {
		out = append(out, PhaseDocument{
			Phase:      p.Phase,
			Attempt:    p.Attempt,
			Open:       p.Open,
			DurationMS: p.Took.Milliseconds(),
			Turns:      p.Turns,
			Tools:      p.Tools,
			Usage:      p.Usage,
			CostUSD:    p.Cost,
			Priced:     !p.Unpriced,
		})
	}
	return out
}

// emptyIfNil makes an empty list of none, so that readers of JSON always find one.
func emptyIfNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
