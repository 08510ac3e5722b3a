package story

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/internal/sanitize"
	"github.com/plan-engine/plan/tools"
)

// update takes a piece of what a model is writing. What sub-agents write is for the
// one that sent them.
func (s *Story) update(e plan.Event, b plan.MessageUpdate) {
	switch b.Kind {
	case plan.BlockReasoning:
		s.say("thinking", e.Time)
	case plan.BlockToolCall:
		s.say("calling "+b.Name, e.Time)
		return
	default:
		s.say("answering", e.Time)
	}
	if e.Parent != "" {
		return
	}
	kind := Reply
	if b.Kind == plan.BlockReasoning {
		kind = Thought
	}
	block := s.live[e.Conv]
	if block == nil || block.Kind != kind {
		if block != nil {
			block.Mood = Plain
			change(block)
		}
		label := ""
		if kind == Thought {
			label = "thinking"
		}
		block = s.add(e, Block{Kind: kind, Mood: Running, Label: label})
		s.live[e.Conv] = block
	}
	block.Text = appendLive(block.Text, sanitize.Text(b.Text))
	block.Took = e.Time.Sub(block.Began)
	change(block)
}

// drop marks what was shown of a message as no part of the conversation.
func (s *Story) drop(conv, why string) {
	block := s.live[conv]
	if block == nil {
		return
	}
	block.Mood, block.Note = Odd, "discarded: "+why
	change(block)
	delete(s.live, conv)
}

func (s *Story) retry(e plan.Event, b plan.Retry) {
	s.drop(e.Conv, "the answer broke off")
	wait := time.Duration(b.WaitMS) * time.Millisecond
	s.headline(e)
	s.say(fmt.Sprintf("retry %d: %s", b.Attempt, b.Reason), e.Time)
	s.until = e.Time.Add(wait)
}

// messageEnd replaces what was streamed by what was said. What is said before the
// first turn was said before this run; what a sub-agent says is for its parent.
//
//nolint:gocognit // it reads from top to bottom
func (s *Story) messageEnd(e plan.Event, b plan.MessageEnd) {
	if b.Role == plan.RoleUser {
		if b.Origin == plan.OriginNotice || b.Origin == plan.OriginHook || b.Origin == plan.OriginDrift {
			block := s.tell(e, Plain, b.Origin, firstLine(b.Text()))
			block.Text = sanitize.Text(b.Text())
		}
		return
	}
	if b.Role != plan.RoleAssistant || e.Turn == nil || e.Parent != "" {
		return
	}
	s.say("", e.Time)
	if b.Discarded {
		s.drop(e.Conv, firstOf(b.Stop, "the answer broke off"))
		return
	}
	live := s.live[e.Conv]
	delete(s.live, e.Conv)
	var thought strings.Builder
	for _, block := range b.Blocks {
		if block.Type == plan.BlockReasoning {
			thought.WriteString(block.Text)
		}
	}
	text := sanitize.Text(b.Text())
	streamed := false
	for i := len(s.Blocks) - 1; i >= 0 && live != nil; i-- {
		block := s.Blocks[i]
		if block.Kind != Reply && block.Kind != Thought || block.Seq != 0 {
			break
		}
		switch {
		case block.Kind == Thought && thought.Len() > 0:
			block.Text = sanitize.Text(thought.String())
			thought.Reset()
		case block.Kind == Reply && text != "":
			block.Text, streamed = text, true
		}
		block.Mood, block.Seq = Plain, e.Seq
		change(block)
	}
	if thought.Len() > 0 {
		s.add(e, Block{Kind: Thought, Label: "thinking", Text: sanitize.Text(thought.String())})
	}
	if !streamed && strings.TrimSpace(text) != "" {
		s.add(e, Block{Kind: Reply, Text: text})
	}
}

