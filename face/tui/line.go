package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/tui/draw"
	"github.com/plan-engine/plan/face/tui/story"
	"github.com/plan-engine/plan/host"
)

// Line is the live view of one run under what a shell has written: what is at its end
// goes to the scrollback, where it stays, and below it stand what goes on, and where one
// writes or decides.
type Line struct {
	m       *model
	feed    *feed
	program *tea.Program
	ended   chan error
	cancel  context.CancelFunc // ends what the view waits for
}

// NewLine makes the view. It shows nothing before Begin, and goes on until Close: what
// a run that was interrupted still says is shown.
func NewLine(ctx context.Context, cfg Config) *Line {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m := newModel(ctx, cfg)
	m.inline = &inline{}
	m.screen = atRun
	return &Line{
		m:      m,
		feed:   &feed{wake: m.wake},
		ended:  make(chan error, 1),
		cancel: cancel,
	}
}

// Person asks what the run waits for.
func (l *Line) Person() host.Person { return person{l.feed} }

// Note takes what people should know and can do without.
func (l *Line) Note(text string) { l.feed.put(note(text)) }

// Event takes an event of the run. It does not block.
func (l *Line) Event(ev plan.Event) { l.feed.event(ev) }

// Begin opens the view of a run. What it has in its journal already was shown before.
func (l *Line) Begin(run plan.RunID, past []plan.Event) {
	m := l.m
	v := m.newView(run)
	v.feed = l.feed
	for _, ev := range past {
		v.story.Add(ev)
	}
	v.scroll.blocks = v.story.Blocks
	m.inline.printed = len(v.story.Blocks)
	v.stop = func(error) { _ = syscall.Kill(syscall.Getpid(), syscall.SIGINT) } // as if it were typed in a line
	m.views[run] = v
	m.look(v)
	l.program = tea.NewProgram(
		m,
		tea.WithInput(m.In),
		tea.WithOutput(m.Out),
		tea.WithEnvironment(m.Environ),
		tea.WithoutSignalHandler(),
	)
	go func() { l.ended <- runProgram(l.program) }()
}

// patience is how long a terminal may take to show what is left.
const patience = 2 * time.Second

// Close shows what is left, and gives the terminal back. One that takes no output does
// not hold it up for long.
func (l *Line) Close() error {
	defer l.cancel()
	if l.program == nil {
		return nil
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	l.feed.put(finish{})
	select {
	case err := <-l.ended:
		if errors.Is(err, tea.ErrProgramKilled) || errors.Is(err, syscall.EIO) {
			return nil // the terminal is gone
		}
		if err != nil {
			return fmt.Errorf("draw the run: %w", err)
		}
	case <-late.C:
		l.program.Kill()
	}
	return nil
}

// finish is the end of what is shown.
type finish struct{}

// inline is what a view in line knows besides.
type inline struct {
	printed  int      // blocks that are in the scrollback
	lines    []string // that are to go there
	printing bool     // some are on their way: others wait, to keep the order
	finished bool
}

type printedMsg struct{}

// scrollOff hands what is at its end to the scrollback.
func (m *model) scrollOff() tea.Cmd {
	in, blocks := m.inline, m.view.story.Blocks
	for in.printed < len(blocks) && (blocks[in.printed].Done() || in.finished) {
		b := blocks[in.printed]
		in.printed++
		if b.Kind == story.Ended { // the summary tells it
			continue
		}
		in.lines = append(in.lines, m.theme.Block(b, draw.View{Width: m.width - 1, Now: m.Now()})...)
	}
	if in.printing {
		return nil
	}
	if len(in.lines) == 0 {
		if in.finished {
			return tea.Quit
		}
		return nil
	}
	// More than there is room for above the live rows, as they stand there now, cannot be
	// inserted at once. They take half of the terminal at most.
	n := min(len(in.lines), max(1, m.height/2-2))
	text := strings.Join(in.lines[:n], "\n")
	in.lines = in.lines[n:]
	in.printing = true
	return tea.Sequence(tea.Println(text), func() tea.Msg { return printedMsg{} })
}

// printNow puts rows into the scrollback.
func (m *model) printNow(rows []string) tea.Cmd {
	m.inline.lines = append(m.inline.lines, rows...)
	return m.scrollOff()
}

// linePage is what stands under the scrollback.
func (m *model) linePage() ([]string, *tea.Cursor) {
	v, now := m.view, m.Now()
	if v == nil || m.inline.finished {
		return nil, nil
	}
	var rows []string
	for _, b := range v.story.Blocks[min(m.inline.printed, len(v.story.Blocks)):] {
		if b.Kind == story.Asked && v.panel != nil {
			continue
		}
		rows = append(rows, m.theme.Block(b, draw.View{Width: m.width - 1, Now: now})...)
	}
	bottom, cursor := m.runBottom(v, now, m.height/2)
	rows = rows[max(0, len(rows)-max(0, m.height/2-len(bottom))):]
	if cursor != nil {
		cursor.Y += len(rows)
	}
	return append(rows, bottom...), cursor
}
