package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/plan-engine/plan"
)

// Retry says how often and how long a failing model call is tried again. The
// zero value means the defaults.
type Retry struct {
	Served        int           // retries of a call that was answered with a failure; default 2
	UnservedFor   time.Duration // how long to keep trying while nothing answers; default 5 minutes
	RateLimited   int           // retries of a 429; default 5
	Empty         int           // times an empty answer is asked again; default 2
	Base          time.Duration // first wait; doubles; default 500 ms
	Max           time.Duration // longest wait of our own; default 30 s
	RetryAfterMax time.Duration // longest wait that a server may ask for; default 60 s
}

func (r Retry) withDefaults() Retry {
	return Retry{
		Served:        cmp.Or(r.Served, 2),
		UnservedFor:   cmp.Or(r.UnservedFor, 5*time.Minute),
		RateLimited:   cmp.Or(r.RateLimited, 5),
		Empty:         cmp.Or(r.Empty, 2),
		Base:          cmp.Or(r.Base, 500*time.Millisecond),
		Max:           cmp.Or(r.Max, 30*time.Second),
		RetryAfterMax: cmp.Or(r.RetryAfterMax, time.Minute),
	}
}

// generate makes the next request of the conversation.
func (l *Loop) generate(ctx context.Context) (Answer, error) {
	messages, h := l.messages, l.cfg.Hooks
	if h.TransformContext != nil {
		messages = h.TransformContext(ctx, messages)
	}
	if h.ConvertMessages != nil {
		messages = h.ConvertMessages(ctx, messages)
	}
	call := Call{
		Model: l.cfg.Name, System: l.cfg.System, Tools: l.specs, Messages: repair(messages, unanswered),
		Settings: l.cfg.Settings, Format: l.cfg.Format, Headers: l.cfg.Headers,
	}
	l.stamp(ctx, &call)
	if h.PrePrompt != nil {
		call = h.PrePrompt(ctx, call)
	}
	return l.try(ctx, call)
}

// stamp adds what each call carries of its own.
func (l *Loop) stamp(ctx context.Context, call *Call) {
	call.Metadata = l.cfg.Metadata
	if l.cfg.PerCall == nil {
		return
	}
	headers, metadata := l.cfg.PerCall(ctx, l.turn)
	call.Headers, call.Metadata = laid(call.Headers, headers), laid(call.Metadata, metadata)
}

// laid is base with the entries of top over it; neither is changed.
func laid(base, top map[string]string) map[string]string {
	if len(top) == 0 {
		return base
	}
	out := make(map[string]string, len(base)+len(top))
	maps.Copy(out, base)
	maps.Copy(out, top)
	return out
}

// try makes a call until it is answered or trying again is pointless.
func (l *Loop) try(ctx context.Context, call Call) (Answer, error) {
	tries := tries{began: l.cfg.Now(), count: map[ErrorKind]int{}}
	for {
		ans, err := l.attempt(ctx, &call, tries.refused)
		tries.refused = "" // told once
		if err == nil && (len(ans.Message.Blocks) > 0 || !ans.Stop.Whole() || tries.empty >= l.cfg.Retry.Empty) {
			return ans, nil
		}
		if ctx.Err() != nil {
			return Answer{}, context.Cause(ctx)
		}
		wait, reason, again := l.again(&tries, call, err)
		if !again {
			return Answer{}, err
		}
		tries.all++
		retry := plan.Retry{Attempt: tries.all, Reason: reason, WaitMS: wait.Milliseconds()}
		if me, ok := AsModelError(err); ok {
			retry.Status = me.Status
		}
		l.record(retry)
		if err := l.flush(ctx); err != nil {
			return Answer{}, err
		}
		if err := l.cfg.Sleep(ctx, wait); err != nil {
			return Answer{}, context.Cause(ctx)
		}
	}
}

// unanswered knows the result of no call: a loop's own calls have theirs in the
// conversation, so only messages that came from outside can lack one.
func unanswered(plan.Block) (plan.Block, bool) { return plan.Block{}, false }

// attempt makes the call once, showing the answer as it arrives. A model that
// panics has failed like any other.
func (l *Loop) attempt(ctx context.Context, call *Call, refused string) (ans Answer, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() {
		if p := recover(); p != nil {
			ans, err = Answer{}, fmt.Errorf("the model's client crashed: %v\n%s", p, firstFrames(debug.Stack()))
		}
	}()
	if l.cfg.Key != nil {
		if call.Key, err = l.cfg.Key(ctx, refused); err != nil {
			return Answer{}, &ModelError{Kind: ErrAuth, Message: "get the key of this call: " + err.Error(), Err: err}
		}
	}
	return l.cfg.Model.Generate(ctx, *call, func(d Delta) {
		if err := l.show(ctx, plan.MessageUpdate{Kind: d.Kind, Call: d.Call, Name: d.Name, Text: d.Text}); err != nil {
			cancel(err)
		}
		l.storm.prepare() // while the rest arrives: it may have a long conversation to take in
	})
}

// tries counts the failures of one call.
type tries struct {
	began   time.Time
	all     int
	empty   int
	count   map[ErrorKind]int
	refused string // the key that was refused, if one was
	renewed bool   // another key has been asked for
}

// renews reports whether a failed call is made again with another key: once,
// where there is a source of keys and the server did not accept the one it
// gave. A server that knows the key and forbids the call is not asked again.
func (t *tries) renews(call Call, me *ModelError, source bool) bool {
	if me.Kind != ErrAuth || me.Status == http.StatusForbidden || me.Status == 0 || !source || t.renewed {
		return false
	}
	t.renewed, t.refused = true, call.Key
	return true
}

// again decides whether a failed call is made again, and when. A nil err stands
// for an empty answer.
func (l *Loop) again(t *tries, call Call, err error) (wait time.Duration, reason string, ok bool) {
	r := l.cfg.Retry
	if err == nil {
		t.empty++
		return 0, "the model answered nothing", true
	}
	var me *ModelError
	if !errors.As(err, &me) {
		return 0, "", false
	}
	if t.renews(call, me, l.cfg.Key != nil) {
		return 0, "the key was refused, so another one is asked for: " + me.Error(), true
	}
	if !me.Transient() {
		return 0, "", false
	}
	n := t.count[me.Kind]
	t.count[me.Kind]++
	wait = l.backoff(n)
	switch me.Kind {
	case ErrRateLimit:
		if me.RetryAfter > r.RetryAfterMax || n >= r.RateLimited {
			return 0, "", false
		}
		if me.RetryAfter > 0 {
			wait = me.RetryAfter
		}
	case ErrUnserved:
		if l.cfg.Now().Add(wait).Sub(t.began) > r.UnservedFor {
			return 0, "", false
		}
		wait = max(wait, min(me.RetryAfter, r.RetryAfterMax))
	default:
		if t.count[ErrServed]+t.count[ErrIdle] > r.Served {
			return 0, "", false
		}
	}
	return wait, me.Error(), true
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
