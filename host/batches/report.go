package batches

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/memory"
)

// maxDiff bounds a diff in a report, in bytes.
const maxDiff = 64 << 10

// Report collects what came of a batch from the journals of its runs.
func (b *Batches) Report(ctx context.Context, prefix string) (batch.Report, error) {
	db, stored, jobs, err := b.findJobs(ctx, prefix)
	if err != nil {
		return batch.Report{}, err
	}
	s := standingOf(db, stored, jobs)
	r := batch.Report{
		ID:      s.ID,
		State:   string(s.State),
		Name:    s.Name,
		Created: s.Created,
		Counts:  s.Counts,
		CostUSD: s.CostUSD,
		Tokens:  s.Tokens,
	}
	for _, j := range s.Jobs {
		l, err := b.reportJob(ctx, db, j)
		if err != nil {
			return r, err
		}
		r.Jobs = append(r.Jobs, l)
	}
	return r, nil
}

// reportJob reads what came of one job from its run's journal.
func (b *Batches) reportJob(ctx context.Context, db *memory.DB, j Job) (batch.JobReport, error) {
	l := batch.JobReport{
		ID:        j.ID,
		State:     j.State,
		Outcome:   j.Outcome,
		Parked:    j.Parked,
		Why:       j.Why,
		Run:       j.Run,
		Repo:      j.Repo,
		Ref:       j.Ref,
		Branch:    j.Branch,
		Request:   j.Request,
		Published: j.Published,
	}
	if j.Run == "" {
		return l, nil
	}
	var seen record
	run, err := host.Fold(ctx, db, j.Run, seen.observe)
	if errors.Is(err, memory.ErrNoRun) || err == nil && run.Start == nil {
		l.Run = "" // it never began
		return l, nil
	}
	var broken *memory.ChainError
	if errors.As(err, &broken) { // that is of this run alone
		l.Why = oneline.Of(broken.Error())
		return l, nil
	}
	if err != nil {
		return l, err
	}
	l.CostUSD = run.Cost
	l.Priced = run.Priced
	l.Tokens = run.Usage.Tokens()
	if end := run.Outcome; end != nil {
		l.CostUSD = end.CostUSD
		l.Priced = end.Priced
		l.Tokens = end.Usage.Tokens()
	}
	l.Seconds = seen.worked.Seconds()
	l.Gaps = seen.gaps
	l.Checks = seen.checks()
	if v := seen.verdict; v != nil {
		l.Verdict = v.Word()
		l.VerdictWhy = v.Why
		l.Evidence = v.Evidence
		l.Notes = v.Notes
		l.Open = v.Open
		l.Accepted = v.Accepted
	}
	change, err := b.host.ChangeOf(ctx, run)
	if err != nil {
		return l, nil //nolint:nilerr // a repository that is gone does not keep the report from being made
	}
	if l.Stat, err = change.Stat(ctx); err == nil {
		l.Diff, _ = change.Diff(ctx)
	}
	if len(l.Diff) > maxDiff {
		l.Diff = strings.ToValidUTF8(l.Diff[:maxDiff], "") +
			"\n… cut; `plan diff " + string(l.Run) + "` shows all of it\n"
	}
	return l, nil
}

// record is what a report takes from the events of a run, beside what engine.Run
// has of them: working time, and the latest word on each check and gap over all
// rounds.
type record struct {
	worked   time.Duration // parked time is not in it
	last     time.Time     // of the last event
	parked   bool
	commands []string                     // of the checks, in the order of first results
	results  map[string]*plan.CheckResult // the latest by command; nil before one after the work
	gaps     []plan.Gap                   // in the order they were opened
	verdict  *plan.Judgement              // the latest
}

func (r *record) observe(ev plan.Event) {
	if !ev.Time.IsZero() {
		taken, ok := ev.Body.(plan.SettingsChanged) // by the clock of another machine
		elsewhere := ok && taken.Machine != ""
		if since := ev.Time.Sub(r.last); !r.last.IsZero() && since > 0 && !r.parked && !elsewhere {
			r.worked += since
		}
		r.last = ev.Time
	}
	switch b := ev.Body.(type) {
	case plan.Parked:
		r.parked = true
	case plan.Unparked, plan.RunEnd:
		r.parked = false
	case plan.CheckEnd:
		r.addCheck(b.CheckResult)
	case plan.GapChange:
		r.gaps = plan.PutGap(r.gaps, b.Gap)
	case plan.VerdictGiven:
		r.verdict = &b.Judgement
	}
}

// addCheck keeps a result. A check that was stopped has none, and trials that were
// made to weigh a verdict say nothing else about the work.
func (r *record) addCheck(c plan.CheckResult) {
	if c.Cancelled || c.Source == plan.CheckSetup || c.Evidence != "" {
		return
	}
	if r.results == nil {
		r.results = map[string]*plan.CheckResult{}
	}
	if !slices.Contains(r.commands, c.Command) {
		r.commands = append(r.commands, c.Command)
	}
	if !c.Baseline {
		r.results[c.Command] = &c
	}
}

// checks are the latest results after the work.
func (r *record) checks() []plan.CheckResult {
	var out []plan.CheckResult
	for _, command := range r.commands {
		if c := r.results[command]; c != nil {
			out = append(out, *c)
		}
	}
	return out
}
