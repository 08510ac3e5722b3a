package acp

import (
	"fmt"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/sanitize"
)

// telling makes updates of a session from the events of its runs. It is used from one
// goroutine at a time.
type telling struct {
	session *session
	out     *outbox
	steps   steps
	// past says that the events are told from the journal: nothing of them was seen
	// as it came.
	past bool
	// streamed is the conversation and turn whose text was shown as it came.
	streamed string
	checks   map[checkKey]int
	begun    int // checks
}

func newTelling(s *session) *telling {
	return &telling{
		session: s,
		out:     newOutbox(s),
	}
}

// face is how a run of this session is shown, and who is asked.
func (t *telling) face() host.Face {
	return host.Face{
		Begin: func(_ plan.RunID, past []plan.Event) {
			for _, ev := range past {
				t.steps.see(ev)
			}
		},
		Show: t.show,
		Note: func(text string) { t.think(text + "\n") },
		Person: person{
			session: t.session,
			telling: t,
		},
	}
}

// flush waits until the editor has what was told.
func (t *telling) flush() { t.out.flush() }

func (t *telling) update(u sdk.SessionUpdate) { t.out.add(u) }

// say tells something as the agent's words.
func (t *telling) say(text string) { t.update(sdk.UpdateAgentMessageText(clean(text))) }

// think tells something that is beside the work.
func (t *telling) think(text string) { t.update(sdk.UpdateAgentThoughtText(clean(text))) }

// show tells an event.
func (t *telling) show(ev plan.Event) {
	if t.steps.see(ev) {
		t.update(sdk.UpdatePlan(t.steps.entries()...))
	}
	if ev.Parent != "" {
		return // a sub-agent's own words and calls; its result is its caller's
	}
	switch b := ev.Body.(type) {
	case plan.RunStart:
		if t.past {
			t.update(sdk.UpdateUserMessageText(clean(b.Request)))
		}
	case plan.MessageUpdate:
		t.stream(ev, b)
	case plan.MessageEnd:
		t.message(ev, b)
	case plan.ToolStart:
		t.update(toolStarts(b, t.root()))
	case plan.ToolUpdate:
		t.out.addOutput(sdk.ToolCallId(b.Call), b.Text)
	case plan.ToolEnd:
		t.update(toolEnds(b))
	case plan.CheckStart:
		t.update(checkStarts(t.checkBegins(b), b))
	case plan.CheckEnd:
		t.update(checkEnds(t.checkEnds(b), b))
	case plan.Steering:
		t.personText(b.Text)
	case plan.FollowUp:
		t.personText(b.Text)
	case plan.Retry:
		t.streamed = ""
		t.think(fmt.Sprintf("%s; asked again\n", b.Reason))
	case plan.VerdictGiven:
		t.say(verdictText(b.Judgement))
	case plan.Question:
		t.say(questionText(b))
	case plan.Failure:
		t.say("\n\nError: " + b.Error + "\n" + b.Hint + "\n")
	case plan.Parked:
		t.say(parkedText(ev.Run, b))
	case plan.RunEnd:
		t.say(endText(b))
	case plan.Critiqued:
		if b.Findings != "" {
			t.think(b.Findings + "\n")
		}
	case plan.GapChange, plan.FindingMade, plan.StateChange, plan.PhaseStart, plan.PhaseEnd, plan.PlanMade,
		plan.Report:
		// The verdict, the end and the entries of the plan tell it.
	case plan.ApprovalRequired, plan.ApprovalResolved, plan.Answered, plan.Unparked, plan.Drift:
		// The person was asked, and knows.
	case plan.SettingsChanged, plan.HookRan, plan.Pruned, plan.CompactionEnd, plan.SkillDraft, plan.Route,
		plan.Adjusted:
		// How the work is done; `plan events` has all of it.
	default:
		t.headline(ev.Headline())
	}
}

// headline tells what an event says of itself.
func (t *telling) headline(h plan.Headline) {
	switch h.Level {
	case plan.LevelDetail:
	case plan.LevelInfo, plan.LevelWarning:
		t.think(h.String() + "\n")
	case plan.LevelError:
		t.say("\n\n" + h.String() + "\n")
	}
}

// checkKey tells checks that go on at the same time apart.
type checkKey struct {
	command, evidence string
	baseline          bool
}

// checkBegins numbers a check that begins.
func (t *telling) checkBegins(b plan.CheckStart) int {
	if t.checks == nil {
		t.checks = map[checkKey]int{}
	}
	t.begun++
	t.checks[checkKey{b.Command, b.Evidence, b.Baseline}] = t.begun
	return t.begun
}

