package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
)

// evidence tells how each line ended that was run to weigh the verdict, on the
// work and without the change.
func (s *summary) evidence() {
	label := "evidence"
	if word := s.t.Verdict.Evidence; word != "" {
		s.row(label, InkNone, word)
		label = ""
	}
	shown := map[string]bool{}
	for _, r := range s.t.trials {
		if shown[r.Command] {
			continue
		}
		shown[r.Command] = true
		text := s.firstLine(r.Command) + ": " + s.t.ends(r.Command)
		if s.t.setAside(r.Command) {
			text += "; the verdict does not rest on it"
		}
		s.row(label, InkNone, text)
		label = ""
	}
}

// setAside reports whether a line is none of those that an approval rests on: the reviewer
// took it back, or it ended otherwise than claimed. Of a claim that names only a call, as
// those of older runs do, it is not known.
func (t *Tally) setAside(command string) bool {
	v := t.Verdict
	check := slices.ContainsFunc(t.Checks, func(c checkTally) bool { return c.command == command })
	return v.Approved && !check && !slices.ContainsFunc(v.Commands, func(c plan.RanCommand) bool {
		return c.Command == command || c.Command == ""
	})
}

// ends says how a line ended on each tree.
func (t *Tally) ends(command string) string {
	work, without := "", ""
	for _, c := range t.Checks {
		if c.command == command && c.Latest != nil {
			work = fmt.Sprint(c.Latest.ExitCode)
		}
	}
	for _, r := range t.trials {
		switch {
		case r.Command != command:
		case r.Evidence == plan.TreeReviewed:
			work = fmt.Sprint(r.ExitCode)
		case r.Evidence == plan.TreeCounter:
			without = fmt.Sprint(r.ExitCode)
		}
	}
	words := "exit " + work + " on the work"
	if without != "" {
		words += ", " + without + " without the change"
	}
	return words
}

// findings lists what was noticed about the work that was reviewed last, each
// with the implementer's or the reviewer's word on it.
func (s *summary) findings() {
	label := "noticed"
	for _, f := range s.t.findings {
		k := InkNone
		if f.Answer {
			k = InkYellow
		}
		s.row(label, k, f.Text)
		label = ""
		if why := s.t.reasonFor(f); why != "" {
			s.row("", InkDim, "why: "+why)
		} else if f.Kind == plan.FindScope {
			s.row("", InkYellow, "nobody gave a reason")
		}
	}
}

// reasonFor is what was said of a finding: by the implementer, or else in the
// reviewer's checklist.
func (t *Tally) reasonFor(f plan.Finding) string {
	if f.Reason != "" || f.Path == "" || t.Verdict == nil {
		return f.Reason
	}
	i := slices.IndexFunc(t.Verdict.Checklist, func(item plan.ListItem) bool {
		return strings.Contains(item.Item+"\n"+item.Evidence, f.Path)
	})
	if i < 0 {
		return ""
	}
	return "review: " + t.Verdict.Checklist[i].Item
}

// reviews tells what each review cost, where there was more than one: a run
// that does not converge pays for it here.
func (s *summary) reviews() {
	var parts []string
	for _, p := range s.t.Phases {
		if p.Phase == plan.Review {
			parts = append(
				parts,
				fmt.Sprintf("%d: %s, %s tokens", p.Attempt, Cost(p.Cost, !p.Unpriced), Tokens(p.Usage.Tokens())),
			)
		}
	}
	if len(parts) > 1 {
		s.rowOfParts("reviews", parts)
	}
}

// waitingPlan shows the plan that a person is asked about.
func (s *summary) waitingPlan() {
	if !s.t.planWaits() || s.t.plan == nil {
		return
	}
	s.lines = append(s.lines, "")
	for line := range strings.Lines(s.t.plan.Text) {
		s.lines = append(s.lines, "  "+SafeLine(strings.TrimRight(line, "\n")))
	}
	s.lines = append(s.lines, "")
}

// planWaits reports whether a run is parked with a plan to be approved.
func (t *Tally) planWaits() bool {
	return t.parked != nil && slices.ContainsFunc(t.parked.Waiting, plan.WaitingCall.IsPlan)
}

// decisions are the commands with which a person decides about what a parked run waits
// for.
func (t *Tally) decisions(run string) []string {
	switch {
	case t.planWaits():
		return []string{
			"plan approve " + run, "plan approve " + run + " --plan FILE",
			"plan deny " + run + " --comment TEXT", "plan deny " + run + " --reject",
		}
	case t.parked == nil:
		return nil
	case len(t.parked.Waiting) == 0 && t.parked.Reason == plan.ParkQuestion:
		return []string{"plan tell " + run + " TEXT"}
	case len(t.parked.Waiting) == 0:
		return nil
	}
	first := t.parked.Waiting[0]
	which := run
	if len(t.parked.Waiting) > 1 {
		which += " CALL"
	}
	if first.Question != "" {
		return []string{"plan tell " + run + " TEXT"}
	}
	return []string{
		"plan approve " + run + " --show", "plan approve " + which, "plan deny " + which + " --reason TEXT",
	}
}

func critiqueWords(b plan.Critiqued) string {
	switch {
	case b.Error != "":
		return "it failed, so the plan is carried out as it is: " + b.Error
	case b.Findings == "":
		return "nothing stands against the plan"
	}
	return b.Findings
}

// driftNote says what changed under a run, and what the run did about it.
func driftNote(d plan.Drift) string {
	note := Count(d.Total, "file") + " changed: " + firstOf(d.Files, d.Total)
	if n := len(d.Planned); n > 0 {
		note += fmt.Sprintf(" (%d of them in the plan)", n)
	}
	switch d.Choice {
	case plan.DriftAccepted:
		note += "; it went on as told"
	case plan.DriftNoted:
		note += "; the plan was outdated, and it went on"
	case plan.DriftReplanned:
		note += "; it made another plan"
	}
	return note
}

// leftOutNote names files that are in no snapshot.
func leftOutNote(paths []string) string {
	return "of snapshots, as larger than max_untracked, or refused by git: " + firstOf(paths, len(paths)) +
		"; what happened to them was not seen, and cannot be undone"
}

// firstOf names a few of so many files.
func firstOf(paths []string, total int) string {
	const most = 5
	names := strings.Join(paths[:min(most, len(paths))], ", ")
	if total > most {
		names += ", …"
	}
	return names
}

// driftHelp is what can be done about a run that is parked for a drift.
func driftHelp(id plan.RunID) []string {
	return []string{
		fmt.Sprintf("plan resume %s --accept-drift", id),
		fmt.Sprintf("plan resume %s --replan", id),
	}
}
