package main

import (
	"encoding/json"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
)

// document is a run in `plan show --json`.
type document struct {
	ID       plan.RunID            `json:"id"`
	Title    string                `json:"title"`
	State    plan.State            `json:"state"`
	Parked   *plan.Parked          `json:"parked"`
	Outcome  plan.State            `json:"outcome"`
	ExitCode *int                  `json:"exit_code"` // null while the run is neither final nor parked
	Why      string                `json:"why"`       // it is where it is
	Request  string                `json:"request"`
	Said     []string              `json:"said"` // by the person since, oldest first
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
	Phases   []phaseDocument       `json:"phases"` // attempts, in order
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

// phaseDocument is one attempt of a phase.
type phaseDocument struct {
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

func documentOf(run *engine.Run, info memory.RunInfo, t *render.Tally) document {
	d := document{
		ID:       run.ID,
		Title:    titleOf(info),
		State:    run.State,
		Parked:   run.Parked,
		Outcome:  info.Outcome,
		Why:      t.Why,
		Created:  info.Created,
		Updated:  info.Updated,
		Report:   run.Report,
		Said:     listOf(run.Said),
		Plans:    listOf(run.Plans),
		Baseline: listOf(run.Baseline),
		Checks:   listOf(run.Checks),
		Verdicts: listOf(run.Verdicts),
		Gaps:     listOf(run.Gaps),
		Moves:    listOf(run.Moves),
		Drifts:   listOf(run.Drifts),
		Trees:    listOf(run.Snapshots),
		Phases:   []phaseDocument{},
		Usage:    run.Usage,
		CostUSD:  run.Cost,
		Priced:   run.Priced,
		Events:   run.Head,
	}
	if start := run.Start; start != nil {
		d.Request, d.Repo, d.Base, d.Branch, d.Dirty = start.Request, start.Repo, start.Base, start.Branch, start.Dirty
		d.Models, d.Config, d.Version = start.Models, start.Config, start.Version
		d.Worktree, d.Work, d.Forked = start.Worktree, start.WorkBranch, start.ForkedFrom
	}
	if s := run.Settings; s != nil {
		d.Models, d.Config = s.Models, s.Config
	}
	switch {
	case run.Outcome != nil:
		d.Diff, d.ExitCode = &run.Outcome.Diff, new(run.Outcome.ExitCode)
	case run.Parked != nil:
		d.ExitCode, d.Why = new(run.Parked.Reason.ExitCode()), run.Parked.Detail
	}
	for _, p := range t.Phases {
		d.Phases = append(d.Phases, phaseDocument{
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
	return d
}

// listOf makes an empty list of none, so that JSON readers always find one.
func listOf[T any](of []T) []T {
	if of == nil {
		return []T{}
	}
	return of
}
