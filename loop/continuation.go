package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
)

// ContinuationVersion is the version of the continuations that this package
// makes. It takes back no newer one.
const ContinuationVersion = 1

// Continuation is what a loop hands over while calls wait. It can be kept as
// JSON and taken back by another process, whose loop was restored from the
// same events.
type Continuation struct {
	Version int `json:"version"`
	// Reason is Waiting or External.
	Reason EndReason  `json:"reason"`
	Run    plan.RunID `json:"run,omitempty"`
	Conv   string     `json:"conv,omitempty"`
	Turn   int        `json:"turn"`
	// Calls are the calls that wait, in call order.
	Calls []Pending `json:"calls"`
	// Results are what the other calls of the turn have come to so far.
	Results []plan.ToolEnd `json:"results,omitempty"`
	Usage   plan.Usage     `json:"usage"` // so far, with what the run had used before
	CostUSD float64        `json:"cost_usd"`
	// OneTurn says that RunTurn handed it over, so that the caller that takes it
	// back wants one turn as well.
	OneTurn bool `json:"one_turn,omitempty"`
}

// Submission is what a tool that was run elsewhere came to.
type Submission struct {
	Call   string
	Result Result
}

// Ruled is a ruling on one call.
type Ruled struct {
	Call string
	Ruling
}

// handOver makes the continuation for calls that wait: those for a person
// first, and once there is none those that run elsewhere.
func (l *Loop) handOver(waiting []Pending) *Continuation {
	usage, cost := l.account.Run().Total()
	c := &Continuation{
		Version: ContinuationVersion,
		Reason:  Waiting,
		Run:     l.cfg.Run,
		Conv:    l.cfg.Conv,
		Turn:    l.turn,
		Calls:   waiting,
		Usage:   usage,
		CostUSD: cost,
	}
	if len(waiting) == 0 {
		c.Reason = External
		for _, x := range externalCalls(unfinished(l.open.calls)) {
			l.recordIntent(x)
			c.Calls = append(c.Calls, Pending{
				Call: x.id,
				Name: x.name,
				Args: x.args,
			})
		}
	}
	if len(c.Calls) == 0 {
		return nil
	}
	for _, x := range l.open.calls {
		if x.end != nil {
			c.Results = append(c.Results, *x.end)
		}
	}
	return c
}

// externalCalls are the calls that can run elsewhere now: in a serial batch the
// first one only.
func externalCalls(todo []*call) []*call {
	if serial(todo) {
		todo = todo[:1]
	}
	return slices.DeleteFunc(slices.Clone(todo), func(c *call) bool { return !c.external() })
}

// external reports whether a call runs elsewhere.
func (c *call) external() bool { return c.offer != nil && c.offer.info.External }

// endFor is the end of a run that hands calls over, if it does.
func endFor(c *Continuation) End {
	if c == nil {
		return End{}
	}
	end := End{Reason: c.Reason, Continuation: c}
	if c.Reason == Waiting {
		end.Waiting = c.Calls
	}
	return end
}

// Submit takes the results of the calls that a continuation handed over, and
// goes on. It wants one result for each call and none for any other; else it
// records nothing and says what is wrong. Results that are in the conversation
// already are not taken a second time: the loop just goes on. If the results
// cannot be recorded the calls have none, and a loop restored from the events
// takes them anew.
func (l *Loop) Submit(ctx context.Context, c Continuation, results ...Submission) (End, error) {
	return l.exclusively(ctx, func(ctx context.Context) (End, error) {
		if err := l.submit(ctx, c, results); err != nil {
			return End{}, err
		}
		return l.goOnAfter(ctx, c)
	})
}

// Resume takes rulings on the calls that a continuation says wait for a person,
// and goes on. A call without a ruling waits on. The hooks are asked again
// about a call that was approved, and calls that have ended are not run again.
func (l *Loop) Resume(ctx context.Context, c Continuation, rulings ...Ruled) (End, error) {
	return l.exclusively(ctx, func(ctx context.Context) (End, error) {
		if err := l.resume(c, rulings); err != nil {
			return End{}, err
		}
		defer func() { l.rulings = nil }()
		return l.goOnAfter(ctx, c)
	})
}

func (l *Loop) goOnAfter(ctx context.Context, c Continuation) (End, error) {
	if c.OneTurn {
		return l.runOneTurn(ctx)
	}
	return l.runToEnd(ctx)
}

