package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
)

// narrator tells a run in lines. The plain viewer, the screen and the timeline
// all speak through it.
type narrator struct {
	Look
	opts Options
	// textRows is how many rows of an assistant's text are shown; 0 means all.
	textRows int
	margin   int // columns at the left that the caller fills
	tally    *Tally
	calls    map[string]Span   // started calls by conversation and id: what they are about
	asked    map[string]string // questions by call
}

func newNarrator(opts Options) *narrator {
	return &narrator{
		Look:  NewLook(opts),
		opts:  opts,
		tally: opts.Before.Clone(),
		calls: map[string]Span{},
		asked: map[string]string{},
	}
}

// Columns is the width of a line. The last column of a terminal stays free:
// a character there makes some of them wrap.
func (n *narrator) Columns() int { return max(min(n.opts.Columns()-1-n.margin, MaxColumns), 20) }

// labelPad aligns what stands behind glyph and name.
func labelPad(label string) string { return padTo(SafeLine(label), labelColumns) }

// labelColumns is the width of the longest tool name, and restColumn where the
// Text behind a label begins.
const (
	labelColumns = len("apply_patch")
	restColumn   = len("  x ") + labelColumns + len(" ")
)

// labelled draws a line of one glyph, a label and a text, wrapped.
func (n *narrator) labelled(glyph string, k Ink, label, text string) []string {
	return n.hang(n.Columns(), []Span{{Text: "  "}, {
		Ink:  k,
		Text: glyph,
	}, {Text: " " + labelPad(label) + " "}}, InkNone, text)
}

// headline tells what an event says of itself.
func (n *narrator) headline(h plan.Headline) []string {
	if h.Level == plan.LevelDetail {
		return nil
	}
	return n.labelled(n.note, inkOfLevel(h.Level), h.Label, h.Text)
}

func inkOfLevel(l plan.Level) Ink {
	switch l {
	case plan.LevelWarning:
		return InkYellow
	case plan.LevelError:
		return InkRed
	}
	return InkDim
}

// letterLines tells what a person said while the run went on, where the model heard it.
func (n *narrator) letterLines(how, text string) []string {
	return n.labelled(n.note, InkCyan, "you", how+": "+text)
}

// waitingWords say what a person is asked about.
func (n *narrator) waitingWords(b plan.ApprovalRequired) string {
	if b.Name == plan.PlanTool {
		return fmt.Sprintf("version %d of the plan", b.Version)
	}
	return b.Name + ": " + n.tellingArgument(b.Name, b.Args).Text
}

// decided tells what was decided about a call or a plan, and by whom.
func (n *narrator) decided(b plan.ApprovalResolved) []string {
	glyph, k, word := n.ok, InkGreen, "allowed"
	if !b.Approved {
		glyph, k, word = n.refused, InkYellow, "denied"
	}
	text := orElse(n.asked[b.Call], b.Call)
	switch b.Scope {
	case plan.ScopeRun:
		text += " (and what is like it, for this run)"
	case plan.ScopeAlways:
		text += " (and what is like it, always)"
	}
	if b.By != "" && b.By != "person" {
		text += " (by " + b.By + ")"
	}
	if b.Reason != "" {
		text += ": " + b.Reason
	}
	return n.labelled(glyph, k, word, text)
}

// answered tells a question that no person was asked, and what was done about it.
func (n *narrator) answered(b plan.Answered) []string {
	question := n.asked[b.Call]
	if b.By == "person" || question == "" {
		return nil
	}
	return append(
		n.labelled(n.note, InkYellow, "question", question),
		n.labelled(n.note, InkYellow, "answer", b.Text+" (no person was asked)")...,
	)
}

// stateChange tells a move that has a reason. The end is the summary's.
func (n *narrator) stateChange(b plan.StateChange) []string {
	if b.Why == "" || b.To.Final() {
		return nil
	}
	return n.labelled(n.Arrow, InkDim, "next", string(b.To)+": "+b.Why)
}

// request tells that a request did not begin as the one before it, which costs
// the cache of the server.
func (n *narrator) request(b plan.Request) []string {
	if !n.opts.Verbose || b.Moved == "" {
		return nil
	}
	return n.labelled(n.note, InkYellow, "prefix", "moved: "+b.Moved)
}