// checkEnds is the number under which it began.
func (t *telling) checkEnds(b plan.CheckEnd) int {
	return t.checks[checkKey{b.Command, b.Evidence, b.Baseline}]
}

// root is where the paths of calls start.
func (t *telling) root() string {
	_, dir := t.session.current()
	return dir
}

// stream tells a piece of an answer as it comes.
func (t *telling) stream(ev plan.Event, b plan.MessageUpdate) {
	switch b.Kind {
	case plan.BlockText:
		text := clean(b.Text)
		if t.streamed != turnOf(ev) {
			t.streamed = turnOf(ev)
			text = "\n\n" + text
		}
		if ev.Phase == plan.Review { // the verdict is told when it was weighed
			t.out.addThought(text)
			return
		}
		t.out.addText(text)
	case plan.BlockReasoning:
		t.out.addThought(clean(b.Text))
	}
}

// message tells an answer, unless it was told as it came.
func (t *telling) message(ev plan.Event, b plan.MessageEnd) {
	if b.Role != plan.RoleAssistant || b.Discarded || t.streamed == turnOf(ev) || b.Text() == "" {
		return
	}
	if ev.Phase == plan.Review {
		t.think("\n\n" + b.Text())
		return
	}
	t.say("\n\n" + b.Text())
}

// turnOf names the turn that an event is of.
func turnOf(ev plan.Event) string {
	if ev.Turn == nil {
		return ev.Conv
	}
	return fmt.Sprintf("%s/%d", ev.Conv, *ev.Turn)
}

// personText tells what a person said, when the thread is told from its beginning.
func (t *telling) personText(text string) {
	if t.past {
		t.update(sdk.UpdateUserMessageText(clean(text)))
	}
}

// clean makes a text of several lines safe to show.
func clean(text string) string { return sanitize.Text(text) }

// cleanLine makes a text of one line safe to show.
func cleanLine(text string) string { return sanitize.Line(text) }

// verdictText says what a review came to.
func verdictText(v plan.Judgement) string {
	var text strings.Builder
	fmt.Fprintf(&text, "\n\n**Review: %s**", v.Verdict)
	if v.Why != "" {
		fmt.Fprintf(&text, ". %s", v.Why)
	}
	text.WriteString("\n")
	for _, g := range v.Missing {
		fmt.Fprintf(&text, "- %s (%s) %s\n", g.ID, g.Severity, g.Gap)
	}
	return text.String()
}

// questionText is what the run asks.
func questionText(q plan.Question) string {
	text := "\n\n" + q.Question + "\n"
	for _, o := range q.Options {
		text += "- " + o + "\n"
	}
	return text
}

// parkedText says why a run stands still, and how it goes on.
func parkedText(run plan.RunID, p plan.Parked) string {
	text := fmt.Sprintf("\n\nThe run is parked (%s).", p.Reason)
	if p.Detail != "" {
		text += " " + p.Detail
	}
	if p.WakeAt != nil {
		text += " It can go on at " + p.WakeAt.Format("15:04:05 MST") + "."
	}
	switch p.Reason {
	case plan.ParkQuestion:
		return text + " Your next message is the answer.\n"
	case plan.ParkApproval:
		return text + fmt.Sprintf(" Send a message to be asked again, or decide with `plan approve %s`.\n", run)
	}
	return text + " Send a message to go on.\n"
}

// endText says how a run ended.
func endText(e plan.RunEnd) string {
	outcome := string(e.Outcome)
	if e.Outcome == plan.Approved {
		outcome = plan.ApprovedWith(e.Checks.Failed)
	}
	text := fmt.Sprintf("\n\n**%s**", outcome)
	if e.Evidence != "" {
		text += fmt.Sprintf(" (evidence: %s)", e.Evidence)
	}
	text += fmt.Sprintf(". Changed files: %d (+%d -%d).", e.Diff.Files, e.Diff.Insertions, e.Diff.Deletions)
	if e.Why != "" && e.Outcome != plan.Approved { // what an approval rests on, the verdict has said
		text += " " + e.Why
	}
	text += "\n"
	for _, list := range []struct {
		name  string
		lines []string
	}{
		{"Note", e.Notes},
		{"Open", e.Open},
		{"Accepted", e.Accepted},
	} {
		for _, line := range list.lines {
			text += fmt.Sprintf("- %s: %s\n", list.name, line)
		}
	}
	return text
}