func (s *Story) toolStart(e plan.Event, b plan.ToolStart) {
	call := tools.Describe(b.Name, b.Args, "")
	block := s.add(e, Block{
		Kind:   Call,
		Mood:   Running,
		Label:  sanitize.Line(b.Name),
		Title:  sanitize.Line(firstLine(call.Title) + call.Detail),
		IsPath: call.IsPath,
		Form:   Output,
	})
	block.Args = sanitize.Text(plan.ShownCall("", b.Args))
	if tools.PurposeOf(b.Name) == tools.Modify {
		if diff := diffOf(b.Args); diff != "" {
			block.Args, block.Form = sanitize.Text(diff), Diff
		}
	}
	s.open["call "+e.Conv+" "+b.Call] = block
	s.running = append(s.running, block)
}

func (s *Story) toolEnd(e plan.Event, b plan.ToolEnd) {
	key := "call " + e.Conv + " " + b.Call
	block := s.open[key]
	if block == nil {
		block = s.add(e, Block{Kind: Call, Label: sanitize.Line(b.Name), Form: Output})
	}
	delete(s.open, key)
	s.stopped(block)
	block.Took = time.Duration(b.DurationMS) * time.Millisecond
	block.Mood, block.Note, block.Blob = Good, "", b.Blob
	block.Text = sanitize.Text(b.Output)
	failed := b.ExitCode != nil && *b.ExitCode != 0
	switch {
	case b.Status == "refused" || b.Status == "invalid" || b.Status == "unknown" || b.Status == "cancelled":
		block.Mood, block.Note = Odd, b.Status
	case b.Status != "":
		block.Mood, block.Note = Bad, b.Status
	case failed:
		block.Mood, block.Note = Bad, fmt.Sprintf("exit %d", *b.ExitCode)
	case b.Error:
		block.Mood, block.Note = Bad, "failed"
	}
	block.Note = sanitize.Line(block.Note)
	change(block)
}

func checkKey(c plan.Check, baseline bool, evidence string) string {
	return fmt.Sprintf("check %v %s %s", baseline, evidence, c.Command)
}

func (s *Story) checkStart(e plan.Event, b plan.CheckStart) {
	block := s.add(e, Block{
		Kind:  Check,
		Mood:  Running,
		Label: checkLabel(b.Evidence),
		Title: sanitize.Line(firstLine(b.Command)),
		Form:  Output,
	})
	block.Args = sanitize.Text(b.Command)
	s.open[checkKey(b.Check, b.Baseline, b.Evidence)] = block
	s.running = append(s.running, block)
}

func checkLabel(evidence string) string {
	if evidence != "" {
		return "evidence"
	}
	return "check"
}

// progress is a word about what takes a while: the output of a check that runs, or
// what goes on.
func (s *Story) progress(e plan.Event, b plan.Progress) {
	if len(s.running) > 0 {
		last := s.running[len(s.running)-1]
		if b.Of == "" && last.Kind == Check {
			last.Text = appendLive(last.Text, ended(sanitize.Text(b.Text)))
			change(last)
		}
		return
	}
	s.say(firstLine(b.Text), e.Time)
}

func (s *Story) checkEnd(e plan.Event, b plan.CheckEnd) {
	key := checkKey(b.Check, b.Baseline, b.Evidence)
	block := s.open[key]
	if block == nil {
		block = s.add(e, Block{
			Kind:  Check,
			Label: checkLabel(b.Evidence),
			Title: sanitize.Line(firstLine(b.Command)),
			Form:  Output,
		})
	}
	delete(s.open, key)
	s.stopped(block)
	block.Took = time.Duration(b.DurationMS) * time.Millisecond
	block.Text, block.Blob = sanitize.Text(b.Output), b.Blob
	block.Mood = Good
	switch {
	case b.Cancelled:
		block.Mood = Odd
	case !b.Passed() && b.Evidence != "":
		block.Mood = Plain
	case !b.Passed():
		block.Mood = Bad
	}
	block.Note = sanitize.Line(s.checkNote(b.CheckResult))
	change(block)
	if b.Evidence != "" || b.Cancelled {
		return
	}
	if b.Baseline {
		s.Baseline = keep(s.Baseline, b.CheckResult)
	} else {
		s.Checks = keep(s.Checks, b.CheckResult)
	}
}

