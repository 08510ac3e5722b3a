package render

import (
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/plan-engine/plan"
)

// timelineGutter is the width of the clock at the left of a timeline.
const timelineGutter = 9

// WriteTimeline tells a run from its durable events, each with the time since
// the run began. Successful calls of the same tool that follow each other share
// a line, and of what an assistant says the beginning is shown, unless
// opts.Verbose. Reports and plans are named, not printed; how the run ended is
// for [writeSummary]. It stops at the first error of events or of w.
func WriteTimeline(w io.Writer, events iter.Seq2[plan.Event, error], opts Options) error {
	n := newNarrator(opts)
	n.margin = timelineGutter
	if !opts.Verbose {
		n.textRows = 2
	}
	t := timeline{w: w, narr: n}
	for e, err := range events {
		if err == nil {
			err = t.add(e)
		}
		if err != nil {
			_ = t.flush() // the first error says more
			return err
		}
	}
	return t.flush()
}

// timeline groups and dates the lines of a narrator.
type timeline struct {
	w     io.Writer
	narr  *narrator
	start time.Time
	group *toolLine // successful calls of one tool that are not written yet
	at    time.Time // of the first of them
}

func (t *timeline) add(e plan.Event) error {
	if e.Live() {
		return nil
	}
	if t.start.IsZero() {
		t.start = e.Time
	}
	b, ok := e.Body.(plan.ToolEnd)
	if !ok {
		lines := t.narr.lines(e)
		if len(lines) == 0 {
			return nil
		}
		if err := t.flush(); err != nil {
			return err
		}
		return t.write(e.Time, lines)
	}
	t.narr.tally.Add(e)
	return t.addTool(e, t.narr.finished(e, b))
}

// addTool joins the call to the group, or lets it begin a new one.
func (t *timeline) addTool(e plan.Event, line toolLine) error {
	g := t.group
	if g != nil && g.name == line.name && g.depth == line.depth && line.plainSuccess() && !t.narr.opts.Verbose {
		g.times++
		g.durationMS += line.durationMS
		if line.arg.Text != "" && !strings.HasSuffix(", "+g.arg.Text, ", "+line.arg.Text) {
			g.arg.Text += ", " + line.arg.Text
		}
		g.arg.keepEnd = false
		return nil
	}
	if err := t.flush(); err != nil {
		return err
	}
	if line.plainSuccess() {
		t.group, t.at = &line, e.Time
		return nil
	}
	return t.write(e.Time, t.narr.toolLines(line))
}

// flush writes the group.
func (t *timeline) flush() error {
	if t.group == nil {
		return nil
	}
	line := *t.group
	t.group = nil
	return t.write(t.at, t.narr.toolLines(line))
}

// write dates the first line that is not empty.
func (t *timeline) write(at time.Time, lines []string) error {
	clock := fmt.Sprintf("%*s ", timelineGutter-1, clock(at.Sub(t.start)))
	dated := make([]string, 0, len(lines))
	for _, line := range lines {
		switch {
		case line == "":
			dated = append(dated, "")
			continue
		case clock != "":
			line = t.narr.Paint(InkDim, clock) + line
		default:
			line = strings.Repeat(" ", timelineGutter) + line
		}
		dated, clock = append(dated, line), ""
	}
	return WriteLines(t.w, dated)
}

// WriteProse writes a report, a plan or a request as it is, made safe for a
// terminal.
func WriteProse(w io.Writer, text string, opts Options) error {
	text = SafeText(strings.TrimRight(text, "\r\n"))
	if opts.ASCII {
		text = sanitizeASCII(text)
	}
	return WriteLines(w, []string{text})
}
