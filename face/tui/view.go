package tui

import (
	"context"
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/tui/draw"
	"github.com/plan-engine/plan/face/tui/story"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/internal/sanitize"
)

// view is a run as the session knows it.
type view struct {
	id     plan.RunID
	job    *queuedJob // whose run it is; nil for a run of the home
	story  *story.Story
	scroll *scroll
	feed   *feed
	panel  *panel // what waits for the person
	note   string // what the run last had to say beside its events
	passed string // what of it was waved aside: it is asked again when it changes

	typed    string                  // what the person asked for, until the run has begun
	early    []host.Letter           // what they said to it before
	drove    bool                    // it is driven here, or was
	parking  time.Time               // when it was told to park; zero for not
	stop     context.CancelCauseFunc // of a run that is driven here; nil for others
	unfollow context.CancelFunc      // of one that is read from the journal
	lost     bool                    // which could not be read any more
}

func (m *model) newView(id plan.RunID) *view {
	v := &view{
		id:     id,
		story:  story.New(),
		scroll: newScroll(m.theme),
		feed:   &feed{wake: m.wake},
	}
	v.scroll.width, v.scroll.height = m.width, m.height // until it is drawn
	return v
}

// isDriven reports whether this process drives the run.
func (v *view) isDriven() bool { return v.stop != nil }

// isLive reports whether the run goes on, here or elsewhere.
func (v *view) isLive() bool {
	s := v.story
	return s.Run != "" && !s.Final() && s.Parked == nil || v.isDriven() && v.panel == nil && !s.Final()
}

// mark says in a word how the run stands.
func (v *view) mark() string {
	s := v.story
	switch {
	case s.End != nil:
		return clean(string(s.End.Outcome))
	case v.panel != nil:
		return "waits for you"
	case s.Parked != nil:
		return clean("parked: " + string(s.Parked.Reason))
	}
	return string(s.Step().Phase)
}

// start begins a run in the background and looks at it.
func (m *model) start(req host.Request) tea.Cmd {
	req.ID = m.Host.NewRunID()
	v := m.newView(req.ID)
	v.typed = req.Text
	v.story.Title = sanitize.Line(host.FirstLine(req.Text))
	m.look(v)
	return m.drive(v, func(ctx context.Context, face host.Face) (host.End, error) {
		var err error
		if req.Text, err = m.Host.WithFiles(ctx, req.Dir, req.Text); err != nil {
			return host.End{}, err
		}
		return m.Host.Run(ctx, req, face)
	})
}

// resume goes on with a parked run in the background.
func (m *model) resume(v *view) tea.Cmd {
	if v.isDriven() {
		return nil
	}
	if v.job != nil {
		m.say("Its worker goes on with it after: plan batch resume " + clean(v.job.batch) + " --queue URL")
		return nil
	}
	id, opts := v.id, m.Options
	return m.drive(v, func(ctx context.Context, face host.Face) (host.End, error) {
		return m.Host.Resume(ctx, id, opts, face)
	})
}

// drive has this process drive a run in the background.
func (m *model) drive(v *view, work func(context.Context, host.Face) (host.End, error)) tea.Cmd {
	ctx, stop := context.WithCancelCause(m.ctx)
	v.stop, v.parking, v.drove = stop, time.Time{}, true
	m.views[v.id] = v
	face := host.Face{
		Begin: func(_ plan.RunID, past []plan.Event) {
			for _, ev := range past {
				v.feed.event(ev)
			}
			m.readWaiting(ctx, v)
		},
		Show:   v.feed.event,
		Note:   func(text string) { v.feed.put(note(text)) },
		Person: person{v.feed},
		Wait:   true,
	}
	done := make(chan endedMsg, 1)
	m.driven.Go(func() { // and not in the command: a program that ends may start none
		end, err := work(ctx, face)
		stop(nil)
		done <- endedMsg{view: v, end: end, err: err}
	})
	return func() tea.Msg { return <-done }
}

// ended takes the end of a run that was driven here, or of driving it.
func (m *model) ended(msg endedMsg) tea.Cmd {
	v := msg.view
	v.stop = nil
	if !v.parking.IsZero() {
		v.parking = time.Time{}
		m.say("")
	}
	cmd := m.drainView(v)
	v.panel = nil
	if msg.err != nil {
		m.fail(msg.err)
		if v.story.Run == "" { // it never began
			m.takeBack(v)
		}
	}
	cmds := []tea.Cmd{cmd, m.loadHome()}
	if v.story.Run != "" && !v.story.Final() {
		cmds = append(cmds, m.follow(v)) // another process may go on with it
	}
	cmds = append(cmds, m.notify(v))
	if m.quits {
		cmds = append(cmds, m.quit())
	}
	return tea.Batch(cmds...)
}