// checkContinuation checks whether a continuation can be this loop's, and the ids that come
// with it.
func (l *Loop) checkContinuation(c Continuation, reason EndReason, ids []string) error {
	switch {
	case c.Version < 1 || c.Version > ContinuationVersion:
		return fmt.Errorf(
			"loop: the continuation is of version %d, and this program knows version %d: take it back with the "+
				"program that made it",
			c.Version,
			ContinuationVersion,
		)
	case c.Run != l.cfg.Run:
		return fmt.Errorf("loop: the continuation belongs to run %q, not to %q", c.Run, l.cfg.Run)
	case c.Conv != l.cfg.Conv:
		return fmt.Errorf("loop: the continuation belongs to conversation %q, not to %q", c.Conv, l.cfg.Conv)
	case c.Reason != reason:
		return fmt.Errorf("loop: the continuation is for calls that are %s, not %s", c.Reason, reason)
	case c.Turn > l.turn:
		return fmt.Errorf(
			"loop: the continuation is from turn %d, and the conversation has only come to turn %d: restore it "+
				"from all of its events",
			c.Turn,
			l.turn,
		)
	}
	var problems []string
	seen := map[string]bool{}
	for _, id := range ids {
		switch {
		case seen[id]:
			problems = append(problems, fmt.Sprintf("call %q is answered twice", id))
		case !slices.ContainsFunc(c.Calls, func(p Pending) bool { return p.Call == id }):
			problems = append(problems, fmt.Sprintf("call %q does not wait", id))
		}
		seen[id] = true
	}
	for _, p := range c.Calls {
		if reason == External && !seen[p.Call] {
			problems = append(problems, fmt.Sprintf("call %q of %s has no result", p.Call, p.Name))
		}
	}
	if len(problems) > 0 {
		return errors.New("loop: " + strings.Join(problems, "; "))
	}
	return nil
}

// submit records results, and takes them over once they are recorded.
func (l *Loop) submit(ctx context.Context, c Continuation, results []Submission) error {
	var ids []string
	for _, r := range results {
		ids = append(ids, r.Call)
	}
	if err := l.checkContinuation(c, External, ids); err != nil {
		return err
	}
	var calls []*call
	for _, r := range results {
		x := l.openCall(r.Call)
		if x == nil || c.Turn < l.turn {
			continue // it has its result
		}
		if !x.external() {
			return fmt.Errorf("loop: call %q of %s is not run elsewhere", x.id, x.name)
		}
		calls = append(calls, x)
	}
	if len(calls) == 0 {
		return nil
	}
	if len(calls) < len(results) {
		return errors.New(
			"loop: some of these calls have their result already and some have none: submit what the latest " +
				"continuation asks for",
		)
	}
	l.reopenTurn()
	ends := make([]*plan.ToolEnd, len(calls))
	for i, x := range calls {
		l.recordIntent(x)
		end, blobs := l.endOf(l.afterTool(ctx, x, results[i].Result))
		end.Call, end.Name = x.id, x.name
		ends[i] = end
		ev := l.event(*end)
		ev.Blobs = blobs
		l.queue = append(l.queue, ev)
	}
	if err := l.flush(ctx); err != nil {
		return err
	}
	for i, x := range calls {
		x.finish(*ends[i])
		l.observe(x.name, x.args, x.end)
	}
	return nil
}

// afterTool shows a result to the hook that may change it.
func (l *Loop) afterTool(ctx context.Context, c *call, r Result) Result {
	if after := l.cfg.Hooks.AfterTool; after != nil {
		return after(ctx, ToolCall{
			ID:   c.id,
			Info: c.offer.info,
			Args: c.args,
		}, r)
	}
	return r
}

// resume keeps rulings for the calls that wait.
func (l *Loop) resume(c Continuation, rulings []Ruled) error {
	var ids []string
	decided := map[string]Ruling{}
	for _, r := range rulings {
		ids = append(ids, r.Call)
		decided[r.Call] = r.Ruling
	}
	if err := l.checkContinuation(c, Waiting, ids); err != nil {
		return err
	}
	if c.Turn < l.turn {
		return fmt.Errorf(
			"loop: the continuation is from turn %d, which has ended: the conversation is at turn %d",
			c.Turn,
			l.turn,
		)
	}
	for _, p := range c.Calls {
		if _, ok := decided[p.Call]; !ok {
			continue
		}
		x := l.openCall(p.Call)
		switch {
		case x == nil || x.pending == nil:
			return fmt.Errorf("loop: call %q does not wait any more: it has been decided", p.Call)
		case plan.CallDigest(p.Name, p.Args) != x.pending.Digest:
			return fmt.Errorf("loop: call %q waits with other arguments than the ruling is about", p.Call)
		}
	}
	l.rulings = decided
	return nil
}
