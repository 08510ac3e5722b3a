package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/plan-engine/plan"
)

// writeSummary writes what a run came to and what can be done next. It goes to
// a terminal at the end, so a write error is left to whoever writes next.
func writeSummary(w io.Writer, t *tally, opts viewOptions) {
	s := summary{look: newLook(opts), t: t, opts: opts, width: min(opts.columns()-1, columnsMost)}
	s.outcome()
	s.verdict()
	s.gaps()
	s.findings()
	s.checks()
	s.change()
	s.spent()
	s.reviews()
	s.waitingPlan()
	s.next()
	_ = writeLines(w, s.lines)
}

// summary is a sheet of labelled rows.
type summary struct {
	look
	t     *tally
	opts  viewOptions
	width int
	lines []string
}

// row adds a labelled row, wrapped; label may be empty to go on with the one
// before.
func (s *summary) row(label string, k ink, text string) {
	s.rowOf([]span{{ink: inkDim, text: summaryLabel(label)}}, k, text)
}

func (s *summary) rowOf(head []span, k ink, text string) {
	s.lines = append(s.lines, s.hang(s.width, head, k, text)...)
}

func (s *summary) rowOfParts(label string, parts []string) {
	s.lines = append(s.lines, s.hangParts(s.width, []span{{ink: inkDim, text: summaryLabel(label)}}, inkNone, parts...)...)
}

func summaryLabel(label string) string { return "  " + padTo(label, 10) }

func (s *summary) outcome() {
	title, k, why := s.t.standing(s.dot)
	s.lines = append(s.lines, "", s.heading(s.width, k, title, ""))
	f := s.t.failure
	if s.t.state == plan.Approved || s.t.state == plan.Planned {
		f = nil // it was overcome
	}
	told := (s.t.verdict != nil && why == s.t.verdict.Why) || (f != nil && why == f.Error)
	if why != "" && !told {
		s.row("why", inkNone, why)
	}
	if f != nil {
		s.row("error", inkRed, f.Error)
		if f.Hint != "" {
			s.row("", inkNone, f.Hint)
		}
	}
}

// standing names where the run stands, with its colour and the reason.
func (t *tally) standing(dot string) (title string, k ink, why string) {
	switch {
	case t.parked != nil:
		title = "parked: " + string(t.parked.Reason)
		if t.parked.WakeAt != nil {
			title += " " + dot + " go on after " + t.parked.WakeAt.UTC().Format("2006-01-02 15:04:05 UTC")
		}
		return title, inkYellow, t.parked.Detail
	case t.state == plan.Approved, t.state == plan.Planned:
		return string(t.state), inkGreen, t.why
	case t.state == plan.Failed:
		return string(t.state), inkRed, t.why
	case t.state.Final():
		return string(t.state), inkYellow, t.why
	case t.state == "" || t.state == plan.Unstarted:
		return "not started", inkYellow, t.why
	}
	return "not finished: " + string(t.state), inkYellow, t.why
}

func (s *summary) verdict() {
	v := s.t.verdict
	if v == nil {
		return
	}
	k, word := verdictWord(v.Judgement)
	head := []span{{ink: inkDim, text: summaryLabel("verdict")}, {ink: k, text: word + "  "}}
	s.rowOf(head, inkNone, v.Why)
	if note := checklistNote(v.Judgement); note != "" {
		s.row("", inkDim, note)
	}
}

// verdictWord names a judgement with its colour.
func verdictWord(j plan.Judgement) (ink, string) {
	switch {
	case j.Approved:
		return inkGreen, string(j.Verdict)
	case j.Verdict == plan.Done:
		return inkYellow, "DONE, not approved"
	case j.Verdict == plan.NoVerdict:
		return inkYellow, "no verdict"
	}
	return inkYellow, string(j.Verdict)
}

// checklistNote says how many requirements were met and what was run.
func checklistNote(j plan.Judgement) string {
	var parts []string
	if n := len(j.Checklist); n > 0 {
		met := 0
		for _, item := range j.Checklist {
			if item.Met {
				met++
			}
		}
		parts = append(parts, fmt.Sprintf("%d of %s met", met, countOf(n, "requirement")))
	}
	if n := len(j.Commands); n > 0 {
		parts = append(parts, countOf(n, "command")+" claimed")
	}
	return strings.Join(parts, ", ")
}

func (s *summary) gaps() {
	label := "gaps"
	for _, g := range s.t.gaps {
		glyph, k := s.ok, inkGreen
		if g.Open() {
			glyph, k = s.open, inkYellow
		}
		s.rowOf([]span{
			{ink: inkDim, text: summaryLabel(label)},
			{ink: k, text: glyph + " " + padTo(sanitizeLine(g.ID), 4)},
			{ink: inkDim, text: padTo(gapStanding(g), len("closed, should  "))},
		}, inkNone, g.Gap)
		label = ""
	}
}

// gapStanding says whether a gap is open, and how much it matters.
func gapStanding(g plan.Gap) string {
	word := "closed"
	if g.Open() {
		word = "open"
	}
	if g.Severity == "" {
		return word
	}
	return word + ", " + sanitizeLine(g.Severity)
}