// takeBack has the person write again what was to be a run, with what they said to it.
func (m *model) takeBack(v *view) {
	delete(m.views, v.id)
	if m.view != v {
		return
	}
	m.screen, m.view = atHome, nil
	texts := []string{v.typed}
	for _, l := range v.early {
		texts = append(texts, l.Text)
	}
	if !m.write.Empty() {
		texts = append(texts, m.write.Text())
	}
	m.write.Set(strings.Join(texts, "\n"))
}

// openRun looks at a run of the home.
func (m *model) openRun(id plan.RunID) tea.Cmd {
	if v := m.views[id]; v != nil {
		m.look(v)
		return nil
	}
	v := m.newView(id)
	m.views[id] = v
	m.look(v)
	return m.follow(v)
}

// look has the terminal show a run.
func (m *model) look(v *view) {
	m.screen, m.view, m.focus, m.reader = atRun, v, onText, nil
	m.say("")
}

// follow reads the events of a run from its journal, as they come.
func (m *model) follow(v *view) tea.Cmd {
	if v.unfollow != nil {
		v.unfollow()
	}
	ctx, stop := context.WithCancel(m.ctx)
	v.unfollow, v.lost = stop, false
	after := v.story.Head
	events := m.Host.Follow(ctx, v.id, after)
	if v.job != nil {
		events = m.queuedEvents(ctx, v.id, after)
	}
	return func() tea.Msg {
		// What waits in the inbox once its journal has come so far is heard later than that.
		var head int64
		if info, err := m.Host.Info(ctx, v.id); err == nil && after == 0 {
			head = info.Head
		}
		for ev, err := range events {
			if err != nil {
				v.feed.put(lost{})
				return doneMsg{err: err}
			}
			if v.feed.event(ev); ev.Seq == head && head > 0 {
				m.readWaiting(ctx, v)
			}
		}
		return nil
	}
}

// readWaiting hands over what was said to a run and no event tells of. It is no worry
// where that cannot be read.
func (m *model) readWaiting(ctx context.Context, v *view) {
	if letters, err := m.Host.Unread(ctx, v.id); err == nil && len(letters) > 0 {
		v.feed.put(unread(letters))
	}
}

// drainView takes what has come of a run.
func (m *model) drainView(v *view) tea.Cmd {
	var cmds []tea.Cmd
	mark := v.mark()
	for _, item := range v.feed.take() {
		switch item := item.(type) {
		case plan.Event:
			v.story.Add(item)
		case unread:
			for _, l := range item {
				v.story.Waits(host.WithoutFiles(l.Text), l.Kind == host.FollowUp)
			}
		case note:
			v.note = clean(string(item))
			if m.inline != nil {
				m.inline.lines = append(m.inline.lines, m.theme.Dim.Render("  note: "+v.note))
			}
		case lost:
			v.lost = true
		case finish:
			m.inline.finished, v.panel, v.stop = true, nil, nil
		case asked:
			v.panel = newPanel(item.ask, v, m.Now())
			cmds = append(cmds, m.notify(v))
		case withdrawn:
			if v.panel != nil && v.panel.ask == item.ask {
				v.panel = nil
				if item.elsewhere {
					m.say("It was decided elsewhere just now.")
				}
			}
		}
	}
	v.scroll.blocks = v.story.Blocks
	m.askOfJournal(v)
	cmds = append(cmds, m.findWindow(v.story), m.sendEarly(v))
	if !v.isDriven() && v.mark() != mark {
		cmds = append(cmds, m.notify(v))
	}
	return tea.Batch(cmds...)
}

// askOfJournal asks about what a run waits with that this process does not drive.
func (m *model) askOfJournal(v *view) {
	p := v.story.Parked
	if v.isDriven() || v.panel != nil && v.panel.ask != nil {
		return
	}
	waiting := v.askable(p)
	if len(waiting) == 0 {
		if v.panel != nil {
			v.panel = nil
			m.say("It was decided elsewhere just now.")
		}
		return
	}
	if v.panel == nil && v.passed != waitingKey(waiting) {
		v.panel = newPanel(&ask{waiting: waiting, doc: v.story.Plan}, v, m.Now())
	}
}

func waitingKey(calls []plan.WaitingCall) string {
	var b strings.Builder
	for _, c := range calls {
		b.WriteString(c.Call + c.Digest + "\n")
	}
	return b.String()
}

// clean makes one safe line of a text.
func clean(text string) string { return sanitize.Line(strings.Join(strings.Fields(text), " ")) }

// errorText are an error, and what to do about it.
func errorText(err error) string {
	text := err.Error()
	var final *host.FinalError
	if errors.As(err, &final) {
		return text
	}
	if advice := hint.Of(err); advice != "" {
		text += ". " + advice
	}
	return text
}

// join makes a page of rows: as many as there is room for, each no wider than it.
func join(rows []string, width, height int) string {
	for i, row := range rows {
		if draw.Width(row) > width {
			rows[i] = draw.Cut(row, width)
		}
	}
	return strings.Join(rows[:min(len(rows), height)], "\n")
}
