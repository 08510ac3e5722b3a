package render

import (
	"slices"

	"github.com/plan-engine/plan"
)

// This file has each view's choice of events: how it tells those for which it has a
// way of its own, and which it leaves to others. Any other is told by its headline.

// lines tells one event to a person, in as many lines as it deserves: often
// none. The plain viewer, the screen and the timeline tell a run with it.
func (n *narrator) lines(e plan.Event) []string {
	n.tally.Add(e)
	switch b := e.Body.(type) {
	case plan.RunStart:
		return n.runStart(e, b)
	case plan.StateChange:
		return n.stateChange(b)
	case plan.Parked:
		return n.labelled(n.halt, InkYellow, "parked", parkedWords(b))
	case plan.Unparked:
		return n.labelled(n.again, InkGreen, "resumed", "it was parked: "+string(b.Reason))
	case plan.Failure:
		return n.failed(b)
	case plan.PhaseStart:
		return n.phaseStart(e, b)
	case plan.PhaseEnd:
		return n.phaseEnd(b)
	case plan.Request:
		return n.request(b)
	case plan.Retry:
		return n.labelled(n.again, InkYellow, "retry", b.Headline().Text)
	case plan.MessageEnd:
		return n.messageEnd(e, b)
	case plan.ToolStart:
		n.calls[e.Conv+"\x00"+b.Call] = n.tellingArgument(b.Name, b.Args)
	case plan.ToolEnd:
		return n.toolLines(n.finished(e, b))
	case plan.CompactionStart:
		return n.windowLearnt(b)
	case plan.Adjusted:
		return n.adjusted(b)
	case plan.Route:
		return n.oneLine(n.note, InkDim, "model", b.Headline().Text)
	case plan.LimitHit:
		return n.labelled(n.halt, InkYellow, "limit", b.Headline().Text)
	case plan.Report:
		if b.Text != "" { // a short way has none
			return n.labelled(n.note, InkDim, "report", Count(lineCount(b.Text), "line"))
		}
	case plan.PlanMade:
		return n.planMade(b)
	case plan.Critiqued:
		return n.labelled(n.note, InkYellow, "critique", critiqueWords(b))
	case plan.CheckEnd:
		return n.checkEnd(b)
	case plan.VerdictGiven:
		return n.verdictGiven(b)
	case plan.GapChange:
		return n.gapChange(b)
	case plan.Snapshot:
		return n.snapshot(b)
	case plan.Drift:
		return n.labelled(n.halt, InkYellow, "drift", driftNote(b))

	case plan.Question:
		n.asked[b.Call] = b.Question // a person who is asked is shown it where they answer
	case plan.Answered:
		return n.answered(b)
	case plan.Steering:
		return n.letterLines("guidance", b.Text)
	case plan.FollowUp:
		return n.letterLines("follow-up", b.Text)
	case plan.ApprovalRequired:
		n.asked[b.Call] = n.waitingWords(b) // the person who is asked is shown it where they answer
	case plan.ApprovalResolved:
		return n.decided(b)

	case plan.RunEnd:
		// The summary tells it.
	case plan.CompactionEnd, plan.Pruned, plan.StormBroken, plan.HookRan:
		// The transcript and the results of calls tell what they changed.
	case plan.SkillDraft:
		// The commands about skills tell what was learned.
	default:
		return n.headline(e.Headline())
	}
	return nil
}

// count takes what the summary at the end tells. How it came to that is for the timeline
// and the transcript.
func (t *Tally) count(e plan.Event) {
	switch b := e.Body.(type) {
	case plan.RunStart:
		t.start, t.state = b, plan.Unstarted
	case plan.StateChange:
		t.addMove(b)
	case plan.Parked:
		t.parked = &b
	case plan.Unparked:
		t.parked, t.failure = nil, nil
	case plan.RunEnd:
		t.addEnd(b)
	case plan.Failure:
		t.failure = &b
	case plan.PhaseStart, plan.PhaseEnd, plan.MessageEnd, plan.ToolEnd, plan.UsageReport:
		t.addWork(e)
	case plan.Report:
		t.report = b.Text
	case plan.PlanMade:
		t.plan = &b.PlanDoc
	case plan.CheckEnd:
		t.addCheck(b.CheckResult)
	case plan.VerdictGiven:
		t.Verdict = &b
	case plan.GapChange:
		t.Gaps = plan.PutGap(t.Gaps, b.Gap)
	case plan.FindingMade:
		t.findings = append(t.findings, b.Finding)
	case plan.Drift:
		t.drifts = append(t.drifts, b)
	case plan.Snapshot:
		for _, path := range b.LeftOut {
			if !slices.Contains(t.leftOut, path) {
				t.leftOut = append(t.leftOut, path)
			}
		}
	}
}

// mark tells what happened to a conversation from outside, between its messages
// and the results of its calls.
func (s *transcriptWriter) mark(e plan.Event) {
	switch b := e.Body.(type) {
	case plan.PhaseStart:
		s.phase(e, b)
	case plan.Adjusted:
		s.head(InkDim, "note", b.String())
	case plan.CompactionStart:
		if words := learntWords(b); words != "" {
			s.head(InkYellow, "context", words)
		}
	case plan.CompactionEnd:
		if b.Messages != nil {
			s.head(InkYellow, "compaction", compactedWords(b))
		}
	case plan.Pruned:
		s.head(InkYellow, "prune", Count(len(b.Calls), "result")+" taken out of what the model reads")
	case plan.StormBroken:
		s.head(InkYellow, "storm", b.Notice)
	case plan.ApprovalRequired:
		s.head(InkYellow, "waits for a yes", b.Name)
		if b.Name != plan.PlanTool { // which stands above
			s.body(InkNone, plan.ShownCall(b.Effect, b.Args))
		}
	case plan.ApprovalResolved:
		word := "denied"
		if b.Approved {
			word = "allowed"
		}
		s.head(InkYellow, word, b.Reason)
	case plan.Parked:
		s.head(InkYellow, "parked", parkedWords(b))
	case plan.Failure:
		s.head(InkRed, "error", b.Error)

	case plan.MessageEnd, plan.ToolEnd, plan.Steering, plan.FollowUp, plan.Filtered, plan.Question, plan.Answered:
		// They are, or end as, messages and results of calls: utteranceOf takes them.
	case plan.PhaseEnd, plan.Unparked, plan.Retry:
		// What goes on around an utterance is for the timeline.
	case plan.RunStart, plan.RunEnd, plan.StateChange, plan.SettingsChanged, plan.LimitHit,
		plan.Report, plan.WayTaken, plan.PlanMade, plan.Critiqued, plan.Drift,
		plan.CheckEnd, plan.VerdictGiven, plan.GapChange, plan.FindingMade,
		plan.HookRan, plan.SkillDraft:
		// They happen to the run and not to a conversation.
	default:
		if h := e.Headline(); h.Level != plan.LevelDetail {
			s.head(inkOfLevel(h.Level), h.Label, h.Text)
		}
	}
}
