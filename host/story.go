package host

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// story is the part of a run's journal that was written elsewhere. It tells what
// happened; what it allows, shows, has checked or has found good is nothing that
// holds here. The zero value is that of a run that was begun here.
type story struct {
	upTo int64 // seq of its last event
	// convs are the conversations that go on from it. A review goes on from nothing
	// that was said elsewhere: it begins again.
	convs map[string]bool
}

func (s story) isForeign() bool { return s.upTo > 0 }

// readStory finds out which part of a run's journal was written elsewhere. A fork
// begins as the run does that it was made of, however often that was done: earlier
// programs noted it of the first run alone.
func readStory(ctx context.Context, db *memory.DB, run plan.RunID, past []plan.Event) (story, error) {
	upTo, err := importedUpTo(ctx, db, run, startOf(past))
	if err != nil || upTo == 0 {
		return story{}, err
	}
	s := story{upTo: upTo, convs: map[string]bool{}}
	reviews := map[string]bool{}
	for _, ev := range past {
		if ev.Type() != plan.TypePhaseStart || ev.Seq > upTo {
			continue
		}
		s.convs[ev.Conv] = true
		if ev.Phase == plan.Review {
			reviews[ev.Conv] = true
		}
	}
	for conv := range reviews {
		delete(s.convs, conv)
	}
	return s, nil
}

// importedUpTo is the seq of the last event of a run that was written elsewhere, 0 for
// none.
func importedUpTo(ctx context.Context, db *memory.DB, run plan.RunID, start *plan.RunStart) (int64, error) {
	upTo, err := db.Imported(ctx, run)
	if err != nil || upTo > 0 || start == nil || start.ForkedFrom == nil || start.ForkedFrom.Run >= run {
		return upTo, err // ids grow: no run is forked from a later one
	}
	from := start.ForkedFrom
	var before *plan.RunStart
	for ev, err := range db.Events(ctx, from.Run, memory.Query{Types: []plan.EventType{plan.TypeRunStart}}) {
		if errors.Is(err, memory.ErrNoRun) {
			return 0, nil
		}
		if err != nil {
			return 0, wrap("read the run that it was forked from", err)
		}
		before = startOf([]plan.Event{ev})
		break
	}
	if upTo, err = importedUpTo(ctx, db, from.Run, before); err != nil {
		return 0, err
	}
	return min(upTo, from.Seq), nil
}

// startOf is the beginning of a journal, nil if it is not there.
func startOf(past []plan.Event) *plan.RunStart {
	if len(past) == 0 {
		return nil
	}
	if b, ok := past[0].Body.(plan.RunStart); ok {
		return &b
	}
	return nil
}

// tell is an event as it counts here.
func (s story) tell(ev plan.Event) plan.Event {
	if ev.Seq > s.upTo {
		return ev
	}
	switch b := ev.Body.(type) {
	case plan.RunStart:
		b.View = plan.ViewSnapshot // what checks and reviews see is not chosen there
		ev.Body = b
	case plan.ApprovalResolved:
		if b.Approved {
			return untold(ev)
		}
	case plan.Adjusted:
		return untold(ev)
	case plan.ApprovalRequired:
		// What it does, and what a longer yes would allow, is what this process says.
		ev.Body = plan.ApprovalRequired{
			Call:    b.Call,
			Name:    b.Name,
			Args:    b.Args,
			Version: b.Version,
		}
	case plan.Parked:
		b.Waiting = nil // the events say it
		ev.Body = b
	case plan.ToolStart:
		b.Effect, b.Intent = plan.EffectUnknown, nil // it is not run again, nor brought to its end
		ev.Body = b
	case plan.CheckEnd:
		b.Cancelled = true // it is run again
		ev.Body = b
	case plan.UsageReport:
		if !b.Plausible() { // it would take back what was used
			return untold(ev)
		}
	}
	return ev
}

// untold is an event that says nothing.
func untold(ev plan.Event) plan.Event {
	ev.Body = plan.Unknown{Kind: ev.Type(), Raw: json.RawMessage("{}")}
	return ev
}

// isPartOf reports whether an event belongs to what a conversation goes on from.
func (s story) isPartOf(conv string, ev plan.Event) bool {
	return ev.Conv == conv && (ev.Seq > s.upTo || s.convs[conv])
}