// keep puts the newest result of a check in the place of an earlier one.
func keep(results []plan.CheckResult, r plan.CheckResult) []plan.CheckResult {
	for i := range results {
		if results[i].Command == r.Command {
			results[i] = r
			return results
		}
	}
	return append(results, r)
}

// BaselineOf is what a check said before the work, nil where it did not run.
func (s *Story) BaselineOf(command string) *plan.CheckResult {
	for i := range s.Baseline {
		if s.Baseline[i].Command == command {
			return &s.Baseline[i]
		}
	}
	return nil
}

// CheckWord says in a word how a check came out.
func CheckWord(r plan.CheckResult) string {
	switch {
	case r.Cancelled:
		return "stopped"
	case r.Skipped != "":
		return "skipped"
	case r.NotStarted != "":
		return "cannot start"
	case r.TimedOut:
		return "timed out"
	case r.Flaky:
		return "flaky"
	case r.Passed():
		return "passed"
	}
	return fmt.Sprintf("exit %d", r.ExitCode)
}

func (s *Story) checkNote(r plan.CheckResult) string {
	parts := []string{CheckWord(r)}
	if r.Tests.Ran() && r.Tests.Passed >= 0 && r.Tests.Failed >= 0 {
		parts = append(parts, fmt.Sprintf("%d/%d tests", r.Tests.Passed, r.Tests.Passed+r.Tests.Failed))
	}
	if r.Cached {
		parts = append(parts, "known")
	}
	switch r.Evidence {
	case plan.TreeReviewed:
		parts = append(parts, "on the work")
	case plan.TreeCounter:
		parts = append(parts, "without the change")
	case plan.TreeStart:
		parts = append(parts, "before the run")
	}
	base := s.BaselineOf(r.Command)
	switch {
	case r.Baseline:
		parts = append(parts, "baseline")
	case base != nil && base.Passed() != r.Passed() && r.Evidence == "":
		parts = append(parts, "baseline "+CheckWord(*base))
	}
	return strings.Join(parts, ", ")
}

// verdict tells what the reviewer says, and what the engine makes of it.
func (s *Story) verdict(e plan.Event, b plan.VerdictGiven) {
	mood := Bad
	if b.Approved {
		mood = Good
	}
	var text bytes.Buffer
	for _, item := range b.Checklist {
		mark := "[ ]"
		if item.Met {
			mark = "[x]"
		}
		fmt.Fprintf(&text, "- %s %s", mark, oneline.Of(item.Item))
		if item.Evidence != "" {
			fmt.Fprintf(&text, " (%s)", oneline.Of(item.Evidence))
		}
		text.WriteByte('\n')
	}
	for _, note := range b.Notes {
		fmt.Fprintf(&text, "- note: %s\n", oneline.Of(note))
	}
	s.add(e, Block{
		Kind:  Verdict,
		Mood:  mood,
		Label: "verdict",
		Title: sanitize.Line(b.Word() + ": " + b.Why),
		Text:  sanitize.Text(text.String()),
	})
}

func (s *Story) gap(e plan.Event, g plan.Gap) {
	known := false
	for i := range s.Gaps {
		if s.Gaps[i].ID == g.ID {
			s.Gaps[i].Status, known = g.Status, true
			if g.Gap != "" {
				s.Gaps[i].Gap = g.Gap
			}
		}
	}
	if !known {
		s.Gaps = append(s.Gaps, g)
	}
	mood := Odd
	if !g.Open() {
		mood = Good
	}
	s.add(e, Block{
		Kind:  Gap,
		Mood:  mood,
		Label: sanitize.Line(g.ID),
		Title: sanitize.Line(oneline.Join(" ", string(g.Status), g.Severity) + ": " + g.Gap),
	})
}
