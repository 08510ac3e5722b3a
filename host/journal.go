package host

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host/learning"
	"github.com/plan-engine/plan/internal/failpoint"
	"github.com/plan-engine/plan/memory"
)

// journal is one run's journal as the engine wants it. Letters that were acted
// on are taken in the same commit as the events that follow from them.
type journal struct {
	db     *memory.DB
	writer *memory.Writer
	run    plan.RunID
	taken  func() []int64
	acted  []int64            // of those, what no commit has taken yet
	guard  *guard             // nil where no tool is called
	learn  *learning.Learning // nil where the run is only ended
	// hooked is what the hooks for a verdict came to that was kept back.
	hooked []plan.Event
	turns  *turnSnapshots // nil where none are needed
	// past is what the process that goes on with the run has read of the journal,
	// up to its end then.
	past  []plan.Event
	story story // what of it was written elsewhere
}

// Append implements engine.Journal.
func (j *journal) Append(ctx context.Context, events ...plan.Event) ([]plan.Event, error) {
	failpoint.Hit("before an append")
	defer failpoint.Hit("after an append")
	var unread []string // kinds of letters that keep these events from being recorded
	for _, ev := range events {
		end, _ := ev.Body.(plan.RunEnd)
		switch end.Outcome {
		case plan.Approved:
			unread = heardFirst()
		case plan.Planned:
			unread = []string{string(Steer), string(FollowUp)}
		}
	}
	events, err := j.turns.with(ctx, events)
	if err != nil {
		return nil, err
	}
	events, j.hooked = j.guard.withVerdictHooks(ctx, events, j.hooked)
	var letters []int64
	for _, ev := range events {
		move, _ := ev.Body.(plan.StateChange)
		if ev.Type() == plan.TypeRunEnd || move.Event == engine.Replanned {
			// A cancel is dealt with once the run has ended, not before; so is a
			// wish for another plan once the old one is given up.
			j.acted = append(j.acted, j.taken()...)
			letters = append(letters, j.acted...)
		}
		if t, ok := ev.Body.(plan.Taker); ok && t.TakesLetter() > 0 {
			letters = append(letters, t.TakesLetter())
		}
	}
	stored, err := j.writer.AppendUnlessUnread(ctx, unread, letters, events...)
	if errors.Is(err, memory.ErrUnread) {
		return nil, engine.ErrUnread
	}
	j.hooked = nil
	if err == nil {
		if len(letters) > 0 {
			j.acted = slices.DeleteFunc(j.acted, func(id int64) bool { return slices.Contains(letters, id) })
		}
		j.guard.observe(stored...)
		j.turns.observe(stored...)
		j.learn.Observe(stored...)
		j.learn.LearnStyle(context.WithoutCancel(ctx), stored...)
	}
	return stored, err
}

// heardFirst are the kinds of letters that keep an approval back until they are read.
func heardFirst() []string { return []string{string(Steer), string(FollowUp), string(Replan)} }

// unread implements engine.Config.Unread.
func (j *journal) unread(ctx context.Context) (bool, error) {
	letters, err := j.writer.Letters(ctx)
	return slices.ContainsFunc(letters, func(l memory.Letter) bool {
		return slices.Contains(heardFirst(), l.Kind)
	}), err
}

// Conversation implements engine.Journal.
func (j *journal) Conversation(ctx context.Context, conv string) ([]plan.Event, error) {
	out := make([]plan.Event, 0, len(j.past)) // most are of the conversation that goes on
	var after int64
	for _, ev := range j.past {
		if after = ev.Seq; j.story.isPartOf(conv, ev) {
			out = append(out, ev)
		}
	}
	j.past = nil // the next conversation is another one
	for ev, err := range j.db.Events(ctx, j.run, memory.Query{Conv: conv, After: after}) {
		if err != nil {
			return nil, err
		}
		if j.story.isPartOf(conv, ev) {
			out = append(out, j.story.tell(ev))
		}
	}
	return out, nil
}

// Fold reads a run's journal once. Each event also goes to see, if it is not nil.
func Fold(ctx context.Context, db *memory.DB, id plan.RunID, see func(plan.Event)) (*engine.Run, error) {
	run, err := engine.Fold(func(yield func(plan.Event, error) bool) {
		for ev, err := range db.Events(ctx, id, memory.Query{}) {
			if err == nil && see != nil {
				see(ev)
			}
			if !yield(ev, err) {
				return
			}
		}
	})
	placeHere(db, run)
	return run, err
}

// Intact are the events before the first damage, which ends them and can be asked for
// when they have been read.
func Intact(events iter.Seq2[plan.Event, error]) (intact iter.Seq2[plan.Event, error], damage func() error) {
	var damaged error
	return func(yield func(plan.Event, error) bool) {
		for ev, err := range events {
			if memory.IsDamage(err) {
				damaged = err
				return
			}
			if !yield(ev, err) {
				return
			}
		}
	}, func() error { return damaged }
}

// PartOf chooses the events of a phase, "" for all, and of its attempt, 0 for all.
func PartOf(events iter.Seq2[plan.Event, error], phase plan.Phase, attempt int) iter.Seq2[plan.Event, error] {
	if phase == "" && attempt == 0 {
		return events
	}
	return func(yield func(plan.Event, error) bool) {
		for ev, err := range events {
			if err == nil && (phase != "" && ev.Phase != phase || attempt != 0 && ev.Attempt != attempt) {
				continue
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}
