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
	r := tell(ev)
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

// tell makes the row of an event: a headline where there is not more to say.
func tell(ev plan.Event) *Row {
	switch b := ev.Body.(type) {
	case plan.RunStart:
		return row("begin", "run", b.Request, b.Request)
	case plan.RunEnd:
		return row(goodIf(b.ExitCode == plan.ExitOK), "end", string(b.Outcome)+": "+b.Why, "")
	case plan.Failure:
		return row("bad", "error", b.Error, b.Hint)
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
		return row("quiet", "hook", b.Headline().Text, b.Output+b.Error)
	case plan.CheckEnd:
		return check(b)
	case plan.Pruned:
		return row("quiet", "prune", b.Headline().Text, b.Memo)
	case plan.Report:
		return row("say", "report", b.Text, b.Text)
	case plan.PlanMade:
		return row("say", "plan", b.Headline().Text, b.Text)
	case plan.Critiqued:
		return row("say", "critique", b.Headline().Text, b.Findings)
	case plan.FindingMade:
		return row("ask", "noticed", b.Kind+" "+b.Path+": "+b.Text, b.Reason)
	case plan.VerdictGiven:
		return row(goodIf(b.Approved), "verdict", b.Headline().Text, checklist(b.Judgement))
	case plan.GapChange:
		return row(goodIf(b.Status == plan.GapClosed), "gap", b.Headline().Text, "")
	case plan.Steering, plan.FollowUp:
		h := ev.Headline()
		return row("say", h.Label, h.Text, h.Text)
	case plan.Filtered:
		return row("ask", "letter", b.Headline().Text, b.Text)
	case plan.ApprovalRequired:
		return row("ask", "asks", b.Headline().Text, cmp.Or(b.Shown, b.Effect, indented(b.Args)))
	case plan.ApprovalResolved:
		return row(goodIf(b.Approved), "decided", b.Headline().Text, "")
	case plan.Question:
		return row("ask", "question", b.Question, strings.Join(b.Options, "\n"))
	case plan.Answered:
		return row("say", "answer", b.Text, b.Text)
	}
	return headlineRow(ev.Headline())
}

// headlineRow tells what an event says of itself; nil for how the work is done.
func headlineRow(h plan.Headline) *Row {
	switch h.Level {
	case plan.LevelDetail:
		return nil
	case plan.LevelWarning:
		return row("ask", h.Label, h.Text, "")
	case plan.LevelError:
		return row("bad", h.Label, h.Text, "")
	}
	return row("quiet", h.Label, h.Text, "")
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
