// Package tui is the terminal session: where a person starts runs, watches them, steers
// them, and decides what they wait for. A run is shown by folding its events (package
// story), and drawn by the rows that are seen of it (package draw).
//
// It must not know how a run is driven, which is host's, or which command it was opened
// by. It shows nothing on a place that is no terminal: there other views are right.
package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/tui/draw"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
)

// Config is the world as a session sees it.
type Config struct {
	Host    *host.Host
	Dir     string   // the repository, or a folder in it
	In, Out *os.File // a terminal
	Environ []string // of the person's editor
	Now     func() time.Time
	// Options are those that runs are started with.
	Options host.Options
	// Kill ends the process at once; what is recorded stays so.
	Kill func()
	// Suspend stops the process until it is continued, as Ctrl-Z does.
	Suspend func()
	// Queue has batches that are seen beside those of the home, nil for none.
	Queue *batches.Queued
	// Watch opens the view of all that goes on in the home.
	Watch bool
	// Run is opened at once, "" for none.
	Run plan.RunID
}

// Session lets a person live in the terminal, until they leave or ctx ends. Runs that
// go on then are parked first.
func Session(ctx context.Context, cfg Config) error {
	// Those that are driven here outlive the program that draws them, and end with ctx.
	m := newModel(ctx, cfg)
	p := tea.NewProgram(
		m,
		tea.WithInput(cfg.In),
		tea.WithOutput(cfg.Out),
		tea.WithEnvironment(cfg.Environ),
		tea.WithoutSignalHandler(),
	)
	stopped := context.AfterFunc(ctx, p.Quit)
	defer stopped()
	err := runProgram(p)
	m.stopAll(engine.ErrInterrupted)
	m.driven.Wait()
	if errors.Is(err, tea.ErrProgramKilled) || ctx.Err() != nil {
		return nil // the terminal is gone, or the process was told to stop
	}
	if err != nil {
		return fmt.Errorf("draw the session: %w", err)
	}
	for _, row := range m.farewell() {
		if _, err := fmt.Fprintln(cfg.Out, row); err != nil {
			return fmt.Errorf("say how the runs stand: %w", err)
		}
	}
	return nil
}

// runProgram runs it to its end.
func runProgram(p *tea.Program) error {
	_, err := p.Run()
	return err //nolint:wrapcheck // the caller says what it was for
}

// screen is what the whole of the terminal shows.
type screen int

const (
	atHome screen = iota
	atRun
	atWatch
	atBatch
)

// model is the session. It is changed by one goroutine.
type model struct {
	Config
	ctx   context.Context //nolint:containedctx // of all that the session starts
	theme *draw.Theme

	width, height int
	narrow        bool // the terminal is smaller than that
	screen        screen
	back          screen // where one gets by leaving the run that is looked at
	focus         focus
	write         writing
	home          home
	watch         watch
	batch         batchPage
	reads         int // of the board or a batch
	views         map[plan.RunID]*view
	view          *view // the one that is looked at
	windows       map[string]int64
	reader        *reader
	status        string // a word about what was done last
	statusAt      time.Time
	isBad         bool      // the word is about something that failed
	runWish       runWish   // what the next run is started with
	leaving       time.Time // when the person first wished to
	quits         bool
	clock         bool    // a tick is under way
	inline        *inline // of a view in line; nil for a session

	wake   chan struct{}
	driven *sync.WaitGroup
}

// focus says what keys are for.
type focus int

const (
	onText  focus = iota // they are written
	onStory              // they move and fold
)

// runWish is what the person wants of the runs that they start.
type runWish struct {
	model, way  string
	approvePlan *bool
	question    string // a request that reads as a question, and waits for a word about it
}

func newModel(ctx context.Context, cfg Config) *model {
	m := &model{
		Config:  cfg,
		ctx:     ctx,
		theme:   draw.NewTheme(),
		width:   80,
		height:  24,
		views:   map[plan.RunID]*view{},
		windows: map[string]int64{},
		wake:    make(chan struct{}, 1),
		driven:  &sync.WaitGroup{},
	}
	if m.Now == nil {
		m.Now = time.Now
	}
	if cfg.Watch {
		m.screen, m.back = atWatch, atWatch
	}
	return m
}

// The messages of the session.
type (
	frameMsg struct{}  // something has come in a feed
	tickMsg  time.Time // a clock that is shown goes on
	doneMsg  struct {  // something that was asked for is done
		text string
		err  error
		then func() tea.Cmd
	}
	endedMsg struct { // a run that was driven here
		view *view
		end  host.End
		err  error
	}
)

// frameTime is how long a picture stays at least.
const frameTime = 40 * time.Millisecond

// Init implements tea.Model.
func (m *model) Init() tea.Cmd {
	if m.inline != nil {
		return tea.Batch(m.awaitFrame(), m.loadFiles(), m.findWindow(m.view.story))
	}
	cmds := []tea.Cmd{m.awaitFrame(), m.loadHome(), m.loadFiles()}
	if m.screen == atWatch {
		cmds = append(cmds, m.loadBoard())
	}
	if m.Run != "" {
		cmds = append(cmds, m.openRun(m.Run))
	}
	return tea.Batch(cmds...)
}

