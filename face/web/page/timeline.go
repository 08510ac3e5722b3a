package page

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/oneline"
)

// Row is a line of a timeline. Its texts are as the journal has them: what shows them
// cleans them.
type Row struct {
	Seq    int64
	Time   time.Time
	Look   string // good, bad, ask, say, begin or quiet
	Label  string
	Text   string
	Detail string // behind the line; "" for none
}

func row(look, label, text, detail string) *Row {
	return &Row{
		Look:   look,
		Label:  label,
		Text:   text,
		Detail: detail,
	}
}

// longest is how much of a text a row shows, in bytes. The journal has all of it.
const longest = 16 << 10

// rowOf tells an event in a line; nil for one that a timeline leaves out.
func rowOf(ev plan.Event) *Row {
	r := work(ev)
	if r == nil {
		r = stateRow(ev)
	}
	if r == nil {
		return nil
	}
	r.Seq = ev.Seq
	r.Time = ev.Time
	r.Text = oneline.Cut(oneline.Of(r.Text), 400)
	if len(r.Detail) > longest {
		r.Detail = oneline.CutBytes(r.Detail, longest) + "\n(the journal has the rest)"
	}
	return r
}

// leftOut are the types that a timeline does not tell: what begins of what it tells the
// end of, and what is bookkeeping.
func leftOut(b plan.Body) bool {
	switch b.(type) {
	case plan.MessageStart, plan.MessageUpdate, plan.ToolUpdate, plan.Progress, plan.CheckStart, plan.TurnStart,
		plan.TurnEnd, plan.ConvStart, plan.ConvEnd, plan.Request, plan.UsageReport, plan.Snapshot, plan.Recall,
		plan.SkillPick, plan.SkillOutcome, plan.CompactionStart, plan.Unknown:
		return true
	}
	return false
}

// work tells what phases do.
func work(ev plan.Event) *Row {
	switch b := ev.Body.(type) {
	case plan.PhaseStart:
		return row("begin", string(ev.Phase), attempt(ev.Attempt)+b.Model, "")
	case plan.PhaseEnd:
		return row("quiet", string(ev.Phase), b.Reason, "")
	case plan.MessageEnd:
		return assistantRow(ev, b)
	case plan.ToolStart:
		return row("quiet", b.Name, argument(b.Args), indented(b.Args))
	case plan.ToolEnd:
		return ended(b)
	case plan.HookRan:
		return row("quiet", "hook", b.Event+" "+b.Action+": "+b.Command, b.Output+b.Error)
	case plan.CheckEnd:
		return check(b)
	case plan.Retry:
		return row("quiet", "retry", b.Reason, "")
	case plan.StormBroken:
		return row("bad", "storm", b.Action+" "+b.Notice, "")
	case plan.Pruned:
		return row("quiet", "prune", fmt.Sprintf("results of %d calls are gone", len(b.Calls)), b.Memo)
	case plan.CompactionEnd:
		text := fmt.Sprintf("%s: %d to %d tokens %s", b.Level, b.Before, b.After, b.Error)
		return row("quiet", "compaction", text, "")
	case plan.Route:
		return row("quiet", "route", b.For+" with "+b.Model+": "+b.Why, "")
	case plan.Adjusted:
		return row("quiet", "adjusted", b.String(), "")
	case plan.Report:
		return row("say", "report", b.Text, b.Text)
	case plan.PlanMade:
		return row("say", "plan", fmt.Sprintf("version %d %s", b.Version, b.By), b.Text)
	case plan.Critiqued:
		return row("say", "critique", cmp.Or(b.Findings, b.Error, "nothing was found"), b.Findings)
	case plan.WayTaken:
		return row("quiet", "way", b.Way+": "+b.Why, "")
	case plan.FindingMade:
		return row("ask", "finding", b.Kind+" "+b.Path+": "+b.Text, b.Reason)
	case plan.VerdictGiven:
		return row(goodIf(b.Approved), "verdict", b.Word()+": "+b.Why, checklist(b.Judgement))
	case plan.GapChange:
		look := "bad"
		if b.Status == plan.GapClosed {
			look = "good"
		}
		return row(look, "gap", b.ID+" "+string(b.Status)+": "+b.Gap.Gap, "")
	case plan.SkillDraft:
		return row("ask", "skill", "drafted "+b.Name+" "+b.Error, "")
	}
	return nil
}