func (n *narrator) snapshot(b plan.Snapshot) []string {
	if !n.opts.Verbose {
		return nil
	}
	return n.labelled(n.note, InkDim, "snapshot", b.Label+" "+b.Tree)
}

func (n *narrator) runStart(e plan.Event, b plan.RunStart) []string {
	where := []string{b.Repo}
	switch {
	case b.Branch != "":
		where = append(where, b.Branch+" @ "+shortHash(b.Base))
	case b.Base != "":
		where = append(where, "detached @ "+shortHash(b.Base))
	}
	if b.Dirty {
		where = append(where, "dirty")
	}
	width := n.Columns()
	row := func(label, text string, keepEnd bool) string {
		return n.fill(width, []Span{{
			Ink:  InkDim,
			Text: "  " + padTo(label, labelColumns+2) + " ",
		}}, Span{
			Text:    text,
			keepEnd: keepEnd,
		}, nil)
	}
	return []string{
		n.PaintAll([]Span{{Ink: InkBold, Text: "plan "}, {Ink: InkBold, Text: string(e.Run)}}),
		row("repo", n.Joined(where...), true),
		row("models", n.Joined(modelWords(b.Models)...), false),
		row("request", n.firstLine(b.Request), false),
	}
}

// modelWords lists models with the phases that use them, or just the model
// when all phases use the same one.
func modelWords(models map[plan.Phase]string) []string {
	var phases, names []string
	add := func(phase, model string) {
		i := slices.Index(names, model)
		if i < 0 {
			names, phases = append(names, model), append(phases, phase)
			return
		}
		phases[i] += ", " + phase
	}
	for _, p := range plan.Phases() {
		if m, ok := models[p]; ok {
			add(string(p), m)
		}
	}
	if len(names) == 1 {
		return names
	}
	for i := range names {
		names[i] = phases[i] + " " + names[i]
	}
	return names
}

func shortHash(hash string) string { return hash[:min(len(hash), 8)] }

func (n *narrator) phaseStart(e plan.Event, b plan.PhaseStart) []string {
	title := string(e.Phase)
	if e.Attempt > 1 {
		title += fmt.Sprintf(" %d", e.Attempt)
	}
	if b.Resumed {
		title += " (resumed)"
	}
	return []string{"", n.Heading(n.Columns(), InkCyan, title, b.Model)}
}

func (n *narrator) phaseEnd(b plan.PhaseEnd) []string {
	if len(n.tally.Phases) == 0 {
		return nil
	}
	p := n.tally.Phases[len(n.tally.Phases)-1]
	words := []string{phaseEndWord(b.Reason) + " after " + Duration(p.Took), Count(p.Turns, "turn")}
	if p.Tools > 0 {
		words = append(words, Count(p.Tools, "tool call"))
	}
	if tokens := p.Usage.Tokens(); tokens > 0 {
		used := Tokens(tokens) + " tokens"
		if p.Usage.Input > 0 {
			used += fmt.Sprintf(", %d%% cached", p.Usage.Cached*100/p.Usage.Input)
		}
		words = append(words, used, Cost(p.Cost, !p.Unpriced))
	}
	k := InkDim
	if b.Reason != plan.EndCompleted {
		k = InkYellow
	}
	return n.hangParts(n.Columns(), []Span{{Text: "  "}}, k, words...)
}

func phaseEndWord(reason string) string {
	switch reason {
	case plan.EndError:
		return "failed"
	case plan.EndLimit:
		return "stopped by a limit"
	}
	return reason
}

// messageEnd shows what an assistant said. What a sub-agent says is for its
// parent, and what stands before the first turn was said before this run.
func (n *narrator) messageEnd(e plan.Event, b plan.MessageEnd) []string {
	if b.Role != plan.RoleAssistant || b.Discarded || e.Turn == nil || e.Parent != "" && !n.opts.Verbose {
		return nil
	}
	flow := n.flow(e.Phase)
	rows := append(flow.add(spokenText(b.Message)), flow.end()...)
	answers := n.tally.start.Aim == plan.AimAsk // which is what the person wants to read
	if extra := len(rows) - n.textRows; n.textRows > 0 && extra > 0 && !answers {
		rows = slices.Clip(rows[:n.textRows])
		if rows[n.textRows-1] == "" {
			rows = rows[:n.textRows-1]
		}
		rows = append(rows, n.Paint(InkDim, fmt.Sprintf("    %s %s more", n.cut, Count(extra, "line"))))
	}
	return rows
}

