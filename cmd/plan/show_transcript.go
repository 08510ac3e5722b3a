package main

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/render"
)

// utterance is one entry of a transcript in `plan show --transcript --json`: a
// message, or the result of a call (role tool).
type utterance struct {
	Seq     int64      `json:"seq"`
	Time    time.Time  `json:"time"`
	Conv    string     `json:"conv"`
	Parent  string     `json:"parent,omitempty"`
	Phase   plan.Phase `json:"phase"`
	Attempt int        `json:"attempt"`
	Turn    *int       `json:"turn,omitempty"`
	Role    plan.Role  `json:"role"`
	Origin  string     `json:"origin,omitempty"`

	// Discarded marks an answer that was refused or filtered: it is no part of
	// the conversation.
	Discarded bool `json:"discarded,omitempty"`

	Blocks []plan.Block  `json:"blocks,omitempty"` // of a message
	Result *plan.ToolEnd `json:"result,omitempty"` // of a call
}

// utteranceOf is what an event adds to a transcript, if it adds something.
func utteranceOf(e plan.Event) (utterance, bool) {
	u := utterance{
		Seq:     e.Seq,
		Time:    e.Time,
		Conv:    e.Conv,
		Parent:  e.Parent,
		Phase:   e.Phase,
		Attempt: e.Attempt,
		Turn:    e.Turn,
	}
	switch b := e.Body.(type) {
	case plan.MessageEnd:
		u.Role, u.Origin, u.Blocks, u.Discarded = b.Role, b.Origin, b.Blocks, b.Discarded
		return u, !b.Discarded || len(b.Blocks) > 0
	case plan.ToolEnd:
		u.Role, u.Result = plan.RoleTool, &b
		return u, true
	}
	return u, false
}

// transcript shows what was said to and by the model, and every call with its
// result.
func (a *app) transcript(events iter.Seq2[plan.Event, error], id plan.RunID) error {
	said := []utterance{}
	w := scribe{Look: render.NewLook(a.viewing())}
	for ev, err := range events {
		if err != nil {
			return failed(err)
		}
		u, ok := utteranceOf(ev)
		switch {
		case a.json && ok:
			said = append(said, u)
		case a.json:
		case ok:
			w.utter(u)
		default:
			w.mark(ev)
		}
		if err := render.WriteLines(a.out, w.lines); err != nil {
			return failed(render.UnlessReaderLeft(err))
		}
		w.lines = w.lines[:0]
	}
	if a.json {
		return a.document(map[string]any{"id": id, "messages": said})
	}
	return nil
}

// scribe writes a transcript for people: unwrapped, so that it can be searched
// and copied.
type scribe struct {
	render.Look
	lines []string
}

// head begins an entry.
func (s *scribe) head(k render.Ink, who, note string) {
	spans := []render.Span{{Ink: k, Text: who}}
	if note != "" {
		spans = append(spans, render.Span{Ink: render.InkDim, Text: "  " + render.SafeLine(note)})
	}
	s.lines = append(s.lines, "", s.PaintAll(spans))
}

// body adds text as it is, made safe for a terminal.
func (s *scribe) body(k render.Ink, text string) {
	for line := range strings.Lines(strings.TrimRight(render.SafeText(text), "\n")) {
		s.lines = append(s.lines, "  "+s.Paint(k, strings.TrimRight(s.Safe(line), "\n")))
	}
}

func (s *scribe) utter(u utterance) {
	switch u.Role {
	case plan.RoleUser:
		note := "the workflow's prompt"
		if u.Origin != "" {
			note = u.Origin
		}
		s.head(render.InkCyan, "user", note)
	case plan.RoleAssistant:
		note := ""
		if u.Discarded {
			note = "discarded: refused, or ended by a filter"
		}
		s.head(render.InkGreen, "assistant", note)
	case plan.RoleTool:
		if u.Result != nil {
			s.result(*u.Result)
		}
		return
	default:
		return
	}
	for _, b := range u.Blocks {
		s.block(b)
	}
}

func (s *scribe) block(b plan.Block) {
	switch b.Type {
	case plan.BlockText:
		s.body(render.InkNone, b.Text)
	case plan.BlockReasoning:
		s.body(render.InkDim, b.Text)
	case plan.BlockToolCall:
		s.lines = append(
			s.lines,
			"  "+s.Paint(render.InkCyan, s.Arrow+" "+render.SafeLine(b.Name))+" "+s.Safe(render.SafeLine(b.Args)),
		)
	case plan.BlockImage:
		s.lines = append(s.lines, s.Paint(render.InkDim, "  (an image, "+render.SafeLine(b.MIME)+")"))
	}
}

// result shows what a call came to.
func (s *scribe) result(r plan.ToolEnd) {
	k, word := render.InkDim, render.Duration(render.Millis(r.DurationMS))
	if r.Error {
		k, word = render.InkRed, "error"
	}
	if r.Status != "" {
		word = r.Status
	}
	s.head(k, render.SafeLine(r.Name), word)
	s.body(render.InkNone, r.Output)
	if r.Blob != "" {
		s.body(render.InkDim, "(cut; the whole output is kept)")
	}
}

// mark shows what happened to a conversation from outside.
func (s *scribe) mark(e plan.Event) {
	switch b := e.Body.(type) {
	case plan.PhaseStart:
		title := fmt.Sprintf("%s %d", e.Phase, e.Attempt)
		if b.Resumed {
			title += " (resumed)"
		}
		s.lines = append(s.lines, "", s.Heading(render.MaxColumns-1, render.InkBold, title, s.Joined(e.Conv, render.SafeLine(b.Model))))
	case plan.Adjusted:
		s.head(render.InkDim, "note", b.String())
	case plan.Route:
		s.head(render.InkDim, "model", render.RouteWords(b))
	case plan.CompactionStart:
		if words := render.LearntWords(b); words != "" {
			s.head(render.InkYellow, "context", words)
		}
	case plan.CompactionEnd:
		if b.Messages != nil {
			s.head(render.InkYellow, "compaction", fmt.Sprintf("about %s tokens became %s; from here on the model reads the short form", render.Tokens(b.Before), render.Tokens(b.After)))
		}
	case plan.Pruned:
		s.head(render.InkYellow, "prune", fmt.Sprintf("%s taken out of what the model reads", render.Count(len(b.Calls), "result")))
	case plan.StormBroken:
		s.head(render.InkYellow, "storm", b.Notice)
	case plan.ApprovalRequired:
		s.head(render.InkYellow, "waits for a yes", b.Name+" "+string(b.Args))
	case plan.ApprovalResolved:
		word := "denied"
		if b.Approved {
			word = "allowed"
		}
		s.head(render.InkYellow, word, b.Reason)
	case plan.Parked:
		s.head(render.InkYellow, "parked", render.ParkedWords(b))
	case plan.Failure:
		s.head(render.InkRed, "error", b.Error)
	}
}
