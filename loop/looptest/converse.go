package looptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

const (
	// cancelWithin is how soon a call returns once its context has ended.
	cancelWithin = 100 * time.Millisecond
	// cancelTries is how many calls are cancelled at most: a busy machine may
	// let one of them come late.
	cancelTries = 3
	// together is how many calls are made at the same time.
	together = 4
)

// begin is the first call of a conversation.
func begin(s Scenario) loop.Call {
	object := json.RawMessage(`{"type":"object"}`)
	return loop.Call{
		Model:  "conformance",
		System: "You take part in a test.",
		Tools: []loop.Spec{
			{Name: "read", Description: "Reads a file.", Schema: object},
			{Name: "bash", Description: "Runs a command.", Schema: object},
		},
		Messages: []plan.Message{plan.UserText("Begin: " + s.Name + ".")},
		Headers:  map[string]string{"X-Plan-Run": "looptest", "X-Plan-Phase": s.Name, "X-Plan-Attempt": "1"},
	}
}

// next is the call that follows an answer.
func next(c loop.Call, ans loop.Answer) loop.Call {
	next := plan.UserText("Go on.")
	if calls := ans.Message.Calls(); len(calls) > 0 {
		next = plan.Message{Role: plan.RoleTool}
		for i, b := range calls {
			next.Blocks = append(next.Blocks, plan.Block{
				Type: plan.BlockToolResult,
				Call: b.Call,
				Name: b.Name,
				Text: fmt.Sprintf("Result %d of %s.", i, b.Name),
			})
		}
	}
	messages := append([]plan.Message{}, c.Messages...)
	c.Messages = append(messages, ans.Message, next)
	return c
}

// ask makes a call, and makes sure that it is left as it was.
func ask(ctx context.Context, m loop.Model, c loop.Call) (loop.Answer, *pieces, error) {
	streamed := &pieces{}
	before, err := json.Marshal(c)
	if err != nil {
		return loop.Answer{}, nil, fmt.Errorf("encode the call: %w", err)
	}
	ans, failed := m.Generate(ctx, c, streamed.add)
	streamed.returned = true
	if after, err := json.Marshal(c); err != nil || string(after) != string(before) {
		streamed.problem = fmt.Errorf("the call was changed to\n%s, was\n%s", after, before)
	}
	return ans, streamed, failed
}

// converse plays a scenario from its first reply to its last. A fault has to
// be reported as often as it strikes; the same call is then answered.
func converse(ctx context.Context, m loop.Model, c testCase) error {
	call := begin(c.Scenario)
	for n, r := range c.Replies {
		for range timesOf(r.Fault) {
			_, streamed, err := ask(ctx, m, call)
			if err := checkFailure(c, *r.Fault, err); err != nil {
				return fmt.Errorf("reply %d: %w", n, err)
			}
			if streamed.problem != nil {
				return fmt.Errorf("reply %d: %w", n, streamed.problem)
			}
		}
		ans, streamed, err := ask(ctx, m, call)
		if err != nil {
			return fmt.Errorf("reply %d: %w", n, err)
		}
		if err := checkAnswer(r, call.Messages, ans, streamed); err != nil {
			return fmt.Errorf("reply %d: %w", n, err)
		}
		call = next(call, ans)
	}
	return nil
}

func timesOf(f *Fault) int {
	if f == nil {
		return 0
	}
	return f.Times
}

// cancelMidStream ends the context with the first piece of an answer that does
// not come to its end by itself.
func cancelMidStream(ctx context.Context, m loop.Model, s Scenario) error {
	why := errors.New("the caller has had enough")
	var elapsed time.Duration
	for range cancelTries {
		ctx, cancel := context.WithCancelCause(ctx)
		var at time.Time
		done := make(chan error, 1)
		go func() {
			_, err := m.Generate(ctx, begin(s), func(loop.Delta) {
				if at.IsZero() {
					at = time.Now()
					cancel(why)
				}
			})
			elapsed = time.Since(at)
			done <- err
		}()
		select {
		case err := <-done:
			cancel(nil)
			if !errors.Is(err, why) {
				return fmt.Errorf(
					"a call that was cancelled returns %w, want the cause that the context was ended with",
					orNoError(err),
				)
			}
		case <-time.After(patience / 4):
			cancel(nil)
			return errors.New("a call whose context ended with the first piece did not return")
		}
		if elapsed <= cancelWithin {
			return nil
		}
	}
	return fmt.Errorf("a call returned %s after it was cancelled, want at most %s", elapsed, cancelWithin)
}

// orNoError makes an error of the lack of one.
func orNoError(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

// cancelledBefore calls with a context that has ended.
func cancelledBefore(ctx context.Context, m loop.Model, s Scenario) error {
	why := errors.New("there is nothing to ask any more")
	ended, cancel := context.WithCancelCause(ctx)
	cancel(why)
	_, streamed, err := ask(ended, m, begin(s))
	if !errors.Is(err, why) {
		return fmt.Errorf(
			"a call after its context ended returns %w, want the cause that the context was ended with",
			orNoError(err),
		)
	}
	if streamed.count > 0 {
		return fmt.Errorf("a call after its context ended showed %d pieces", streamed.count)
	}
	return nil
}

// repeated makes the same call twice.
func repeated(ctx context.Context, m loop.Model, s Scenario) error {
	first, streamed, err := ask(ctx, m, begin(s))
	if err != nil {
		return err
	}
	if err := checkAnswer(s.Replies[0], begin(s).Messages, first, streamed); err != nil {
		return err
	}
	second, again, err := ask(ctx, m, begin(s))
	switch {
	case err != nil:
		return fmt.Errorf("the same call again: %w", err)
	case !reflect.DeepEqual(first, second):
		return fmt.Errorf("the same call is answered with\n%+v, and again with\n%+v", first, second)
	}
	return again.check(second.Message)
}

// unwatched makes a call whose answer is not watched.
func unwatched(ctx context.Context, m loop.Model, s Scenario) error {
	ans, err := m.Generate(ctx, begin(s), nil)
	if err != nil {
		return err
	}
	return checkAnswer(s.Replies[0], nil, ans, nil)
}

// atTheSameTime makes several calls at once, as loops and their sub-agents do.
func atTheSameTime(ctx context.Context, m loop.Model, s Scenario) error {
	failed := make(chan error, together)
	for range together {
		go func() {
			ans, streamed, err := ask(ctx, m, begin(s))
			if err == nil {
				err = checkAnswer(s.Replies[0], nil, ans, streamed)
			}
			failed <- err
		}()
	}
	var errs []error
	for range together {
		errs = append(errs, <-failed)
	}
	return errors.Join(errs...)
}