// awaitFrame waits until something has come, and then for the end of the picture.
func (m *model) awaitFrame() tea.Cmd {
	return func() tea.Msg {
		select {
		case <-m.wake:
		case <-m.ctx.Done():
			return nil
		}
		pause := time.NewTimer(frameTime)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-m.ctx.Done():
		}
		return frameMsg{}
	}
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width > 0 && msg.Height > 0 { // else the terminal does not say
			const width, height = 20, 6 // what does not fit in is cut off
			m.width, m.height = max(msg.Width, width), max(msg.Height, height)
			m.narrow = msg.Width < width || msg.Height < height
		}
		return m, nil
	case frameMsg:
		cmds := []tea.Cmd{m.drain(), m.awaitFrame(), m.tick()}
		if m.inline != nil {
			cmds = append(cmds, m.scrollOff())
		}
		return m, tea.Batch(cmds...)
	case printedMsg:
		m.inline.printing = false
		return m, m.scrollOff()
	case tickMsg:
		m.clock = false
		return m, m.tick()
	case listMsg:
		return m, m.listed(msg)
	case boardMsg:
		return m, m.boarded(msg)
	case batchMsg:
		return m, m.batched(msg)
	case filesMsg:
		m.write.files = msg
		return m, nil
	case windowMsg:
		m.windows[msg.model] = msg.tokens
		return m, nil
	case readMsg:
		return m, m.show(msg)
	case endedMsg:
		return m, m.ended(msg)
	case unsentMsg:
		m.unsent(msg)
		return m, nil
	case doneMsg:
		return m, m.done(msg)
	case editedMsg:
		return m, m.edited(msg)
	case tea.PasteMsg:
		return m, m.pasted(msg.Content)
	case tea.MouseWheelMsg:
		m.wheel(msg)
		return m, nil
	case tea.KeyPressMsg:
		return m, tea.Batch(m.key(msg), m.tick())
	}
	return m, nil
}

// show has a text read: on the whole of the terminal, or in what the shell keeps.
func (m *model) show(msg readMsg) tea.Cmd {
	r := newReader(msg)
	if m.inline != nil {
		return m.printNow(append(r.all(m.theme, m.width-1), ""))
	}
	m.reader = r
	return nil
}

// done tells what came of something that was asked for.
func (m *model) done(msg doneMsg) tea.Cmd {
	m.say(msg.text)
	if msg.err != nil {
		m.fail(msg.err)
		return nil
	}
	if msg.then != nil {
		return msg.then()
	}
	return nil
}

// tick has the clocks go on while something runs.
func (m *model) tick() tea.Cmd {
	if m.clock || !m.moves() {
		return nil
	}
	m.clock = true
	const often = 250 * time.Millisecond
	return tea.Tick(often, func(at time.Time) tea.Msg { return tickMsg(at) })
}

// moves reports whether something that is shown changes as time goes by.
func (m *model) moves() bool {
	switch {
	case m.screen == atWatch, m.screen == atBatch:
		return true
	case m.view == nil || m.screen != atRun:
		return false
	}
	return m.view.isLive() || m.view.panel != nil && !m.view.panel.armed(m.Now())
}

// drain takes what has come in all feeds.
func (m *model) drain() tea.Cmd {
	var cmds []tea.Cmd
	for _, v := range m.views {
		cmds = append(cmds, m.drainView(v))
	}
	return tea.Batch(cmds...)
}

func (m *model) say(text string) { m.status, m.isBad, m.statusAt = clean(text), false, m.Now() }

func (m *model) fail(err error) { m.status, m.isBad = clean(errorText(err)), true }

// View implements tea.Model.
func (m *model) View() tea.View {
	rows, cursor := m.picture()
	text := join(rows, m.width, m.height)
	if text == "" {
		text = " " // or the first row of the picture before would stay
	}
	v := tea.NewView(text)
	v.Cursor = cursor
	v.WindowTitle = m.title()
	if m.inline == nil {
		v.AltScreen = true
		v.MouseMode = tea.MouseModeCellMotion
	}
	return v
}

// picture is all that is seen.
func (m *model) picture() (rows []string, cursor *tea.Cursor) {
	switch {
	case m.inline != nil:
		return m.linePage()
	case m.reader != nil:
		return m.reader.view(m.theme, m.width, m.height), nil
	case m.screen == atWatch:
		return m.watchPage(), nil
	case m.screen == atBatch:
		return m.batchRows(), nil
	case m.screen == atRun && m.view != nil:
		return m.runPage()
	}
	return m.homePage()
}

// title is that of the terminal's window.
func (m *model) title() string {
	if m.screen == atRun && m.view != nil {
		return "plan: " + cmp.Or(m.view.mark(), "…") + " " + draw.Cut(m.view.story.Title, 60)
	}
	return "plan"
}
