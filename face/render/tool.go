package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/tools"
)

// firstLine is the first line of text that says something, with a mark when
// there is more.
func (l Look) firstLine(text string) string {
	const most = 4096 // bytes; no line that is shown is longer
	text = strings.TrimSpace(strings.ToValidUTF8(text[:min(len(text), most)], ""))
	if line, _, more := strings.Cut(text, "\n"); more {
		return strings.TrimSpace(line) + " " + l.cut
	}
	return text
}

// lastLines returns the last n lines of text that are not blank.
func lastLines(text string, n int) []string {
	const most = 16 << 10 // bytes; enough for the few lines that are shown
	if len(text) > most {
		text = text[len(text)-most:]
	}
	var out []string
	for line := range strings.SplitSeq(SafeText(text), "\n") {
		if strings.TrimSpace(line) != "" {
			out = append(out, strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), " "))
		}
	}
	return out[max(0, len(out)-n):]
}

func lineCount(text string) int {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return 0
	}
	return strings.Count(text, "\n") + 1
}

// tellingArgument is the part of a call's arguments that tells a person what
// the call is about, as the tool says it.
func (l Look) tellingArgument(name string, args json.RawMessage) Span {
	call := tools.Describe(name, args, "")
	return Span{Text: l.firstLine(call.Title) + call.Detail, keepEnd: call.IsPath}
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// toolLine is one finished call, ready to be drawn.
type toolLine struct {
	name       string
	arg        Span
	glyph      string
	ink        Ink
	note       string   // what is special about its end
	more       []string // output that explains a failure
	durationMS int64    // milliseconds
	times      int      // calls in this line
	depth      int      // 1 for a call of a sub-agent
}

// plainSuccess reports whether nothing about the call needs its own line.
func (t toolLine) plainSuccess() bool { return t.note == "" && len(t.more) == 0 }

// finished describes the end of a call.
func (n *narrator) finished(e plan.Event, b plan.ToolEnd) toolLine {
	key := e.Conv + "\x00" + b.Call
	t := toolLine{
		name:       orElse(b.Name, "tool"),
		arg:        n.calls[key],
		glyph:      n.ok,
		ink:        InkGreen,
		durationMS: b.DurationMS,
		times:      1,
	}
	delete(n.calls, key)
	if e.Parent != "" {
		t.depth = 1
	}
	failedCommand := b.ExitCode != nil && *b.ExitCode != 0
	switch {
	case b.Status == "refused" || b.Status == "invalid":
		t.glyph, t.ink, t.note = n.refused, InkYellow, b.Status
	case b.Status == "unknown" || b.Status == "cancelled":
		t.glyph, t.ink, t.note = n.unsure, InkYellow, b.Status
	case b.Status != "":
		t.glyph, t.ink, t.note = n.fail, InkRed, b.Status
	case failedCommand:
		t.glyph, t.ink, t.note = n.fail, InkRed, fmt.Sprintf("exit %d", *b.ExitCode)
	case b.Error:
		t.glyph, t.ink, t.note = n.fail, InkRed, "failed"
	default:
		return t
	}
	most := 3
	if n.opts.Verbose {
		most = 10
	}
	t.more = lastLines(b.Output, most)
	if !failedCommand && !n.opts.Verbose { // a message of ours: its first line says it
		t.more = lastLines(n.firstLine(b.Output), 1)
	}
	return t
}

// toolLines draws a call.
func (n *narrator) toolLines(t toolLine) []string {
	note := t.note
	if t.times > 1 {
		note = fmt.Sprintf("%d calls", t.times)
	}
	if note != "" {
		note = "  " + note
	}
	indent := strings.Repeat("  ", t.depth)
	noteInk := InkDim
	if t.times == 1 {
		noteInk = t.ink
	}
	lines := []string{n.fill(n.Columns(),
		[]Span{{Text: indent + "  "}, {Ink: t.ink, Text: t.glyph}, {Text: " " + labelPad(t.name) + " "}}, t.arg,
		[]Span{{Ink: noteInk, Text: note}, {Ink: InkDim, Text: fmt.Sprintf("%8s", Duration(millis(t.durationMS)))}})}
	return append(lines, n.output(indent+"      ", t.more)...)
}

// output draws lines that a command or tool wrote.
func (n *narrator) output(indent string, rows []string) []string {
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		lines = append(lines, n.fill(n.Columns(), []Span{{Text: indent}}, Span{Ink: InkDim, Text: row}, nil))
	}
	return lines
}
