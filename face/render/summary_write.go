package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/plan-engine/plan"
)

// WriteSummary writes what a run came to and what can be done next. It goes to
// a terminal at the end, so a write error is left to the caller.
func WriteSummary(w io.Writer, t *Tally, opts Options) {
	s := summary{
		Look:  NewLook(opts),
		t:     t,
		opts:  opts,
		width: min(opts.Columns()-1, MaxColumns),
	}
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
	_ = WriteLines(w, s.lines)
}

// summary is a sheet of labelled rows.
type summary struct {
	Look
	t     *Tally
	opts  Options
	width int
	lines []string
}

// row adds a labelled row, wrapped; label may be empty to go on with the one
// before.
func (s *summary) row(label string, k Ink, text string) {
	s.rowOf([]Span{{Ink: InkDim, Text: summaryLabel(label)}}, k, text)
}

func (s *summary) rowOf(head []Span, k Ink, text string) {
	s.lines = append(s.lines, s.hang(s.width, head, k, text)...)
}

func (s *summary) rowOfParts(label string, parts []string) {
	s.lines = append(s.lines, s.hangParts(s.width, []Span{{
		Ink:  InkDim,
		Text: summaryLabel(label),
	}}, InkNone, parts...)...)
}

func summaryLabel(label string) string { return "  " + padTo(label, 10) }

func (s *summary) outcome() {
	title, k, why := s.t.status(s.dot)
	s.lines = append(s.lines, "", s.Heading(s.width, k, title, ""))
	f := s.t.failure
	if s.t.state.ExitCode() == plan.ExitOK {
		f = nil // it was overcome
	}
	shown := (s.t.Verdict != nil && why == s.t.Verdict.Why) || (f != nil && why == f.Error)
	if why != "" && !shown {
		s.row("why", InkNone, why)
	}
	if f != nil {
		s.row("error", InkRed, f.Error)
		if f.Hint != "" {
			s.row("", InkNone, f.Hint)
		}
	}
}

// status names where the run stands, with its colour and the reason.
func (t *Tally) status(dot string) (title string, k Ink, why string) {
	switch {
	case t.parked != nil:
		title = "parked: " + string(t.parked.Reason)
		if t.parked.WakeAt != nil {
			title += " " + dot + " go on after " + t.parked.WakeAt.UTC().Format("2006-01-02 15:04:05 UTC")
		}
		return title, InkYellow, t.parked.Detail
	case t.state == plan.Approved:
		return plan.ApprovedWith(t.failing()), InkGreen, t.Why
	case t.state.ExitCode() == plan.ExitOK:
		return string(t.state), InkGreen, t.Why
	case t.state == plan.Failed:
		return string(t.state), InkRed, t.Why
	case t.state.Final():
		return string(t.state), InkYellow, t.Why
	case t.state == "" || t.state == plan.Unstarted:
		return "not started", InkYellow, t.Why
	}
	return "not finished: " + string(t.state), InkYellow, t.Why
}

func (s *summary) verdict() {
	v := s.t.Verdict
	if v == nil {
		return
	}
	k, word := verdictWord(v.Judgement)
	head := []Span{{Ink: InkDim, Text: summaryLabel("verdict")}, {Ink: k, Text: word + "  "}}
	s.rowOf(head, InkNone, v.Why)
	if note := checklistNote(v.Judgement); note != "" {
		s.row("", InkDim, note)
	}
	s.evidence()
	if v.Approved {
		s.rows("notes", v.Notes)
	}
	s.rows("accepted", v.Accepted)
	s.rows("left open", v.Open)
}

// rows is a row for each of several texts, under one label.
func (s *summary) rows(label string, texts []string) {
	for _, text := range texts {
		s.row(label, InkNone, text)
		label = ""
	}
}

// verdictWord names a judgement with its colour.
func verdictWord(j plan.Judgement) (Ink, string) {
	if j.Approved {
		return InkGreen, j.Word()
	}
	return InkYellow, j.Word()
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
		parts = append(parts, fmt.Sprintf("%d of %s met", met, Count(n, "requirement")))
	}
	if n := len(j.Commands); n > 0 {
		parts = append(parts, Count(n, "command")+" claimed")
	}
	return strings.Join(parts, ", ")
}

