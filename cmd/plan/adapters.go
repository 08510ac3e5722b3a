package main

import (
	"context"
	"fmt"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/checks"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/failpoint"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/review"
)

// journal is one run's journal as the engine wants it. Letters that were acted
// on are taken in the same commit as the events that follow from them.
type journal struct {
	db     *memory.DB
	writer *memory.Writer
	run    plan.RunID
	taken  func() []int64
	guard  *guard
}

// Append implements engine.Journal.
func (j *journal) Append(ctx context.Context, events ...plan.Event) ([]plan.Event, error) {
	failpoint.Hit("before an append")
	defer failpoint.Hit("after an append")
	events = j.guard.beside(ctx, events)
	var letters []int64
	for _, ev := range events {
		move, _ := ev.Body.(plan.StateChange)
		if ev.Type() == plan.TypeRunEnd || move.Event == engine.Replanned {
			// A cancel is dealt with once the run has ended, not before; so is a
			// wish for another plan once the old one is given up.
			letters = append(letters, j.taken()...)
		}
		if t, ok := ev.Body.(plan.Taker); ok && t.TakesLetter() > 0 {
			letters = append(letters, t.TakesLetter())
		}
	}
	var stored []plan.Event
	var err error
	if len(letters) > 0 {
		stored, err = j.writer.AppendTaking(ctx, letters, events...)
	} else {
		stored, err = j.writer.Append(ctx, events...)
	}
	if err == nil {
		j.guard.learn(stored...)
	}
	return stored, err
}

// Conversation implements engine.Journal.
func (j *journal) Conversation(ctx context.Context, conv string) ([]plan.Event, error) {
	var out []plan.Event
	for ev, err := range j.db.Events(ctx, j.run, memory.Query{Conv: conv}) {
		if err != nil {
			return nil, err
		}
		out = append(out, ev)
	}
	return out, nil
}

// checker runs checks in a copy of the tree, so that nothing they write
// reaches it.
type checker struct {
	view   func(context.Context) (string, func() error, error)
	runner *checks.Runner
	root   string // where the setup command runs: what it fetches has to stay
}

// Check implements engine.Checker.
func (c *checker) Check(ctx context.Context, check plan.Check, update func(string)) (plan.CheckResult, []plan.Blob, error) {
	if check.Source == plan.CheckSetup {
		return c.runner.Run(ctx, c.root, check, update)
	}
	dir, discard, err := c.view(ctx)
	if err != nil {
		return plan.CheckResult{}, nil, fmt.Errorf("copy the work tree for a check: %w", err)
	}
	defer func() { _ = discard() }() // swept up later; the result counts all the same
	failpoint.Hit("before a check")
	defer failpoint.Hit("after a check")
	res, blobs, err := c.runner.Run(ctx, dir, check, update)
	res.Masked = review.Masked(check.Command)
	return res, blobs, err
}
