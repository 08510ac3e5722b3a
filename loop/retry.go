package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/pairing"
)

// Retry says how often and how long a failing model call is tried again. The
// zero value means the defaults.
type Retry struct {
	Served      int           // retries of a call that was answered with a failure; default 2
	UnservedFor time.Duration // how long to keep trying while nothing answers; default 5 minutes
	// How long to keep trying while there is no server (DNS, TLS, connection
	// refused): before the first answer of the run, default 10 seconds, and
	// after it, default 2 minutes.
	UnreachableFirst time.Duration
	UnreachableFor   time.Duration

	// Whole bounds a call with all its tries and waits; 0: nothing does.
	Whole time.Duration

	RateLimited   int           // retries of a 429; default 5
	Empty         int           // times an empty answer is asked again; default 2
	Base          time.Duration // first wait; doubles; default 500 ms
	Max           time.Duration // longest wait of our own; default 30 s
	RetryAfterMax time.Duration // longest wait that a server may ask for; default 60 s
}

func (r Retry) withDefaults() Retry {
	return Retry{
		Served:           cmp.Or(r.Served, 2),
		UnservedFor:      cmp.Or(r.UnservedFor, 5*time.Minute),
		UnreachableFirst: cmp.Or(r.UnreachableFirst, 10*time.Second),
		UnreachableFor:   cmp.Or(r.UnreachableFor, 2*time.Minute),
		Whole:            r.Whole,
		RateLimited:      cmp.Or(r.RateLimited, 5),
		Empty:            cmp.Or(r.Empty, 2),
		Base:             cmp.Or(r.Base, 500*time.Millisecond),
		Max:              cmp.Or(r.Max, 30*time.Second),
		RetryAfterMax:    cmp.Or(r.RetryAfterMax, time.Minute),
	}
}

// generate makes the next request of the conversation.
func (l *Loop) generate(ctx context.Context) (Answer, error) {
	messages, h := l.messages, l.cfg.Hooks
	if h.TransformContext != nil {
		messages = h.TransformContext(ctx, messages)
	}
	call := Call{
		Model:    l.cfg.Name,
		Wire:     l.cfg.Wire,
		System:   l.cfg.System,
		Tools:    l.specs,
		Messages: pairing.Repair(messages),
		Settings: l.cfg.Settings,
		Format:   l.cfg.Format,
		Headers:  l.cfg.Headers,
		Shared:   l.cfg.Shared,
	}
	l.addHeaders(ctx, &call)
	if h.PrePrompt != nil {
		call = h.PrePrompt(ctx, call)
	}
	return l.callWithRetries(ctx, outgoingTurn, call, l.size.Tokens(l.counted))
}

// addHeaders adds what each call carries of its own.
func (l *Loop) addHeaders(ctx context.Context, call *Call) {
	call.Metadata = l.cfg.Metadata
	if l.cfg.PerCall == nil {
		return
	}
	headers, metadata := l.cfg.PerCall(ctx, l.turn)
	call.Headers, call.Metadata = merged(call.Headers, headers), merged(call.Metadata, metadata)
}

// merged is base with the entries of top over it; neither is changed.
func merged(base, top map[string]string) map[string]string {
	if len(top) == 0 {
		return base
	}
	out := make(map[string]string, len(base)+len(top))
	maps.Copy(out, base)
	maps.Copy(out, top)
	return out
}

// callWithRetries makes a call of this many tokens, if hooks let it through, until it is answered or trying again is
// pointless. What failed attempts consumed is paid; the answer is the caller's
// to pay.
func (l *Loop) callWithRetries(ctx context.Context, purpose string, call Call, tokens int64) (Answer, error) {
	if err := l.letThrough(ctx, purpose, call, tokens); err != nil {
		return Answer{}, err
	}
	most := l.cfg.Retry.Whole
	if most <= 0 {
		return l.tryToCall(ctx, call, tokens)
	}
	overdue := &ModelError{
		Kind:    ErrIdle,
		Message: fmt.Sprintf("the request was not answered within %s, tries and waits included", most),
	}
	within, cancel := context.WithTimeoutCause(ctx, most, overdue)
	defer cancel()
	return l.tryToCall(within, call, tokens)
}

