package tui

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
)

// panelKey takes a key where something waits for the person.
func (m *model) panelKey(v *view, msg tea.KeyPressMsg) tea.Cmd {
	p := v.panel
	line, entered := p.key(msg, m.height, m.Now())
	if !entered {
		return nil
	}
	m.say("")
	if isCommand(line) {
		return m.command(line)
	}
	switch {
	case p.ask.trust != nil:
		word := strings.ToLower(line)
		p.ask.reply <- answer{later: word != "y" && word != "yes"}
		v.panel = nil
		return nil
	case p.ask.drift != nil:
		if choice, ok := p.driftAnswer(line); ok {
			v.panel = nil
			p.ask.reply <- choice
		}
		return nil
	case p.isPlan() && (line == "e" || line == "edit"):
		return m.edit(p)
	}
	letter, later := p.decide(line)
	switch {
	case later:
		m.say("Left for later. Enter on an empty line shows it again.")
		return m.submit(v, true)
	case letter == nil:
		return nil
	}
	return m.give(v, *letter)
}

// give takes a decision, and asks about the next call, if there is one.
func (m *model) give(v *view, l host.Letter) tea.Cmd {
	p := v.panel
	p.given = append(p.given, l)
	p.at++
	p.offset, p.picked, p.notes, p.seen, p.quiet = 0, 0, nil, false, m.Now()
	if p.at < len(p.ask.waiting) {
		return nil
	}
	return m.submit(v, false)
}

// submit hands over what was decided.
func (m *model) submit(v *view, later bool) tea.Cmd {
	p := v.panel
	v.panel = nil
	if later {
		v.passed = waitingKey(p.ask.waiting)
	}
	if p.ask.reply != nil {
		p.ask.reply <- answer{letters: p.given, later: later}
		return nil
	}
	v.passed = waitingKey(p.ask.waiting)
	if len(p.given) == 0 {
		return nil
	}
	id, given := v.id, p.given
	if v.job != nil {
		return m.decideQueued(id, *v.job, given)
	}
	return func() tea.Msg {
		driven, err := m.tellDecisions(m.ctx, id, given)
		return doneMsg{
			err:  err,
			text: "Decided.",
			then: func() tea.Cmd {
				if driven || later {
					return nil
				}
				return m.resume(v)
			},
		}
	}
}

// tellDecisions puts decisions into the inbox of a run, each for what was shown and no
// other. It reports whether a process drives the run, and reads them.
func (m *model) tellDecisions(ctx context.Context, id plan.RunID, given []host.Letter) (driven bool, err error) {
	for _, l := range given {
		held := false
		if l.Kind == host.Answer {
			result, err := m.Host.Tell(ctx, id, l)
			if err != nil {
				return false, fmt.Errorf("answer: %w", err)
			}
			held = result.Driver != nil
		} else {
			driver, err := m.Host.Decide(ctx, id, host.Decision{
				Approve: l.Kind == host.Approve,
				Call:    l.Call,
				Digest:  l.Digest,
				Text:    l.Text,
				Scope:   l.Scope,
				Plan:    l.Plan,
				Reject:  l.Reject,
			})
			if err != nil {
				return false, fmt.Errorf("decide: %w", err)
			}
			held = driver != nil
		}
		driven = driven || held
	}
	return driven, nil
}
