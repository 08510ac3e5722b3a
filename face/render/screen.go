package render

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan"
)

// Control sequences of the screen. All of them act at or below the first row
// that the screen itself has drawn and not yet given to the scroll-back.
const (
	clearToLineEnd   = "\x1b[K"
	clearToScreenEnd = "\x1b[J"
	wrapOff          = "\x1b[?7l"
	wrapOn           = "\x1b[?7h"
)

// screen shows a run on a terminal. Finished lines go to the scroll-back. Under
// them is the live part, which is drawn again and again: the row of text that
// the model is writing, if it is, and one line of status.
//
// Events only change the picture that is kept here; paint brings the terminal
// up to it in one write. A goroutine paints when time passes or text arrives.
type screen struct {
	quit, done chan struct{}
	closing    sync.Once

	mu     sync.Mutex
	w      io.Writer
	opts   Options
	narr   *narrator
	status status

	// The message that is being shown as it comes.
	flow     *textFlow
	flowConv string
	streamed strings.Builder

	finished []string // lines for the scroll-back that are not written yet
	live     []string // the live rows on the terminal
	widths   []int    // their widths in columns
	columns  int      // of the terminal when they were drawn
	err      error
}

// NewScreen returns a viewer for a terminal whose cursor can be moved.
// The bottom row stays a line of status until Close.
func NewScreen(w io.Writer, opts Options) Viewer {
	s := &screen{
		w:    w,
		opts: opts,
		narr: newNarrator(opts),
		quit: make(chan struct{}),
		done: make(chan struct{}),
	}
	s.status.idle = true
	s.status.started = opts.now()
	go s.run()
	return s
}

// run paints until Close.
func (s *screen) run() {
	defer close(s.done)
	ticks := time.NewTicker(frameTime)
	defer ticks.Stop()
	for {
		select {
		case <-s.quit:
			return
		case <-ticks.C:
			s.mu.Lock()
			s.Paint()
			s.mu.Unlock()
		}
	}
}

func (s *screen) Event(e plan.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.observe(s.narr.Look, e, s.opts.now())
	if b, ok := e.Body.(plan.MessageUpdate); ok {
		s.stream(e, b)
		return // shown with the next frame
	}
	if e.Live() {
		return
	}
	switch b := e.Body.(type) {
	case plan.Retry:
		s.drop(e.Conv)
	case plan.MessageEnd:
		if s.endStream(e, b) {
			s.narr.tally.Add(e)
			s.Paint()
			return
		}
	case plan.PhaseEnd, plan.Parked, plan.RunEnd:
		s.drop(s.flowConv)
	}
	s.finished = append(s.finished, s.narr.lines(e)...)
	s.Paint()
}

// stream takes a piece of the text that is being written. Only one message is
// shown that way; others, and those of sub-agents, wait for their end.
func (s *screen) stream(e plan.Event, b plan.MessageUpdate) {
	if b.Kind != plan.BlockText || e.Parent != "" || s.flow != nil && s.flowConv != e.Conv {
		return
	}
	if s.flow == nil {
		s.flow, s.flowConv = s.narr.flow(e.Phase), e.Conv
	}
	s.streamed.WriteString(b.Text)
	s.finished = append(s.finished, s.flow.add(b.Text)...)
}

// endStream finishes a message that was shown as it came; it reports whether
// there is nothing more to show of it.
func (s *screen) endStream(e plan.Event, b plan.MessageEnd) bool {
	if s.flow == nil || s.flowConv != e.Conv || b.Role != plan.RoleAssistant {
		return false
	}
	if b.Discarded {
		s.discard(e.Conv, discardedWords(b.Stop))
		return true
	}
	// Pieces may have been left out at the end when the terminal was slow.
	if rest, ok := strings.CutPrefix(spokenText(b.Message), s.streamed.String()); ok {
		s.finished = append(s.finished, s.flow.add(rest)...)
	}
	s.finished = append(s.finished, s.flow.end()...)
	s.forget()
	return true
}

// discardedWords says why an answer is no part of the conversation.
func discardedWords(stop string) string {
	if stop == "" {
		return "the answer above broke off"
	}
	return "the answer above ended as " + stop
}

// drop marks what was shown of a message as broken off.
func (s *screen) drop(conv string) { s.discard(conv, discardedWords("")) }

// discard marks what was shown of a message as not being part of the
// conversation.
func (s *screen) discard(conv, why string) {
	if s.flow == nil || s.flowConv != conv {
		return
	}
	s.finished = append(s.finished, s.flow.end()...)
	if s.flow.spoken {
		s.finished = append(s.finished, s.narr.Paint(InkYellow, textIndent+s.narr.again+" discarded: "+why))
	}
	s.forget()
}

func (s *screen) forget() {
	s.flow, s.flowConv = nil, ""
	s.streamed.Reset()
}

// rows is the live part as it should be.
func (s *screen) rows(columns int) []string {
	var rows []string
	width := columns - 1 // a character in the last column may wrap
	if s.flow != nil {
		if open := s.flow.open(); open != "" {
			rows = append(rows, s.narr.CutTo(open, width, false))
		}
	}
	if line := s.status.line(s.narr.Look, s.narr.tally, min(width, MaxColumns), s.opts.now()); line != "" {
		rows = append(rows, line)
	}
	return rows
}

// Paint brings the terminal up to date. Rows are overwritten rather than
// cleared first, which would flicker.
func (s *screen) Paint() {
	columns := s.opts.Columns()
	rows := s.rows(columns)
	if len(s.finished) == 0 && columns == s.columns && slices.Equal(rows, s.live) {
		return
	}
	s.draw(rows, columns)
}

func (s *screen) draw(rows []string, columns int) {
	var b bytes.Buffer
	s.home(&b, columns)
	if len(s.finished) > 0 {
		b.WriteString(clearToScreenEnd)
	}
	for _, line := range s.finished {
		b.WriteString(line)
		b.WriteByte('\n')
	}
	s.finished, s.live, s.widths, s.columns = nil, rows, nil, columns
	for i, row := range rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(wrapOff + row + wrapOn + clearToLineEnd)
		s.widths = append(s.widths, cellWidth(SafeText(row))) // without its colours
	}
	b.WriteString(clearToScreenEnd)
	if s.err != nil {
		return
	}
	if _, err := s.w.Write(b.Bytes()); err != nil {
		s.err = fmt.Errorf("write to the terminal: %w", err)
	}
}

// home moves the cursor to the beginning of the live part. A terminal that
// was made narrower has broken its rows into several.
func (s *screen) home(b *bytes.Buffer, columns int) {
	up := len(s.live) - 1
	if columns < s.columns {
		for _, width := range s.widths {
			up += max(0, width-1) / max(columns, 1)
		}
	}
	b.WriteByte('\r')
	if up > 0 {
		fmt.Fprintf(b, "\x1b[%dA", up)
	}
}

// Close takes the live part away and returns the first write error.
func (s *screen) Close() error {
	s.closing.Do(func() {
		close(s.quit)
		<-s.done
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(s.flowConv)
		if len(s.finished) > 0 || len(s.live) > 0 {
			s.draw(nil, s.opts.Columns())
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	return UnlessReaderLeft(s.err)
}
