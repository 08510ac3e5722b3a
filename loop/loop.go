package loop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/plan-engine/plan"
)

// Config is what one conversation is made of.
type Config struct {
	Model  Model
	Name   string // the model's name, as sent
	System string
	Tools  []Tool // offered in this order; no others run
	// Settings, Format and Headers go into every call unchanged.
	Settings Settings
	Format   *Format
	Headers  map[string]string

	Conv    string // id of the conversation, for the events
	Attempt int    // turns are limited per attempt
	Limits  plan.Limits
	// Spent and Cost are what the run had used up before this loop.
	Spent plan.Usage
	Cost  float64 // USD

	// Price says what a usage costs, and whether the price is known. Default:
	// unknown.
	Price func(plan.Usage) (usd float64, known bool)
	Retry Retry
	// Refuse is what to tell a model that calls a tool it was not offered.
	Refuse func(name string) string
	// Redact replaces known secrets in what tools return. Default: nothing.
	Redact func(string) string
	Emit   plan.Emit

	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
	// Rand gives the jitter of retries, in [0,1).
	Rand func() float64
}

// End is how a run of the loop came to its end.
type End struct {
	// Text is what the model said last.
	Text string
	// Cut says that the output cap cut Text off.
	Cut bool
	// Limit is set when a bound stopped the loop before the model was done.
	Limit *plan.LimitHit
}

// Loop is one conversation. It is used by one goroutine at a time.
type Loop struct {
	cfg     Config
	offered map[string]*offer
	specs   []Spec

	messages []plan.Message
	prefix   prefix
	turn     int // index of the current or next turn
	used     int // turns begun in this attempt
	usage    plan.Usage
	cost     float64
	last     StopReason
	open     openTurn

	queue []plan.Event // recorded with the next commit
	dead  error        // why nothing can be recorded any more
}

// ErrBusy is returned by Run while another Run of the same loop is on.
var ErrBusy = errors.New("this conversation is already running")

// New makes a loop, as it stood when past was journalled. Past holds the
// durable events of this conversation in order; nil starts a new one.
func New(cfg Config, past []plan.Event) (*Loop, error) {
	if cfg.Model == nil || cfg.Emit == nil {
		return nil, errors.New("loop: a model and an emit function are needed")
	}
	cfg = cfg.withDefaults()
	l := &Loop{cfg: cfg, offered: map[string]*offer{}, usage: cfg.Spent, cost: cfg.Cost}
	for _, t := range cfg.Tools {
		info := t.Info()
		if _, twice := l.offered[info.Name]; twice {
			return nil, fmt.Errorf("loop: tool %s is offered twice", info.Name)
		}
		l.offered[info.Name] = &offer{tool: t, info: info}
		l.specs = append(l.specs, info.Spec)
	}
	if err := l.prefix.start(cfg.Name, cfg.System, l.specs); err != nil {
		return nil, err
	}
	if err := l.restore(past); err != nil {
		return nil, err
	}
	return l, nil
}

func (c Config) withDefaults() Config {
	if c.Price == nil {
		c.Price = func(plan.Usage) (float64, bool) { return 0, false }
	}
	if c.Refuse == nil {
		c.Refuse = func(string) string { return "" }
	}
	if c.Redact == nil {
		c.Redact = func(s string) string { return s }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	c.Retry = c.Retry.withDefaults()
	return c
}

// Messages is the conversation as the model sees it. It must not be changed.
func (l *Loop) Messages() []plan.Message { return l.messages }

// Run adds the prompts and goes on until an answer holds no tool call, a bound
// is hit, or something stops it. An error is a *ModelError, the cause of ctx's
// end, or a failure of Emit; in each case the events are balanced, unless it
// was Emit that failed.
func (l *Loop) Run(ctx context.Context, prompts ...plan.Message) (End, error) {
	for _, p := range prompts {
		l.say(p)
	}
	for {
		if err := l.settle(ctx); err != nil {
			return End{}, err
		}
		if end, done := l.done(); done {
			return end, l.flush(ctx)
		}
		if hit := l.limit(); hit != nil {
			l.record(*hit)
			return End{Limit: hit}, l.flush(ctx)
		}
		if err := l.ask(ctx); err != nil {
			return End{}, err
		}
	}
}

// say puts a message from outside into the conversation.
func (l *Loop) say(m plan.Message) {
	l.messages = append(l.messages, m)
	l.record(plan.MessageStart{Role: m.Role}, plan.MessageEnd{Message: m})
}

// done reports whether the model has nothing left to do.
func (l *Loop) done() (End, bool) {
	if len(l.messages) == 0 {
		return End{}, false
	}
	m := l.messages[len(l.messages)-1]
	if m.Role != plan.RoleAssistant || len(m.Calls()) > 0 {
		return End{}, false
	}
	return End{Text: m.Text(), Cut: l.last == StopLength}, true
}

// limit says which bound the next turn would break, if any.
func (l *Loop) limit() *plan.LimitHit {
	lim := l.cfg.Limits
	switch {
	case l.open.started: // the turn was paid for before
		return nil
	case lim.Turns > 0 && l.used >= lim.Turns:
		return &plan.LimitHit{Kind: "turns", Value: float64(l.used), Max: float64(lim.Turns)}
	case lim.Tokens > 0 && l.usage.Tokens() >= lim.Tokens:
		return &plan.LimitHit{Kind: "tokens", Value: float64(l.usage.Tokens()), Max: float64(lim.Tokens)}
	case lim.CostUSD > 0 && l.cost >= lim.CostUSD:
		return &plan.LimitHit{Kind: "cost", Value: l.cost, Max: lim.CostUSD}
	}
	return nil
}

// record queues events for the next commit.
func (l *Loop) record(bodies ...plan.Body) {
	for _, b := range bodies {
		l.queue = append(l.queue, l.event(b))
	}
}

// event puts an envelope around a body. Outside a turn it has no turn number.
func (l *Loop) event(b plan.Body) plan.Event {
	ev := plan.Event{Conv: l.cfg.Conv, Body: b}
	if l.open.started {
		ev.Turn = new(l.turn)
	}
	return ev
}

// flush commits what is queued. Once that failed, nothing is recorded any more:
// nobody knows what the failed commit left behind.
func (l *Loop) flush(ctx context.Context) error {
	if l.dead != nil || len(l.queue) == 0 {
		return l.dead
	}
	// What has happened is recorded even when the run is being stopped.
	err := l.cfg.Emit(context.WithoutCancel(ctx), l.queue...)
	l.queue = l.queue[:0]
	if err != nil {
		l.dead = fmt.Errorf("record the conversation: %w", err)
	}
	return l.dead
}

// show emits a live event.
func (l *Loop) show(ctx context.Context, b plan.Body) error {
	return l.cfg.Emit(ctx, l.event(b))
}
