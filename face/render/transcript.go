package render

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/oneline"
)

// Utterance is one entry of a transcript in `plan show --transcript --json`: a
// message, the result of a call (role tool), or what a conversation was told of
// earlier runs (role extension).
type Utterance struct {
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

// Utterances are a transcript, from the events of a run or of a part of it.
func Utterances(events iter.Seq2[plan.Event, error]) ([]Utterance, error) {
	out := []Utterance{}
	for ev, err := range events {
		if err != nil {
			return nil, err
		}
		if u, ok := utteranceOf(ev); ok {
			out = append(out, u)
		}
	}
	return out, nil
}

// utteranceOf is what an event adds to a transcript, if it adds something.
func utteranceOf(e plan.Event) (Utterance, bool) {
	u := Utterance{
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
	case plan.Recall, plan.SkillPick:
		u.Role, u.Origin, u.Blocks = plan.RoleExtension, string(b.Type()), blocksOf(b)
		return u, len(u.Blocks) > 0
	}
	return u, false
}

// WriteTranscript shows what was said to and by the model, and every call with
// its result. It stops at the first error of events or of w.
func WriteTranscript(w io.Writer, events iter.Seq2[plan.Event, error], opts Options) error {
	s := transcriptWriter{Look: NewLook(opts)}
	for ev, err := range events {
		if err != nil {
			return err
		}
		if u, ok := utteranceOf(ev); ok {
			s.utter(u)
		}
		s.mark(ev)
		if err := WriteLines(w, s.lines); err != nil {
			return err
		}
		s.lines = s.lines[:0]
	}
	return nil
}

// transcriptWriter writes a transcript for people: unwrapped, so that it can be searched
// and copied.
type transcriptWriter struct {
	Look
	lines []string
}

// head begins an entry.
func (s *transcriptWriter) head(k Ink, speaker, note string) {
	spans := []Span{{Ink: k, Text: speaker}}
	if note != "" {
		spans = append(spans, Span{Ink: InkDim, Text: "  " + SafeLine(note)})
	}
	s.lines = append(s.lines, "", s.PaintAll(spans))
}

// body adds text as it is, made safe for a terminal.
func (s *transcriptWriter) body(k Ink, text string) {
	s.indented("  ", func(string) Ink { return k }, text)
}

// indented adds text, each line in the ink that suits it. Tabs keep their room.
func (s *transcriptWriter) indented(by string, ink func(line string) Ink, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(SafeText(text), "\n"), "\n") {
		if line = s.Paint(ink(line), strings.ReplaceAll(line, "\t", "    ")); line != "" {
			line = by + line
		}
		s.lines = append(s.lines, line)
	}
}

func (s *transcriptWriter) utter(u Utterance) {
	switch u.Role {
	case plan.RoleUser:
		note := "prompt"
		if u.Origin != "" {
			note = u.Origin
		}
		s.head(InkCyan, "user", note)
	case plan.RoleAssistant:
		note := ""
		if u.Discarded {
			note = "discarded: refused, or ended by a filter"
		}
		s.head(InkGreen, "assistant", note)
	case plan.RoleTool:
		if u.Result != nil {
			s.result(*u.Result)
		}
		return
	case plan.RoleExtension:
		s.head(InkDim, "told", u.Origin)
	default:
		return
	}
	for _, b := range u.Blocks {
		s.block(b)
	}
}

func (s *transcriptWriter) block(b plan.Block) {
	switch b.Type {
	case plan.BlockText:
		s.body(InkNone, b.Text)
	case plan.BlockReasoning:
		s.body(InkDim, b.Text)
	case plan.BlockToolCall:
		s.call(b)
	case plan.BlockImage:
		s.lines = append(s.lines, s.Paint(InkDim, "  (an image, "+SafeLine(b.MIME)+")"))
	}
}

// call shows what a model called: arguments of one line as they are, and those of
// several, such as patches and scripts, as the text that they are.
func (s *transcriptWriter) call(b plan.Block) {
	head := "  " + s.Paint(InkCyan, s.Arrow+" "+b.Name)
	members := map[string]json.RawMessage{}
	if json.Unmarshal([]byte(b.Args), &members) != nil {
		s.lines = append(s.lines, head+" "+s.Safe(b.Args))
		return
	}
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var text string
		if json.Unmarshal(members[name], &text) == nil && strings.Contains(text, "\n") {
			texts = append(texts, name, text)
			delete(members, name)
		}
	}
	if len(texts) == 0 {
		s.lines = append(s.lines, head+" "+s.Safe(b.Args))
		return
	}
	if len(members) > 0 {
		rest, _ := json.Marshal(members) //nolint:errchkjson // it was read from JSON
		head += " " + s.Safe(string(rest))
	}
	s.lines = append(s.lines, head)
	for named := range slices.Chunk(texts, 2) {
		s.lines = append(s.lines, "    "+s.Paint(InkDim, named[0]+":"))
		ink := func(string) Ink { return InkNone }
		if named[0] == "patch" {
			ink = inkOf
		}
		s.indented("      ", ink, named[1])
	}
}

// result shows what a call came to.
func (s *transcriptWriter) result(r plan.ToolEnd) {
	k, word := InkDim, Duration(millis(r.DurationMS))
	if r.Error {
		k, word = InkRed, "error"
	}
	if r.Status != "" {
		word = r.Status
	}
	s.head(k, SafeLine(r.Name), word)
	s.body(InkNone, r.Output)
	if r.Blob != "" {
		s.body(InkDim, "(cut; the whole output is kept)")
	}
}

// phase begins what a phase said.
func (s *transcriptWriter) phase(e plan.Event, b plan.PhaseStart) {
	title := fmt.Sprintf("%s %d", e.Phase, e.Attempt)
	if b.Resumed {
		title += " (resumed)"
	}
	where := s.Joined(e.Conv, SafeLine(b.Model))
	s.lines = append(s.lines, "", s.Heading(MaxColumns-1, InkBold, title, where))
}

// blocksOf is what a conversation is told of earlier runs, which its messages only mark.
func blocksOf(advice plan.Body) (blocks []plan.Block) {
	text := func(text string) { blocks = append(blocks, plan.Block{Type: plan.BlockText, Text: text}) }
	switch b := advice.(type) {
	case plan.Recall:
		for _, fact := range b.Facts {
			text(fmt.Sprintf("fact %d: %s", fact.ID, fact.Text))
		}
		if b.Style != "" {
			text(b.Style)
		}
	case plan.SkillPick:
		if b.Index != "" {
			text(oneline.Join("\n", b.Index, b.Hint))
		}
	}
	return blocks
}

func compactedWords(b plan.CompactionEnd) string {
	return fmt.Sprintf(
		"about %s tokens became %s; from here on the model reads the short form",
		Tokens(b.Before),
		Tokens(b.After),
	)
}
