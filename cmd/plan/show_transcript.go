package main

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/plan-engine/plan"
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

	Blocks []plan.Block  `json:"blocks,omitempty"` // of a message
	Result *plan.ToolEnd `json:"result,omitempty"` // of a call
}

// utteranceOf is what an event adds to a transcript, if it adds something.
func utteranceOf(e plan.Event) (utterance, bool) {
	u := utterance{
		Seq: e.Seq, Time: e.Time, Conv: e.Conv, Parent: e.Parent, Phase: e.Phase, Attempt: e.Attempt, Turn: e.Turn,
	}
	switch b := e.Body.(type) {
	case plan.MessageEnd:
		u.Role, u.Origin, u.Blocks = b.Role, b.Origin, b.Blocks
		return u, !b.Discarded
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
	w := scribe{look: newLook(a.viewing())}
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
		if err := writeLines(a.out, w.lines); err != nil {
			return failed(unlessReaderLeft(err))
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
	look
	lines []string
}

// head begins an entry.
func (s *scribe) head(k ink, who, note string) {
	spans := []span{{ink: k, text: who}}
	if note != "" {
		spans = append(spans, span{ink: inkDim, text: "  " + sanitizeLine(note)})
	}
	s.lines = append(s.lines, "", s.paintAll(spans))
}

// body adds text as it is, made safe for a terminal.
func (s *scribe) body(k ink, text string) {
	for line := range strings.Lines(strings.TrimRight(sanitizeText(text), "\n")) {
		s.lines = append(s.lines, "  "+s.paint(k, strings.TrimRight(s.safe(line), "\n")))
	}
}

func (s *scribe) utter(u utterance) {
	switch u.Role {
	case plan.RoleUser:
		note := "the workflow's prompt"
		if u.Origin != "" {
			note = u.Origin
		}
		s.head(inkCyan, "user", note)
	case plan.RoleAssistant:
		s.head(inkGreen, "assistant", "")
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
		s.body(inkNone, b.Text)
	case plan.BlockReasoning:
		s.body(inkDim, b.Text)
	case plan.BlockToolCall:
		s.lines = append(s.lines, "  "+s.paint(inkCyan, s.arrow+" "+sanitizeLine(b.Name))+" "+s.safe(sanitizeLine(b.Args)))
	case plan.BlockImage:
		s.lines = append(s.lines, s.paint(inkDim, "  (an image, "+sanitizeLine(b.MIME)+")"))
	}
}

// result shows what a call came to.
func (s *scribe) result(r plan.ToolEnd) {
	k, word := inkDim, spokenTime(millis(r.DurationMS))
	if r.Error {
		k, word = inkRed, "error"
	}
	if r.Status != "" {
		word = r.Status
	}
	s.head(k, sanitizeLine(r.Name), word)
	s.body(inkNone, r.Output)
	if r.Blob != "" {
		s.body(inkDim, "(cut; the whole output is kept)")
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
		s.lines = append(s.lines, "", s.heading(columnsMost-1, inkBold, title, s.joined(e.Conv, sanitizeLine(b.Model))))
	case plan.CompactionEnd:
		if b.Messages != nil {
			s.head(inkYellow, "compaction", fmt.Sprintf("about %s tokens became %s; from here on the model reads the short form", spokenCount(b.Before), spokenCount(b.After)))
		}
	case plan.Pruned:
		s.head(inkYellow, "prune", fmt.Sprintf("%s taken out of what the model reads", countOf(len(b.Calls), "result")))
	case plan.StormBroken:
		s.head(inkYellow, "storm", b.Notice)
	case plan.ApprovalRequired:
		s.head(inkYellow, "waits for a yes", b.Name+" "+string(b.Args))
	case plan.ApprovalResolved:
		word := "denied"
		if b.Approved {
			word = "allowed"
		}
		s.head(inkYellow, word, b.Reason)
	case plan.Parked:
		s.head(inkYellow, "parked", parkedWords(b))
	case plan.Failure:
		s.head(inkRed, "error", b.Error)
	}
}
