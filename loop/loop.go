package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/account"
	"github.com/plan-engine/plan/loop/compact"
	"github.com/plan-engine/plan/loop/estimate"
	"github.com/plan-engine/plan/loop/prompt"
	"github.com/plan-engine/plan/loop/storm"
	"github.com/plan-engine/plan/loop/textcalls"
)

// Loop is one conversation. It is used by one goroutine at a time.
type Loop struct {
	cfg       Config
	offered   map[string]*offer
	specs     []Spec
	names     []string         // of the offered tools
	textTools []textcalls.Tool // the same, as calls in text are looked for

	messages  []plan.Message
	prefix    prompt.Prefix
	turn      int // index of the current or next turn
	used      int // turns begun in this attempt
	account   *account.Account
	depth     int           // 0; of a sub-agent, how deep it stands
	grace     time.Duration // how long a tool may take to return once it was cancelled
	gating    sync.Mutex    // held while the gate decides for a sub-agent
	last      StopReason
	spokeAt   time.Time // when the model answered last; zero: not known
	open      openTurn
	storm     storm.Breaker
	size      estimate.Estimator
	counted   int64 // of the next request, uncorrected
	summed    int   // messages that are in it
	compactor compact.Compactor

	learnedWindow    learnedWindow // of the model's window
	windowSet bool   // a hook has named the window
	reliefs   int    // requests in a row that were made smaller for being too long
	sentTo    string // the model of the latest recorded request

	complained bool // it was said that the server cuts what it is sent

	stuck   string  // why the storm breaker ended the conversation
	taking  []int64 // letters whose taking is not yet recorded
	stopped bool    // a hook or the tools ended the loop after this turn
	busy    atomic.Bool

	kind    Kind              // how the next turn comes to go on, if Continue said so
	rulings map[string]Ruling // what Resume was given, by call

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
	if err := cfg.Strategy.check(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	var err error
	if cfg.System, err = prompt.WithSkills(cfg.System, cfg.Skills); err != nil {
		return nil, err
	}
	cfg.Skills = nil
	l := &Loop{
		cfg:     cfg,
		offered: map[string]*offer{},
		grace:   grace,
		account: account.New(cfg.Limits, cfg.Spent, cfg.Cost),
	}
	for _, t := range cfg.Tools {
		info := t.Info()
		if _, twice := l.offered[info.Name]; twice {
			return nil, fmt.Errorf("loop: tool %s is offered twice", info.Name)
		}
		if err := checkTasks(info); err != nil {
			return nil, err
		}
		l.offered[info.Name] = newOffer(t)
		l.specs = append(l.specs, info.Spec)
		l.names = append(l.names, info.Name)
		l.textTools = append(l.textTools, textcalls.Tool{Name: info.Name, Schema: info.Schema})
	}
	l.size.Count = cfg.Count
	l.compactor = compact.Compactor{
		Level:    cfg.Compaction,
		Size:     l.size.Size,
		Verbatim: l.asks,
	}
	l.updateWindow()
	l.storm.Config = storm.Config{Mutating: l.mutating, Exempt: l.repeatable}
	if err := l.prefix.Start(cfg.Name, cfg.System, l.specs); err != nil {
		return nil, err
	}
	if err := l.restore(past); err != nil {
		return nil, err
	}
	return l, nil
}

// Messages is the conversation as the model sees it. It must not be changed.
func (l *Loop) Messages() []plan.Message { return l.messages }

// Run adds the prompts and goes on until an answer holds no tool call and
// no letter adds to it, a bound is reached, or something stops it. An
// error is a *ModelError, the cause of ctx's end, or a failure of Emit; in each
// case the events are balanced, unless it was Emit that failed.
//
// Calls that are left open from before come to their end first. While some
// wait, the prompts are not taken: the loop ends as Waiting or External.
func (l *Loop) Run(ctx context.Context, prompts ...plan.Message) (End, error) {
	return l.exclusively(ctx, func(ctx context.Context) (End, error) {
		if end, ok, err := l.takePrompts(ctx, prompts); !ok || err != nil {
			return end, err
		}
		return l.runToEnd(ctx)
	})
}

// RunTurn adds the prompts and runs one turn with its tools, for a scheduler
// that owns the loop. End.Reason is More when there is another turn to run.
func (l *Loop) RunTurn(ctx context.Context, prompts ...plan.Message) (End, error) {
	return l.exclusively(ctx, func(ctx context.Context) (End, error) {
		if end, ok, err := l.takePrompts(ctx, prompts); !ok || err != nil {
			return l.wantsOneTurn(end), err
		}
		return l.runOneTurn(ctx)
	})
}

// takePrompts takes prompts in. It reports false if the loop ends instead.
func (l *Loop) takePrompts(ctx context.Context, prompts []plan.Message) (End, bool, error) {
	if len(prompts) == 0 {
		return End{}, true, nil
	}
	c, err := l.finishTurn(ctx)
	if c != nil || err != nil {
		return endFor(c), false, err
	}
	end, ok := l.addPrompts(ctx, prompts)
	if !ok {
		err = l.flush(ctx)
	}
	return end, ok, err
}

// addPrompts adds prompts to the conversation, all or none: none if a filter
// refuses one, or if nothing is left to answer them with.
func (l *Loop) addPrompts(ctx context.Context, prompts []plan.Message) (End, bool) {
	if hit := l.account.Spent(); hit != nil {
		l.record(*hit)
		end := l.ending(Limited)
		end.Limit = hit
		return end, false
	}
	fit := make([]plan.Message, len(prompts))
	for i, p := range prompts {
		fit[i] = p
		if len(l.cfg.Filters) > 0 {
			text, why := l.applyFilters(ctx, p.Text(), 0)
			if why != "" {
				return End{Reason: Rejected, Rejection: why}, false
			}
			fit[i] = l.reworded(p, text)
		}
	}
	for _, p := range fit {
		l.appendMessage(p)
	}
	return End{}, true
}

// reworded is a message with what the filters added to it.
func (l *Loop) reworded(m plan.Message, text string) plan.Message {
	if added, ok := strings.CutPrefix(text, m.Text()); ok && added != "" {
		m.Blocks = append(slices.Clip(m.Blocks), plan.Block{Type: plan.BlockText, Text: strings.TrimSpace(added)})
	}
	return m
}

// makeTurn ends what is open and makes one model call, unless the loop has come
// to an end.
func (l *Loop) makeTurn(ctx context.Context) (End, error) {
	c, err := l.finishTurn(ctx)
	if err != nil || c != nil {
		return endFor(c), err
	}
	switch {
	case l.stuck != "":
		end := l.ending(Stuck)
		end.Text = l.stuck
		return end, l.flush(ctx)
	case l.stopped:
		l.stopped = false
		return l.ending(Completed), l.flush(ctx)
	}
	if !l.open.started {
		if end, over, err := l.beforeTurn(ctx); err != nil || over {
			return end, err
		}
	}
	return l.callModel(ctx)
}

// beforeTurn is what happens before a turn: letters are taken in, and the loop
// may come to its end.
func (l *Loop) beforeTurn(ctx context.Context) (End, bool, error) {
	if len(l.messages) == 0 {
		return End{}, true, ErrEmpty
	}
	if l.cfg.Notice != "" {
		l.appendMessage(messageFrom(l.cfg.Notice, plan.OriginDrift))
		l.cfg.Notice = ""
	}
	if _, err := l.deliver(ctx, Steer); err != nil {
		return End{}, true, errors.Join(err, l.flush(ctx))
	}
	if l.isDone() {
		more, err := l.deliver(ctx, FollowUp)
		if err != nil || !more {
			return l.ending(Completed), true, errors.Join(err, l.flush(ctx))
		}
	}
	if ctx.Err() != nil {
		return End{}, true, errors.Join(l.flush(ctx), context.Cause(ctx))
	}
	if err := l.prepareNext(ctx, false); err != nil {
		return End{}, true, err
	}
	if err := l.makeRoom(ctx); err != nil {
		return End{}, true, err
	}
	if hit := l.brokenLimit(); hit != nil {
		end, err := l.stopAtLimit(ctx, *hit)
		return end, true, err
	}
	if left := l.cfg.Limits.Turns - l.used; l.cfg.Limits.Turns >= wrapUpFrom && left == wrapUpAt {
		l.notice(
			fmt.Sprintf(
				"[%d turns are left. Bring the work to a good end and hand over what this phase asks for; say what is left undone.]",
				left,
			),
		)
	}
	return l.blockedByHook(ctx)
}

const (
	// wrapUpAt is how many turns are left when the model is told to come to an
	// end; limits below wrapUpFrom are too small for that.
	wrapUpAt   = 2
	wrapUpFrom = 6
)

// stopAtLimit ends the loop because of a bound, and says so in the conversation.
func (l *Loop) stopAtLimit(ctx context.Context, hit plan.LimitHit) (End, error) {
	l.record(hit)
	l.notice(fmt.Sprintf("[stopped: the limit on %s was reached]", hit.Kind))
	end := l.ending(Limited)
	end.Limit = &hit
	return end, l.flush(ctx)
}

// notice says something to the model, once.
func (l *Loop) notice(text string) {
	if n := len(l.messages); n > 0 && l.messages[n-1].Origin == plan.OriginNotice && l.messages[n-1].Text() == text {
		return
	}
	l.appendMessage(messageFrom(text, plan.OriginNotice))
}

// ending is the end of a loop as the conversation stands.
func (l *Loop) ending(reason EndReason) End {
	end := End{Reason: reason, Cut: l.last == StopLength}
	for i := len(l.messages) - 1; i >= 0; i-- {
		if m := l.messages[i]; m.Role == plan.RoleAssistant {
			end.Text = m.Text()
			break
		}
	}
	return end
}

// appendMessage puts a message from outside into the conversation.
func (l *Loop) appendMessage(m plan.Message) {
	if m.Origin != plan.OriginNotice {
		l.storm.Reset() // a person has spoken: what was no progress may be some now
		l.stuck = ""
	}
	l.messages = append(l.messages, m)
	l.record(plan.MessageStart{Role: m.Role}, plan.MessageEnd{Message: m})
}

// isDone reports whether the model has nothing left to do.
func (l *Loop) isDone() bool {
	m := l.messages[len(l.messages)-1]
	return m.Role == plan.RoleAssistant && len(m.Calls()) == 0
}

// brokenLimit says which bound the next turn would break, if any.
func (l *Loop) brokenLimit() *plan.LimitHit {
	if lim := l.cfg.Limits; lim.Turns > 0 && l.used >= lim.Turns {
		return &plan.LimitHit{
			Kind:  "turns",
			Value: float64(l.used),
			Max:   float64(lim.Turns),
		}
	}
	if hit := l.account.Spent(); hit != nil {
		return hit
	}
	if hit := l.windowLimit(); hit != nil {
		return hit
	}
	return l.unaffordable()
}

// record queues events for the next commit.
func (l *Loop) record(bodies ...plan.Body) {
	for _, b := range bodies {
		l.queue = append(l.queue, l.event(b))
	}
}

// event puts an envelope around a body. Outside a turn it has no turn number.
func (l *Loop) event(b plan.Body) plan.Event {
	ev := plan.Event{
		Run:    l.cfg.Run,
		Conv:   l.cfg.Conv,
		Parent: l.cfg.Parent,
		Body:   b,
	}
	if l.open.started {
		ev.Turn = new(l.turn)
	}
	return ev
}

// flush commits what is queued. Once that failed, nothing is recorded any more:
// what the failed commit left behind is not known.
func (l *Loop) flush(ctx context.Context) error {
	if l.dead != nil || len(l.queue) == 0 {
		return l.dead
	}
	// What has happened is recorded even when the run is being stopped.
	err := l.cfg.Emit(context.WithoutCancel(ctx), l.queue...)
	l.queue = l.queue[:0]
	if err != nil {
		l.dead = fmt.Errorf("record the conversation: %w", err)
		return l.dead
	}
	l.lettersTaken()
	return nil
}

// emitLive emits a live event.
func (l *Loop) emitLive(ctx context.Context, b plan.Body) error {
	return l.cfg.Emit(ctx, l.event(b))
}

// mutating says whether a tool may change something.
func (l *Loop) mutating(name string) bool {
	o, ok := l.offered[name]
	return !ok || o.info.Writes
}

// repeatable says whether running a tool again does no harm.
func (l *Loop) repeatable(name string) bool {
	o, ok := l.offered[name]
	return ok && !o.info.Writes && o.info.Effect == plan.EffectReplay
}

// looksOnly says whether a tool may run by mistake: it changes nothing, asks
// no person and leaves the conversation as it is.
func (l *Loop) looksOnly(name string) bool {
	if !l.repeatable(name) {
		return false
	}
	i := l.offered[name].info
	return !i.Asks && !i.Prunes && !i.External && i.Delegate == nil
}

// asks says whether a tool's results are a person's words.
func (l *Loop) asks(name string) bool {
	o, ok := l.offered[name]
	return ok && o.info.Asks
}
