package tui

import (
	"context"
	"fmt"
	"iter"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
)

// queuedJob is a job of the queue that is watched. Its run is driven by a worker: what it
// does is read from the queue, and what is said to it goes there.
type queuedJob struct{ batch, id string }

// openQueued looks at the run of a job in the queue.
func (m *model) openQueued(id plan.RunID, of queuedJob) tea.Cmd {
	v := m.views[id]
	if v == nil || v.job == nil {
		v = m.newView(id)
		v.job = &of
		m.views[id] = v
	} else if !v.lost {
		m.look(v)
		return nil
	}
	m.look(v)
	return m.follow(v)
}

// queuedEvents are the events of a run as the queue has them.
func (m *model) queuedEvents(ctx context.Context, id plan.RunID, after int64) iter.Seq2[plan.Event, error] {
	return func(yield func(plan.Event, error) bool) {
		for line, err := range m.Queue.Events(ctx, string(id), after, true) {
			var ev plan.Event
			if err == nil {
				err = ev.UnmarshalJSON(line.JSON)
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// askable is what is asked at once of what a run waits with. That of a job goes on after each
// decision, and a yes is for what was shown alone: its settings are a worker's.
func (v *view) askable(p *plan.Parked) []plan.WaitingCall {
	switch {
	case p == nil || len(p.Waiting) == 0:
		return nil
	case v.job == nil:
		return p.Waiting
	}
	first := p.Waiting[0]
	first.Grant = plan.Grant{}
	return []plan.WaitingCall{first}
}

// decideQueued has a job go on with what was decided.
func (m *model) decideQueued(id plan.RunID, of queuedJob, given []host.Letter) tea.Cmd {
	return func() tea.Msg {
		for _, l := range given {
			var err error
			if l.Kind == host.Answer {
				_, _, err = m.Queue.Tell(m.ctx, string(id), l)
			} else {
				_, _, err = m.Queue.Decide(m.ctx, of.batch, of.id, host.Decision{
					Approve: l.Kind == host.Approve,
					Call:    l.Call,
					Digest:  l.Digest,
					Text:    l.Text,
					Plan:    l.Plan,
					Reject:  l.Reject,
				})
			}
			if err != nil {
				return doneMsg{err: fmt.Errorf("decide: %w", err)}
			}
		}
		return doneMsg{text: "Decided. The next worker that is free goes on with job " + of.id + "."}
	}
}

// sendQueued hands a letter to the run of a job.
func (m *model) sendQueued(v *view, l host.Letter) tea.Cmd {
	return func() tea.Msg {
		_, again, err := m.Queue.Tell(m.ctx, string(v.id), l)
		switch {
		case err != nil:
			return unsentMsg{
				view:  v,
				text:  l.Text,
				after: l.Kind == host.FollowUp,
				err:   err,
			}
		case again:
			return doneMsg{text: "The next worker that is free goes on with job " + v.job.id + "."}
		}
		return doneMsg{}
	}
}

// isForQueued reports whether a command is there for the run of a job in a queue, too: of those
// about a run it is those that a view of that one alone has.
func (c command) isForQueued() bool { return !c.run || c.inline() }
