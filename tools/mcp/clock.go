package mcp

import (
	"context"
	"sync"
	"time"
)

// longestAnswer is how long a person has for a question of a server.
const longestAnswer = time.Hour

// clock bounds the calls of a server. It stands still while a person is asked.
type clock struct {
	mu     sync.Mutex
	calls  map[*bound]bool
	paused int
	asked  []string // what the person was asked since it was last said
}

// bound is the time of one call.
type bound struct {
	timer *time.Timer
	left  time.Duration
	since time.Time
}

// start begins the time of a call, which ends with errSlow.
func (c *clock) start(ctx context.Context, limit time.Duration) (context.Context, func()) {
	within, cancel := context.WithCancelCause(ctx)
	b := &bound{
		left:  limit,
		since: time.Now(),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = map[*bound]bool{}
	}
	b.timer = time.AfterFunc(limit, func() { cancel(errSlow) })
	if c.paused > 0 {
		b.timer.Stop()
	}
	c.calls[b] = true
	return within, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		b.timer.Stop()
		delete(c.calls, b)
		cancel(nil)
	}
}

// pause stops the time of all calls until it goes on; what was asked is then known.
func (c *clock) pause() (resume func(question string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused++; c.paused == 1 {
		for b := range c.calls {
			b.timer.Stop()
			b.left -= time.Since(b.since)
		}
	}
	return func(question string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.asked = append(c.asked, question)
		if c.paused--; c.paused > 0 {
			return
		}
		for b := range c.calls {
			b.since = time.Now()
			b.timer.Reset(max(b.left, 0))
		}
	}
}

// takeQuestions is what the person was asked since the last call, for the record.
func (c *clock) takeQuestions() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := ""
	for _, question := range c.asked {
		text += "\n" + question
	}
	c.asked = nil
	return text
}