// tryToCall makes a call until ctx ends.
func (l *Loop) tryToCall(ctx context.Context, call Call, tokens int64) (Answer, error) {
	t := attempts{began: l.cfg.Now(), count: map[ErrorKind]int{}}
	for {
		next, err := l.reserve(ctx, call, tokens)
		if err != nil {
			return Answer{}, err
		}
		next.Messages = t.messages(call)
		next.Patience = min(t.count[ErrIdle], mostPatience)
		began := l.cfg.Now()
		ans, err := l.callOnce(ctx, &next, t.refused)
		err = l.knownDead(err, began)
		t.refused = "" // told once
		l.recordAttempt(call.Model, ans, err)
		if err == nil && (t.empty >= l.cfg.Retry.Empty || !l.saysNothing(ans)) {
			return ans, nil
		}
		if ctx.Err() != nil {
			return Answer{}, context.Cause(ctx)
		}
		if err == nil {
			l.pay(call.Model, ans.Usage, ans.CostUSD)
		}
		wait, reason, again := l.shouldRetry(&t, next, ans, err)
		most := l.cfg.Retry.Whole
		if !again || err != nil && most > 0 && t.outOfTime(l.cfg.Now(), wait, most) {
			return Answer{}, err
		}
		if err := l.waitToRetry(ctx, &t, wait, reason, err); err != nil {
			return Answer{}, err
		}
	}
}