func (s *summary) checks() {
	label := "checks"
	for _, c := range s.t.checks {
		now := c.latest
		head := []span{{ink: inkDim, text: summaryLabel(label)}}
		switch {
		case now == nil: // only the baseline was taken
			now = c.baseline
			head = append(head, s.checkWord(now), span{text: "  "}, span{ink: inkDim, text: "baseline only  "})
		case c.baseline != nil:
			head = append(head, s.checkWord(c.baseline), span{ink: inkDim, text: " " + s.arrow + " "}, s.checkWord(now), span{text: "  "})
		default:
			head = append(head, s.checkWord(now), span{text: "  "})
		}
		tail := []span{{ink: inkDim, text: checkNote(*now)}, {ink: inkDim, text: fmt.Sprintf("%8s", spokenTime(millis(now.DurationMS)))}}
		s.lines = append(s.lines, s.fill(s.width, head, span{text: s.firstLine(now.Command)}, tail))
		label = ""
	}
}

func (s *summary) checkWord(r *plan.CheckResult) span {
	if r.Passed() {
		return span{ink: inkGreen, text: passWord(r)}
	}
	return span{ink: inkRed, text: passWord(r)}
}

func passWord(r *plan.CheckResult) string {
	if r.Passed() {
		return "PASS"
	}
	return "FAIL"
}

// checkNote says what is special about a check's result.
func checkNote(r plan.CheckResult) string {
	var parts []string
	switch {
	case r.Cancelled:
		parts = append(parts, "stopped, will run again")
	case r.TimedOut:
		parts = append(parts, "timed out")
	case !r.Passed():
		parts = append(parts, fmt.Sprintf("exit %d", r.ExitCode))
	}
	if r.Flaky {
		parts = append(parts, "flaky")
	}
	if r.Skipped != "" {
		parts = append(parts, "not run: its paths are unchanged")
	}
	if r.Cached {
		parts = append(parts, "from an earlier run")
	}
	if r.Masked != "" {
		parts = append(parts, "masked status")
	}
	if !r.Required {
		parts = append(parts, "advisory")
	}
	if len(parts) == 0 {
		return ""
	}
	return "  " + strings.Join(parts, ", ")
}

func (s *summary) change() {
	if d := s.t.diff; d != nil {
		s.row("change", inkNone, diffWords(*d))
	}
	for _, d := range s.t.drifts {
		s.row("drift", inkYellow, driftNote(d))
	}
	if s.t.start.Worktree != "" {
		s.row("worktree", inkNone, s.joined(s.t.start.Worktree, s.t.start.WorkBranch))
	}
	if p := s.t.plan; p != nil {
		s.row("plan", inkNone, s.planWords(*p))
	}
}

func diffWords(d plan.DiffStat) string {
	if d == (plan.DiffStat{}) {
		return "no file"
	}
	return fmt.Sprintf("%s, +%d -%d lines", countOf(d.Files, "file"), d.Insertions, d.Deletions)
}

// planWords sizes a plan in one line.
func (l look) planWords(p plan.PlanDoc) string {
	return l.joined(fmt.Sprintf("version %d", p.Version), countOf(len(p.Files), "file"), countOf(lineCount(p.Text), "line"))
}

func (s *summary) spent() {
	u := s.t.usage
	if u.Requests > 0 || u.Tokens() > 0 {
		s.rowOfParts("tokens", usageWords(u))
		s.row("cost", inkNone, spokenCost(s.t.cost, !s.t.unpriced))
	}
	if in, from := s.t.inherited, s.t.start.ForkedFrom; from != nil && in.Tokens() > 0 {
		s.row("inherited", inkDim, fmt.Sprintf("%s tokens, %s, spent by run %s", spokenCount(in.Tokens()), spokenCost(s.t.inheritedCost, s.t.inheritedCost > 0), from.Run))
	}
	if s.t.total <= 0 {
		return
	}
	parts := []string{spokenTime(s.t.total)}
	for _, p := range s.t.phaseTimes() {
		parts = append(parts, string(p.phase)+" "+spokenTime(p.took))
	}
	if s.t.inChecks > 0 {
		parts = append(parts, "checks "+spokenTime(s.t.inChecks))
	}
	s.rowOfParts("time", parts)
}

func usageWords(u plan.Usage) []string {
	in := spokenCount(u.Input) + " in"
	if u.Input > 0 {
		in += fmt.Sprintf(" (%d%% cached)", u.Cached*100/u.Input)
	}
	out := spokenCount(u.Output) + " out"
	if u.Reasoning > 0 {
		out += fmt.Sprintf(" (%s reasoning)", spokenCount(u.Reasoning))
	}
	return []string{in, out, countOf(u.Requests, "request")}
}

// next lists the commands that make sense now.
func (s *summary) next() {
	run := string(s.t.run)
	if run == "" {
		return
	}
	resume := s.opts.Resume
	if resume == "" {
		resume = "plan resume " + run
	}
	commands := []string{"plan show " + run, "plan diff " + run}
	switch {
	case s.t.parked != nil && s.t.parked.Reason == plan.ParkDrift:
		commands = append(driftHelp(s.t.run), commands...)
	case !s.t.state.Final():
		commands = append([]string{resume}, commands...)
	}
	if s.t.state == plan.Approved && s.t.start.Worktree != "" {
		commands = append(commands, "plan apply "+run)
	}
	if s.t.planWaits() {
		commands = append(decisions(run), commands...)
	}
	label := "next"
	for _, c := range commands {
		s.row(label, inkCyan, c)
		label = ""
	}
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
