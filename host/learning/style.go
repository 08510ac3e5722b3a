package learning

import (
	"context"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// style is what the person has written to the run that is driven, until it is learned.
type style struct {
	remarks []memory.Remark
	// notOurs is the seq up to which the journal was written elsewhere, or is that of the
	// run that this one was forked from, which has learned from it.
	notOurs int64
}

// hear takes in what the person wrote.
func (s *style) hear(ev plan.Event) {
	var text string
	switch b := ev.Body.(type) {
	case plan.RunStart:
		if b.ForkedFrom != nil {
			s.notOurs = max(s.notOurs, b.ForkedFrom.Seq)
		}
		if b.Against == nil || !b.Against.Claimed {
			text = b.Request
		}
	case plan.Steering:
		text = b.Text
	case plan.FollowUp:
		text = b.Text
	}
	if text != "" && ev.Seq > s.notOurs {
		s.remarks = append(s.remarks, memory.Remark{Seq: ev.Seq, Text: text})
	}
}

// LearnStyle learns how the person writes from what they wrote to the run that is
// driven, where the events, which were observed, end a turn: a run that parks, is killed
// or goes on for days teaches as well as one that ends. What was learned once, also by an
// earlier process, is not learned again. A nil Learning learns nothing.
func (l *Learning) LearnStyle(ctx context.Context, events ...plan.Event) {
	if l == nil || l.settings.Memory.Off {
		return
	}
	var turned, ended bool
	for _, ev := range events {
		switch ev.Type() {
		case plan.TypeTurnEnd, plan.TypeParked:
			turned = true
		case plan.TypeRunEnd:
			turned, ended = true, true
		}
	}
	if !turned {
		return
	}
	l.mu.Lock()
	run, remarks := l.run, l.style.remarks
	l.style.remarks = nil
	l.mu.Unlock()
	if len(remarks) > 0 {
		_ = l.db.ObserveStyle(ctx, run, remarks...) // the run goes on all the same
	}
	if ended {
		_ = l.db.EndStyle(ctx, run)
	}
}
