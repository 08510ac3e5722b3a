package main

import (
	"context"
	"sync"
	"time"

	"github.com/plan-engine/plan"
)

// postman looks for letters to all runs of a batch with one question: hundreds
// of runs that each ask would keep the database busy with nothing.
type postman struct {
	mu    sync.Mutex
	boxes map[plan.RunID]func() // look into the inbox of a run that is driven just now
}

// watch looks after an inbox until ctx ends, and then closes done.
func (p *postman) watch(ctx context.Context, run plan.RunID, in *inbox) (done <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.boxes == nil {
		p.boxes = map[plan.RunID]func(){}
	}
	p.boxes[run] = func() { in.look(ctx) }
	ended := make(chan struct{})
	context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.boxes, run)
		close(ended)
	})
	return ended
}

// work goes round until ctx ends. Addressed says which runs have letters; where
// it fails, asking again later is all that can be done.
func (p *postman) work(ctx context.Context, addressed func(context.Context) ([]plan.RunID, error)) {
	tick := time.NewTicker(letterPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		runs, err := addressed(ctx)
		if err != nil {
			continue
		}
		p.mu.Lock()
		for _, run := range runs {
			if look, ok := p.boxes[run]; ok {
				look()
			}
		}
		p.mu.Unlock()
	}
}
