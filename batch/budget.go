package batch

import (
	"fmt"
	"sync"

	"github.com/plan-engine/plan"
)

// BudgetError says that a batch has used up what it may use.
type BudgetError struct{ What string }

// Error implements error.
func (e *BudgetError) Error() string { return "the batch has reached its limit: " + e.What }

// Budget is what all jobs of a batch may use together. It is safe for
// concurrent use.
type Budget struct {
	MaxCost   float64 // USD; 0: no bound
	MaxTokens int64   // input and output; 0: no bound
	// Stop is called once, with a *BudgetError.
	Stop func(cause error)

	mu       sync.Mutex
	cost     float64
	tokens   int64
	exceeded bool
}

// Spend counts what a job used.
func (b *Budget) Spend(u plan.Usage, cost float64) { b.Add(u.Tokens(), cost) }

// Add counts tokens and USD, and stops the batch where that is too much.
func (b *Budget) Add(tokens int64, cost float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens += tokens
	b.cost += cost
	limit := ""
	switch {
	case b.exceeded:
		return
	case b.MaxCost > 0 && b.cost >= b.MaxCost:
		limit = fmt.Sprintf("$%.2f of $%.2f", b.cost, b.MaxCost)
	case b.MaxTokens > 0 && b.tokens >= b.MaxTokens:
		limit = fmt.Sprintf("%d of %d tokens", b.tokens, b.MaxTokens)
	default:
		return
	}
	b.exceeded = true
	if b.Stop != nil {
		b.Stop(&BudgetError{What: limit})
	}
}
