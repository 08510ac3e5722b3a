package batches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/loop"
)

// sharedBudgets are the budgets of the batches of a queue, which all workers keep
// together: what a call has cost is added to a counter of the queue before the next
// call of the batch begins on this worker, and none begins once the counter is where
// the budget ends. So more is spent than the budget by what those calls cost at most
// that were under way then: one for each job that runs.
type sharedBudgets struct {
	store *nats.Store
	newID func() string

	mu sync.Mutex
	of map[string]*sharedBudget // by batch
}

// sharedBudget is that of one batch.
type sharedBudget struct {
	batch  string
	store  *nats.Store
	newID  func() string
	asking chan struct{} // holds a value while a call asks

	mu      sync.Mutex
	max     amount // 0: no bound
	pending amount // not counted yet
	stops   map[string]context.CancelCauseFunc

	// What asks has of its own: what was sent and may not have been counted.
	sent   amount
	sentID string
}

// amount is what was used, in integers, as counters have it.
type amount struct {
	nano   int64 // billionths of a USD
	tokens int64
}

const nanos = 1e9

// enter has a job share its batch's budget. The context that it returns ends with a
// *batch.BudgetError once that is used up. Leave counts what is left to count.
func (b *sharedBudgets) enter(
	ctx context.Context,
	try batch.Try,
	priced func(context.Context, Settings) error,
) (in context.Context, leave func(), err error) {
	s, err := b.settings(ctx, try.Batch)
	if err != nil {
		return ctx, nil, err
	}
	if s.MaxCost <= 0 && s.MaxTokens <= 0 {
		return ctx, func() {}, nil
	}
	if s.MaxCost > 0 {
		if err := priced(ctx, s); err != nil {
			return ctx, nil, err
		}
	}
	budget := b.join(try.Batch)
	ctx, stop := context.WithCancelCause(ctx)
	budget.mu.Lock()
	budget.max = amount{int64(math.Round(s.MaxCost * nanos)), s.MaxTokens}
	budget.stops[try.ID] = stop
	budget.mu.Unlock()
	budget.ask(ctx)
	return ctx, func() {
		budget.mu.Lock()
		delete(budget.stops, try.ID)
		budget.mu.Unlock()
		budget.ask(context.WithoutCancel(ctx))
		stop(nil)
	}, nil
}

// settings are those of a batch. Where the queue does not answer it is asked again.
func (b *sharedBudgets) settings(ctx context.Context, id string) (s Settings, err error) {
	for {
		stored, err := b.store.Read(ctx, id)
		if err == nil {
			return settingsIn(stored)
		}
		if errors.Is(err, nats.ErrNoBatch) || !wait(ctx, time.Second) {
			return s, err
		}
	}
}

// settingsIn are those that a batch of a queue has.
func settingsIn(b nats.Batch) (s Settings, err error) {
	if len(b.Settings) > 0 {
		err = json.Unmarshal(b.Settings, &s)
	}
	if err != nil {
		err = fmt.Errorf("read the settings of batch %s: %w", b.ID, err)
	}
	return s, err
}

// wait waits for a while; false where ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (b *sharedBudgets) join(id string) *sharedBudget {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of = map[string]*sharedBudget{}
	}
	budget := b.of[id]
	if budget == nil {
		budget = &sharedBudget{
			batch:  id,
			store:  b.store,
			newID:  b.newID,
			asking: make(chan struct{}, 1),
			stops:  map[string]context.CancelCauseFunc{},
		}
		b.of[id] = budget
	}
	return budget
}

// find is the budget of a batch, nil where it has none.
func (b *sharedBudgets) find(id string) *sharedBudget {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of[id]
}

// spend takes note of what a call used. It is counted before the next call.
func (b *sharedBudgets) spend(try batch.Try, u plan.UsageReport) {
	if budget := b.find(try.Batch); budget != nil {
		budget.mu.Lock()
		defer budget.mu.Unlock()
		budget.pending.nano += int64(math.Round(u.CostUSD * nanos))
		budget.pending.tokens += u.Usage.Tokens()
	}
}

// gate lets calls of a model through while the batch of their job may use something.
func (b *sharedBudgets) gate(try batch.Try, m loop.Model) loop.Model {
	if budget := b.find(try.Batch); budget != nil {
		return budgetedModel{m, budget}
	}
	return m
}

type budgetedModel struct {
	loop.Model
	budget *sharedBudget
}

// Server says which server a model is at, as the limiter asks.
func (m budgetedModel) Server(model string) string {
	if named, ok := m.Model.(interface{ Server(model string) string }); ok {
		return named.Server(model)
	}
	return model
}

// Generate implements loop.Model.
func (m budgetedModel) Generate(
	ctx context.Context,
	req loop.Call,
	live func(loop.Delta),
) (loop.Answer, error) {
	m.budget.ask(ctx)
	if ctx.Err() != nil {
		return loop.Answer{}, context.Cause(ctx)
	}
	return m.Model.Generate(ctx, req, live)
}

// ask counts what is pending, and stops the jobs where that is all that the batch may
// use. Where the queue does not answer it waits, until ctx ends.
func (b *sharedBudget) ask(ctx context.Context) {
	for {
		select {
		case b.asking <- struct{}{}:
		case <-ctx.Done():
			return
		}
		total, err := b.count(ctx)
		<-b.asking
		if err == nil {
			b.stopAt(total)
			return
		}
		if !wait(ctx, time.Second) {
			return
		}
	}
}

// count adds what is pending. What the queue may not have got is sent again under the
// id that it had.
func (b *sharedBudget) count(ctx context.Context) (total amount, err error) {
	b.mu.Lock()
	if b.sentID == "" {
		b.sentID = b.newID()
		b.sent, b.pending = b.pending, amount{}
	}
	limit := b.max
	b.mu.Unlock()
	if limit.nano > 0 {
		if total.nano, err = b.store.Count(ctx, b.batch, "usd", b.sentID, b.sent.nano); err != nil {
			return total, err
		}
	}
	if limit.tokens > 0 {
		if total.tokens, err = b.store.Count(ctx, b.batch, "tokens", b.sentID, b.sent.tokens); err != nil {
			return total, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sentID = ""
	b.sent = amount{}
	return total, nil
}

// stopAt stops the jobs of the batch here where it may use no more.
func (b *sharedBudget) stopAt(total amount) {
	b.mu.Lock()
	defer b.mu.Unlock()
	what := ""
	switch {
	case b.max.nano > 0 && total.nano >= b.max.nano:
		what = fmt.Sprintf("$%.2f of $%.2f", float64(total.nano)/nanos, float64(b.max.nano)/nanos)
	case b.max.tokens > 0 && total.tokens >= b.max.tokens:
		what = fmt.Sprintf("%d of %d tokens", total.tokens, b.max.tokens)
	default:
		return
	}
	for _, stop := range b.stops {
		stop(&batch.BudgetError{What: what})
	}
}
