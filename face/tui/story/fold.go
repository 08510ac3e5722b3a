package story

import (
	"fmt"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/amount"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/internal/sanitize"
)

// Add takes the next event, stored or live. Events that were seen are left out.
func (s *Story) Add(e plan.Event) {
	if e.Seq > 0 {
		if e.Seq <= s.Head {
			return
		}
		s.Head, s.Last = e.Seq, e.Time
	}
	if s.Run == "" {
		s.Run, s.Began = e.Run, e.Time
	}
	if e.Turn != nil && e.Parent == "" {
		s.Turn = *e.Turn + 1
	}
	s.Costs.Add(e)
	if !s.addWork(e) {
		s.addMoment(e)
	}
}

// addWork takes what conversations, tools and checks do, and reports whether the event
// was such a one.
func (s *Story) addWork(e plan.Event) bool {
	switch b := e.Body.(type) {
	case plan.PhaseStart:
		s.phaseStart(e, b)
	case plan.PhaseEnd:
		s.phaseEnd(e, b)
	case plan.TurnStart:
		if step := s.stepOf(e.Phase); step != nil && e.Parent == "" {
			step.Turns++
		}
	case plan.Request:
		if e.Parent == "" {
			s.Model = sanitize.Line(b.Model)
		}
		s.say("waiting for "+b.Model, e.Time)
	case plan.MessageUpdate:
		s.update(e, b)
	case plan.MessageEnd:
		s.messageEnd(e, b)
	case plan.Retry:
		s.retry(e, b)
	case plan.ToolStart:
		s.toolStart(e, b)
	case plan.ToolUpdate:
		if block := s.open["call "+e.Conv+" "+b.Call]; block != nil {
			block.Text = appendLive(block.Text, sanitize.Text(b.Text))
			change(block)
		}
	case plan.ToolEnd:
		s.toolEnd(e, b)
	case plan.CheckStart:
		s.checkStart(e, b)
	case plan.Progress:
		s.progress(e, b)
	case plan.CheckEnd:
		s.checkEnd(e, b)
	case plan.UsageReport:
		s.used(e, b)
	default:
		return false
	}
	return true
}

// addMoment takes what happens to the run as a whole.
func (s *Story) addMoment(e plan.Event) {
	switch b := e.Body.(type) {
	case plan.RunStart:
		s.runStart(e, b)
	case plan.StateChange:
		s.addState(e, b)
	case plan.Parked:
		s.parked(e, b)
	case plan.Unparked:
		s.Parked, s.Failure = nil, nil
		s.headline(e)
	case plan.RunEnd:
		s.runEnd(e, b)
	case plan.Failure:
		s.Failure = &b
		block := s.tell(e, Bad, "error", b.Error)
		block.Text, block.Form = sanitize.Text(oneline.Join("\n", b.Error, b.Hint)), Output
	case plan.Report:
		s.reported(e, b)
	case plan.PlanMade:
		s.planned(e, b)
	case plan.WayTaken:
		s.headline(e)
		if step := s.stepOf(plan.Plan); step != nil && step.Attempt == 0 {
			step.Left = true
		}
	case plan.Critiqued:
		s.critiqued(e, b)
	case plan.VerdictGiven:
		s.verdict(e, b)
	case plan.GapChange:
		s.gap(e, b.Gap)
	case plan.Steering:
		s.addLetter(e, b.Text, false)
	case plan.FollowUp:
		s.addLetter(e, b.Text, true)
	case plan.Filtered:
		s.filtered(e, b)
	case plan.ApprovalRequired, plan.Question, plan.ApprovalResolved, plan.Answered:
		s.addDecision(e)
	case plan.CompactionStart:
		s.Window = max(s.Window, b.Window)
	case plan.SkillDraft:
		// The commands about skills tell it.
	default:
		s.headline(e)
	}
}

// headline tells what an event says of itself.
func (s *Story) headline(e plan.Event) {
	h := e.Headline()
	switch h.Level {
	case plan.LevelDetail:
	case plan.LevelInfo:
		s.tell(e, Plain, h.Label, h.Text)
	case plan.LevelWarning:
		s.tell(e, Odd, h.Label, h.Text)
	case plan.LevelError:
		s.tell(e, Bad, h.Label, h.Text)
	}
}

func (s *Story) runStart(e plan.Event, b plan.RunStart) {
	s.Request = sanitize.Text(b.Request)
	title, _, _ := strings.Cut(strings.TrimSpace(b.Request), "\n")
	s.Title = sanitize.Line(firstOf(b.Title, title))
	s.Repo, s.Branch = sanitize.Line(b.Repo), sanitize.Line(b.Branch)
	s.Tree, s.Aim, s.Origin = sanitize.Line(b.Worktree), b.Aim, b.Continues
	s.State = plan.Unstarted
	if b.ForkedFrom != nil {
		s.Began = b.ForkedFrom.Time
	}
	s.add(e, Block{Kind: Prompted, Label: "you", Text: s.Request})
	if b.Aim == plan.AimAsk || b.Aim == plan.AimReview {
		keep := map[plan.Aim]plan.Phase{plan.AimAsk: plan.Explore, plan.AimReview: plan.Review}[b.Aim]
		for i := range s.Steps {
			s.Steps[i].Left = s.Steps[i].Phase != keep
		}
	}
}