// waitToRetry records that a call is made again, and waits for as long as it should.
func (l *Loop) waitToRetry(ctx context.Context, t *attempts, wait time.Duration, reason string, cause error) error {
	t.total++
	t.waited += wait
	retry := plan.Retry{
		Attempt: t.total,
		Reason:  reason,
		WaitMS:  wait.Milliseconds(),
	}
	if me, ok := AsModelError(cause); ok {
		retry.Status = me.Status
	}
	l.record(retry)
	if err := l.flush(ctx); err != nil {
		return err
	}
	if err := l.cfg.Sleep(ctx, wait); err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// recordAttempt records what came with an answer or with a failure beside it.
func (l *Loop) recordAttempt(model string, ans Answer, err error) {
	if err == nil {
		l.recordAdjusted(model, ans.Adjusted)
		return
	}
	defer l.account.GiveBack()
	if me, ok := AsModelError(err); ok {
		l.recordAdjusted(model, me.Adjusted)
		l.payFailed(model, me)
	}
}

// callOnce makes the call once, showing the answer as it arrives. A model that
// panics has failed like any other.
func (l *Loop) callOnce(ctx context.Context, call *Call, refused string) (ans Answer, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() {
		if p := recover(); p != nil {
			ans, err = Answer{}, fmt.Errorf("the model's client crashed: %v\n%s", p, firstFrames(debug.Stack()))
		}
	}()
	if l.cfg.Key != nil {
		if call.Key, err = l.cfg.Key(ctx, refused); err != nil {
			return Answer{}, &ModelError{
				Kind:    ErrAuth,
				Message: "get the key of this call: " + err.Error(),
				Err:     err,
			}
		}
	}
	return l.cfg.Model.Generate(ctx, *call, func(d Delta) {
		if err := l.emitLive(ctx, plan.MessageUpdate{
			Kind: d.Kind,
			Call: d.Call,
			Name: d.Name,
			Text: d.Text,
		}); err != nil {
			cancel(err)
		}
		l.storm.Prepare() // while the rest arrives: it may have a long conversation to take in
	})
}

// mostPatience is the most that a [Call.Patience] becomes.
const mostPatience = 2

// attempts counts the failures of one call.
type attempts struct {
	began   time.Time
	waited  time.Duration
	total   int
	empty   int    // answers that said nothing
	words   string // what asks for another kind of answer than came
	plain   bool   // the server does not take these words
	count   map[ErrorKind]int
	refused string // the key that was refused, if one was
	renewed bool   // another key has been asked for
}

// messages are what a call sends: after an answer of reasoning alone, with words
// that ask for more, and after one without an end, for less. They are no part of
// the conversation.
func (t *attempts) messages(call Call) []plan.Message {
	if t.words == "" || t.plain {
		return call.Messages
	}
	return append(slices.Clip(call.Messages), messageFrom(t.words, plan.OriginNotice))
}

// askForWords is what a model reads that only reasoned.
func askForWords(call Call) string {
	if len(call.Tools) > 0 {
		return "[Your last answer said nothing and called no tool: reasoning alone is not seen. Call a tool " +
			"now, or answer in words.]"
	}
	return "[Your last answer said nothing: reasoning alone is not seen. Answer now, in words.]"
}

// askForLess is what a model reads whose answer passed a bound.
func askForLess(bound string) string {
	return "[Your last answer was not kept, and none of its calls was run: it " + bound + ". Answer again in far " +
		"less: a few calls at a time, and long content split over several calls.]"
}

// outOfTime reports whether nothing has answered for too long, if the call is made
// again after this wait.
func (t *attempts) outOfTime(now time.Time, wait, most time.Duration) bool {
	return max(now.Sub(t.began), t.waited)+wait > most
}

// renews reports whether a failed call is made again with another key: once,
// where there is a source of keys and the server did not accept the one it
// gave. A server that knows the key and forbids the call is not asked again.
func (t *attempts) renews(call Call, me *ModelError, source bool) bool {
	if me.Kind != ErrAuth || me.Status == http.StatusForbidden || me.Status == 0 || !source || t.renewed {
		return false
	}
	t.renewed, t.refused = true, call.Key
	return true
}

// shouldRetry decides whether a failed call is made again, and when. A nil err stands
// for an answer that says nothing.
func (l *Loop) shouldRetry(
	t *attempts,
	call Call,
	ans Answer,
	err error,
) (wait time.Duration, reason string, ok bool) {
	if err == nil {
		t.empty++
		if len(ans.Message.Blocks) > 0 {
			t.words = askForWords(call)
			return 0, "the model only reasoned and said nothing", true
		}
		return 0, "the model answered nothing", true
	}
	var me *ModelError
	if !errors.As(err, &me) {
		return 0, "", false
	}
	if t.renews(call, me, l.cfg.Key != nil) {
		return 0, "the key was refused, so another one is asked for: " + me.Error(), true
	}
	if me.Kind == ErrRefused && t.words != "" && !t.plain {
		t.plain = true
		return 0, "the server does not take the words that ask for an answer, so they are left out: " + me.Error(), true
	}
	if !me.Transient() {
		return 0, "", false
	}
	if me.Bound != "" {
		t.words = askForLess(me.Bound)
	}
	wait, ok = l.retryWait(t, me)
	return wait, me.Error(), ok
}

// retryWait says how long to wait after a failure that may pass, and whether it is
// worth it.
func (l *Loop) retryWait(t *attempts, me *ModelError) (wait time.Duration, ok bool) {
	r := l.cfg.Retry
	n := t.count[me.Kind]
	t.count[me.Kind]++
	wait = l.backoff(n)
	switch me.Kind {
	case ErrRateLimit:
		if me.RetryAfter > r.RetryAfterMax || n >= r.RateLimited {
			return 0, false
		}
		if me.RetryAfter > 0 {
			wait = me.RetryAfter
		}
	case ErrUnserved:
		if t.outOfTime(l.cfg.Now(), wait, r.UnservedFor) {
			return 0, false
		}
		wait = max(wait, min(me.RetryAfter, r.RetryAfterMax))
	case ErrUnreachable:
		most := r.UnreachableFirst
		if l.answered(me) {
			most = r.UnreachableFor
		}
		return wait, me.Down+wait <= most && !t.outOfTime(l.cfg.Now(), wait, most)
	case ErrOverlong:
		return 0, n == 0 // each may be paid for, and is long
	default:
		if t.count[ErrServed]+t.count[ErrIdle] > r.Served {
			return 0, false
		}
	}
	return wait, true
}

// answered reports whether the server that failed has answered a call before.
func (l *Loop) answered(me *ModelError) bool {
	return me.Answered || !l.spokeAt.IsZero() || l.account.Served()
}

// knownDead is the failure of a call that began then. Where a connection is closed at
// once, without a word of HTTP, and nothing has answered in this run yet, there is no
// model server: a port without a program behind it, or one that speaks something else. A
// server that is loading says 503, or keeps the connection.
func (l *Loop) knownDead(err error, began time.Time) error {
	me, ok := AsModelError(err)
	if !ok || me.Kind != ErrUnserved || me.Status != 0 || l.answered(me) ||
		l.cfg.Now().Sub(began) > l.cfg.Retry.UnreachableFirst {
		return err
	}
	dead := *me
	dead.Kind = ErrUnreachable
	return &dead
}

// backoff is the n-th wait: doubling, capped, and spread by up to a quarter so
// that many runs do not come back at the same instant.
func (l *Loop) backoff(n int) time.Duration {
	d := l.cfg.Retry.Max
	if n < 20 {
		d = min(d, l.cfg.Retry.Base<<n)
	}
	return time.Duration(float64(d) * (0.75 + 0.5*l.cfg.Rand()))
}

// sleep waits, or returns early when ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