func (n *narrator) checkEnd(b plan.CheckEnd) []string {
	glyph, k, word := n.ok, InkGreen, passWord(&b.CheckResult)
	switch {
	case b.Cancelled:
		glyph, k, word = n.unsure, InkYellow, "----"
	case !b.Passed():
		glyph, k = n.fail, InkRed
	}
	note := checkNote(b.CheckResult)
	label := "check"
	switch b.Evidence {
	case plan.TreeReviewed:
		label, note = "evidence", "  on the work"
	case plan.TreeCounter:
		label, note = "evidence", "  without the change"
	}
	if b.Evidence != "" && !b.Cancelled {
		glyph, k, word = n.note, InkDim, fmt.Sprintf("%4d", b.ExitCode)
	}
	most := 3
	if base := n.tally.baselineOf(b.Command); b.Evidence != "" {
		most = 0
	} else if b.Baseline {
		note += "  baseline"
		most = 1
	} else if base != nil && base.Passed() != b.Passed() && !b.Cancelled {
		note += "  baseline " + passWord(base)
	}
	if n.opts.Verbose {
		most = 20
	}
	lines := []string{n.fill(n.Columns(),
		[]Span{{Text: "  "}, {Ink: k, Text: glyph}, {Text: " " + labelPad(label) + " "}, {Ink: k, Text: word + " "}},
		Span{Text: n.firstLine(b.Command)},
		[]Span{{Ink: InkDim, Text: note}, {Ink: InkDim, Text: fmt.Sprintf("%8s", Duration(millis(b.DurationMS)))}})}
	if b.Passed() || b.Cancelled || b.Evidence != "" {
		return lines
	}
	return append(lines, n.output("      ", lastLines(b.Output, most))...)
}

func (n *narrator) verdictGiven(b plan.VerdictGiven) []string {
	k, word := verdictWord(b.Judgement)
	glyph := n.fail
	if b.Approved {
		glyph = n.ok
	}
	head := []Span{{Text: "  "}, {Ink: k, Text: glyph}, {Text: " " + labelPad("verdict") + " "}}
	lines := n.hang(n.Columns(), append(head, Span{Ink: k, Text: word + "  "}), InkNone, b.Why)
	if note := checklistNote(b.Judgement); note != "" {
		lines = append(
			lines,
			n.hang(n.Columns(), []Span{{Text: strings.Repeat(" ", n.measure(head))}}, InkDim, note)...)
	}
	return lines
}

func (n *narrator) gapChange(b plan.GapChange) []string {
	glyph, k := n.open, InkYellow
	switch b.Status {
	case plan.GapClosed:
		glyph, k = n.ok, InkGreen
	case plan.GapReopened:
		glyph = n.again
	}
	words := b.ID + " " + string(b.Status)
	if b.Severity != "" {
		words += " (" + b.Severity + ")"
	}
	return n.labelled(glyph, k, "gap", words+": "+b.Gap.Gap)
}

func (n *narrator) planMade(b plan.PlanMade) []string {
	lines := n.labelled(n.note, InkDim, "plan", n.planWords(b.PlanDoc))
	for _, command := range b.Verify {
		lines = append(lines, n.fill(n.Columns(), []Span{{
			Ink:  InkDim,
			Text: strings.Repeat(" ", restColumn) + "verify: ",
		}}, Span{Text: n.firstLine(command)}, nil))
	}
	return lines
}

func (n *narrator) failed(b plan.Failure) []string {
	lines := n.labelled(n.fail, InkRed, "error", b.Error)
	if b.Hint != "" {
		lines = append(lines, n.hang(n.Columns(), []Span{{Text: strings.Repeat(" ", restColumn)}}, InkDim, b.Hint)...)
	}
	return lines
}

// parkedWords says why a run is parked and when it can go on.
func parkedWords(b plan.Parked) string {
	words := string(b.Reason)
	if b.Detail != "" {
		words += ": " + b.Detail
	}
	if b.WakeAt != nil {
		words += ", go on after " + b.WakeAt.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return words
}
