package main

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/memory"
)

// Kinds of letters that are for the process which drives a run, and not for a
// conversation.
const (
	letterCancel = "cancel" // asks for the end of the run
	letterReplan = "replan" // asks for another plan, and says why
)

// inbox brings what other processes ask of a run to the process that drives it.
type inbox struct {
	letters func(context.Context) ([]memory.Letter, error)
	replan  func(why string)
	stop    context.CancelCauseFunc

	mu    sync.Mutex
	acted []int64 // letters that were acted on and are not taken yet
	seen  []int64
}

// open connects the inbox to the run, and acts on what waits there already.
func (in *inbox) open(ctx context.Context, w *workshop, eng *engine.Engine, stop context.CancelCauseFunc) {
	in.letters, in.replan, in.stop = w.writer.Letters, eng.Replan, stop
	in.look(ctx)
}

// take hands over the letters that were acted on, to be marked as taken.
func (in *inbox) take() []int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	out := in.acted
	in.acted = nil
	return out
}

// look acts on letters, once each. Where the inbox cannot be read, asking again
// later is all that can be done.
func (in *inbox) look(ctx context.Context) {
	letters, err := in.letters(ctx)
	if err != nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, l := range letters {
		if slices.Contains(in.seen, l.ID) || l.Kind != letterCancel && l.Kind != letterReplan {
			continue
		}
		in.seen, in.acted = append(in.seen, l.ID), append(in.acted, l.ID)
		if l.Kind == letterCancel {
			in.stop(engine.ErrCancelled)
			continue
		}
		text := letterText{}
		if json.Unmarshal(l.Data, &text) != nil || text.Text == "" {
			text.Text = personReplans
		}
		in.replan(text.Text)
	}
}

// letterPause is how long a letter may lie before somebody looks.
const letterPause = 250 * time.Millisecond

// watch looks for letters until ctx ends, and then closes done.
func (in *inbox) watch(ctx context.Context) (done <-chan struct{}) {
	tick := time.NewTicker(letterPause)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				in.look(ctx)
			}
		}
	}()
	return ended
}