func (s *Story) addState(e plan.Event, b plan.StateChange) {
	s.State = b.To
	if b.To == plan.Implementing {
		for i := range s.Steps[:2] {
			s.Steps[i].Left = s.Steps[i].Attempt == 0
		}
	}
	if b.Why != "" && !b.To.Final() {
		s.tell(e, Plain, "next", string(b.To)+": "+b.Why)
	}
}

func (s *Story) stepOf(p plan.Phase) *Step {
	for i := range s.Steps {
		if s.Steps[i].Phase == p {
			return &s.Steps[i]
		}
	}
	return nil
}

func (s *Story) phaseStart(e plan.Event, b plan.PhaseStart) {
	s.Parked = nil
	title := string(e.Phase)
	if e.Attempt > 1 {
		title += fmt.Sprintf(" %d", e.Attempt)
	}
	if b.Resumed {
		title += " (resumed)"
	}
	s.add(e, Block{Kind: Heading, Title: sanitize.Line(title), Note: sanitize.Line(b.Model)})
	s.Turn = 0
	s.say("starting", e.Time)
	if step := s.stepOf(e.Phase); step != nil {
		step.Attempt, step.Mood, step.Began, step.Left = max(e.Attempt, 1), Running, e.Time, false
		step.Turns = 0
	}
}

func (s *Story) phaseEnd(e plan.Event, b plan.PhaseEnd) {
	s.closeAll(e.Time)
	s.say("", e.Time)
	step := s.stepOf(e.Phase)
	if step == nil || step.Mood != Running {
		return
	}
	step.Took += e.Time.Sub(step.Began)
	switch b.Reason {
	case plan.EndCompleted:
		step.Mood = Good
	case plan.EndError:
		step.Mood = Bad
	default:
		step.Mood = Odd
	}
}

// closeAll ends what was open: nothing of it goes on.
func (s *Story) closeAll(at time.Time) {
	for key, b := range s.open {
		b.Mood, b.Took = Odd, at.Sub(b.Began)
		change(b)
		delete(s.open, key)
	}
	for conv, b := range s.live {
		b.Mood = Odd
		change(b)
		delete(s.live, conv)
	}
	s.running = nil
}

func (s *Story) parked(e plan.Event, b plan.Parked) {
	s.closeAll(e.Time)
	s.Parked = &b
	s.say("", e.Time)
	words := string(b.Reason)
	if b.Detail != "" {
		words += ": " + b.Detail
	}
	if b.WakeAt != nil {
		words += ", can go on after " + b.WakeAt.UTC().Format("15:04:05 UTC")
	}
	s.tell(e, Odd, "parked", words)
}

// endWords say what came of the run.
func endWords(b plan.RunEnd) string {
	words := string(b.Outcome)
	if b.Outcome == plan.Approved {
		words = plan.ApprovedWith(b.Checks.Failed)
	}
	if b.Diff.Files > 0 {
		words += fmt.Sprintf(
			" · %s, +%d -%d",
			amount.Count(int64(b.Diff.Files), "file"),
			b.Diff.Insertions,
			b.Diff.Deletions,
		)
	}
	return sanitize.Line(words)
}

// Standing says how the run stands, in words.
func (s *Story) Standing() string {
	switch {
	case s.End != nil:
		return endWords(*s.End)
	case s.Parked != nil:
		return sanitize.Line("parked: " + string(s.Parked.Reason))
	}
	return string(s.Step().Phase)
}

func (s *Story) runEnd(e plan.Event, b plan.RunEnd) {
	s.closeAll(e.Time)
	s.End, s.State, s.Parked = &b, b.Outcome, nil
	s.say("", e.Time)
	for i := range s.Letters {
		s.Letters[i].Lost = s.Letters[i].Heard == 0
	}
	mood := Good
	if b.Outcome.ExitCode() != plan.ExitOK {
		mood = Bad
	}
	var rest []string
	for _, list := range []struct {
		name  string
		lines []string
	}{{"open", b.Open}, {"accepted", b.Accepted}, {"note", b.Notes}} {
		for _, line := range list.lines {
			rest = append(rest, list.name+": "+line)
		}
	}
	s.add(e, Block{
		Kind:  Ended,
		Mood:  mood,
		Label: "end",
		Title: endWords(b),
		Took:  e.Time.Sub(s.Began),
		Text:  sanitize.Text(strings.Join(rest, "\n")),
		Form:  Output,
	})
}

func (s *Story) used(e plan.Event, b plan.UsageReport) {
	if e.Parent == "" {
		s.Context = b.Usage.Input + b.Usage.Output
	}
}

func (s *Story) critiqued(e plan.Event, b plan.Critiqued) {
	switch {
	case b.Error != "":
		s.tell(e, Odd, "critique", "it failed: "+b.Error)
	case b.Findings == "":
		s.tell(e, Good, "critique", "nothing was found")
	default:
		block := s.tell(e, Odd, "critique", firstLine(b.Findings))
		block.Text = sanitize.Text(b.Findings)
	}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// firstLine is the first line of a text that says something, with a mark where there
// is more.
func firstLine(text string) string {
	text = strings.TrimSpace(text)
	if line, _, more := strings.Cut(text, "\n"); more {
		return strings.TrimSpace(line) + " …"
	}
	return text
}