func (s *summary) gaps() {
	label := "gaps"
	for _, g := range s.t.Gaps {
		glyph, k := s.ok, InkGreen
		if g.Open() {
			glyph, k = s.open, InkYellow
		}
		s.rowOf([]Span{
			{Ink: InkDim, Text: summaryLabel(label)},
			{Ink: k, Text: glyph + " " + padTo(SafeLine(g.ID), 4)},
			{Ink: InkDim, Text: padTo(gapStanding(g), len("closed, should  "))},
		}, InkNone, g.Gap)
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
	return word + ", " + SafeLine(g.Severity)
}

func (s *summary) checks() {
	label := "checks"
	for _, c := range s.t.Checks {
		now := c.Latest
		head := []Span{{Ink: InkDim, Text: summaryLabel(label)}}
		switch {
		case now == nil: // only the baseline was taken
			now = c.baseline
			head = append(head, s.checkWord(now), Span{Text: "  "}, Span{Ink: InkDim, Text: "baseline only  "})
		case c.baseline != nil:
			head = append(head, s.checkWord(c.baseline), Span{
				Ink:  InkDim,
				Text: " " + s.Arrow + " ",
			}, s.checkWord(now), Span{Text: "  "})
		default:
			head = append(head, s.checkWord(now), Span{Text: "  "})
		}
		tail := []Span{{
			Ink:  InkDim,
			Text: checkNote(*now),
		}, {
			Ink:  InkDim,
			Text: fmt.Sprintf("%8s", Duration(millis(now.DurationMS))),
		}}
		s.lines = append(s.lines, s.fill(s.width, head, Span{Text: s.firstLine(now.Command)}, tail))
		label = ""
	}
}

func (s *summary) checkWord(r *plan.CheckResult) Span {
	if r.Passed() {
		return Span{Ink: InkGreen, Text: passWord(r)}
	}
	return Span{Ink: InkRed, Text: passWord(r)}
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
	case r.Hung:
		parts = append(parts, "hung")
	case r.TimedOut:
		parts = append(parts, "timed out")
	case !r.Passed():
		parts = append(parts, fmt.Sprintf("exit %d", r.ExitCode))
	}
	if r.NotStarted != "" {
		parts = append(parts, "could not start")
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
	if !r.Required {
		parts = append(parts, "advisory")
	}
	if len(parts) == 0 {
		return ""
	}
	return "  " + strings.Join(parts, ", ")
}

func (s *summary) change() {
	if d := s.t.Diff; d != nil && s.t.start.Aim != plan.AimAsk {
		s.row("change", InkNone, DiffWords(*d))
	}
	for _, d := range s.t.drifts {
		s.row("drift", InkYellow, driftNote(d))
	}
	if len(s.t.leftOut) > 0 {
		s.row("left out", InkYellow, leftOutNote(s.t.leftOut))
	}
	if s.t.start.Worktree != "" {
		s.row("worktree", InkNone, s.Joined(s.t.start.Worktree, s.t.start.WorkBranch))
	}
	if p := s.t.plan; p != nil {
		s.row("plan", InkNone, s.planWords(*p))
	}
}

// DiffWords writes how large a change is: 2 files, +33 -1 lines.
func DiffWords(d plan.DiffStat) string {
	if d == (plan.DiffStat{}) {
		return "no file"
	}
	return fmt.Sprintf("%s, +%d -%d lines", Count(d.Files, "file"), d.Insertions, d.Deletions)
}

// planWords sizes a plan in one line.
func (l Look) planWords(p plan.PlanDoc) string {
	return l.Joined(
		fmt.Sprintf("version %d", p.Version),
		Count(len(p.Files), "file"),
		Count(lineCount(p.Text), "line"),
	)
}

func (s *summary) spent() {
	u := s.t.Usage
	if u.Requests > 0 || u.Tokens() > 0 {
		s.rowOfParts("tokens", usageWords(u))
		s.row("cost", InkNone, Cost(s.t.Cost, !s.t.Unpriced))
	}
	if in, from := s.t.inherited, s.t.start.ForkedFrom; from != nil && in.Tokens() > 0 {
		s.row(
			"inherited",
			InkDim,
			fmt.Sprintf(
				"%s tokens, %s, spent by run %s",
				Tokens(in.Tokens()),
				Cost(s.t.inheritedCost, s.t.inheritedCost > 0),
				from.Run,
			),
		)
	}
	if s.t.Total <= 0 {
		return
	}
	parts := []string{Duration(s.t.Total)}
	for _, p := range s.t.phaseTimes() {
		parts = append(parts, string(p.phase)+" "+Duration(p.duration))
	}
	if s.t.inChecks > 0 {
		parts = append(parts, "checks "+Duration(s.t.inChecks))
	}
	s.rowOfParts("time", parts)
}

func usageWords(u plan.Usage) []string {
	in := Tokens(u.Input) + " in"
	if u.Input > 0 {
		in += fmt.Sprintf(" (%d%% cached)", u.Cached*100/u.Input)
	}
	out := Tokens(u.Output) + " out"
	if u.Reasoning > 0 {
		out += fmt.Sprintf(" (%s reasoning)", Tokens(u.Reasoning))
	}
	return []string{in, out, Count(u.Requests, "request")}
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
	if s.t.start.Aim == plan.AimAsk {
		commands = commands[:1]
	}
	switch {
	case s.t.state == plan.QuestionAnswered:
		commands = append([]string{`plan ask --continue "…"`, "plan show " + run + " --report"}, commands...)
	case s.t.parked != nil && s.t.parked.Reason == plan.ParkDrift:
		commands = append(driftHelp(s.t.run), commands...)
	case !s.t.state.Final():
		commands = append([]string{resume}, commands...)
	}
	if s.t.state == plan.Approved && s.t.start.Worktree != "" {
		commands = append(commands, "plan apply "+run)
	}
	label := "next"
	for _, c := range append(s.t.decisions(run), commands...) {
		s.row(label, InkCyan, c)
		label = ""
	}
}

// millis is a number of milliseconds as a duration.
func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