// stateRow tells where a run stands, and what people say to it.
func stateRow(ev plan.Event) *Row {
	switch b := ev.Body.(type) {
	case plan.RunStart:
		return row("begin", "run", b.Request, b.Request)
	case plan.RunEnd:
		return row(goodIf(b.ExitCode == plan.ExitOK), "end", string(b.Outcome)+": "+b.Why, "")
	case plan.StateChange:
		return row("quiet", "state", string(b.To)+" "+b.Why, "")
	case plan.SettingsChanged:
		return row("quiet", "settings", strings.Join(b.Changed, ", "), "")
	case plan.Failure:
		return row("bad", "error", b.Error, b.Hint)
	case plan.Parked:
		return row("ask", "parked", string(b.Reason)+" "+b.Detail, "")
	case plan.Unparked:
		return row("quiet", "goes on", "it was parked: "+string(b.Reason), "")
	case plan.LimitHit:
		return row("bad", "limit", fmt.Sprintf("%s: %g of %g", b.Kind, b.Value, b.Max), "")
	case plan.Drift:
		return row("ask", "drift", b.Choice+": "+strings.Join(b.Files, ", "), "")
	case plan.Steering:
		return row("say", "guidance", b.Text, b.Text)
	case plan.FollowUp:
		return row("say", "further", b.Text, b.Text)
	case plan.Filtered:
		return row("ask", "filtered", b.Action+": "+b.Why, b.Text)
	case plan.ApprovalRequired:
		return row("ask", "asks", b.Name+" "+b.Why, cmp.Or(b.Shown, b.Effect, indented(b.Args)))
	case plan.ApprovalResolved:
		word := "refused"
		if b.Approved {
			word = "allowed"
		}
		return row(goodIf(b.Approved), "decided", word+" by "+b.By+" "+b.Reason, "")
	case plan.Question:
		return row("ask", "question", b.Question, strings.Join(b.Options, "\n"))
	case plan.Answered:
		return row("say", "answer", b.Text, b.Text)
	}
	return nil
}

func goodIf(good bool) string {
	if good {
		return "good"
	}
	return "bad"
}

func attempt(n int) string {
	if n > 1 {
		return fmt.Sprintf("attempt %d, ", n)
	}
	return ""
}

// assistantRow is what an assistant said, and nothing of what it was sent.
func assistantRow(ev plan.Event, b plan.MessageEnd) *Row {
	text := b.Text()
	if b.Role != plan.RoleAssistant || b.Discarded || ev.Turn == nil || text == "" {
		return nil
	}
	label := "says"
	if ev.Parent != "" {
		label = "helper"
	}
	return row("say", label, text, text)
}

// ended is the result of a call.
func ended(b plan.ToolEnd) *Row {
	r := &Row{
		Look:   "good",
		Label:  b.Name,
		Text:   fmt.Sprintf("done in %s", time.Duration(b.DurationMS)*time.Millisecond),
		Detail: b.Output,
	}
	if b.Error {
		r.Look = "bad"
		r.Text = b.Output
	}
	if b.ExitCode != nil {
		r.Text = fmt.Sprintf("exit %d, %s", *b.ExitCode, r.Text)
	}
	return r
}

// check is what a command that decides said.
func check(b plan.CheckEnd) *Row {
	r := &Row{
		Look:   goodIf(b.Passed()),
		Label:  "check",
		Text:   fmt.Sprintf("exit %d: %s", b.ExitCode, b.Command),
		Detail: b.Output,
	}
	switch {
	case b.Cancelled:
		r.Look, r.Text = "quiet", "stopped: "+b.Command
	case b.Evidence != "":
		r.Look, r.Label = "quiet", "evidence"
		r.Text = "on the " + b.Evidence + " tree, " + r.Text
	case b.Baseline:
		r.Look = "quiet"
		r.Text = "before the work, " + r.Text
	}
	return r
}

// argument is the one argument that says most of a call, or all.
func argument(args json.RawMessage) string {
	var members map[string]any
	if json.Unmarshal(args, &members) != nil {
		return string(args)
	}
	for _, name := range []string{"command", "path", "pattern", "query", "question", "request", "text"} {
		if text, ok := members[name].(string); ok {
			return text
		}
	}
	return string(args)
}

func indented(args json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, args, "", "  ") != nil {
		return string(args)
	}
	return out.String()
}

// checklist is what a verdict says item by item.
func checklist(j plan.Judgement) string {
	var out strings.Builder
	for _, c := range j.Checklist {
		mark := "✗"
		if c.Met {
			mark = "✓"
		}
		fmt.Fprintf(&out, "%s %s (%s)\n", mark, c.Item, c.Evidence)
	}
	for _, m := range j.Missing {
		fmt.Fprintf(&out, "missing %s %s: %s\n", m.ID, m.Severity, m.Gap)
	}
	for _, n := range j.Notes {
		fmt.Fprintf(&out, "note: %s\n", n)
	}
	return out.String()
}
