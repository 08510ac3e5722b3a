package looptest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/loop/looptest"
)

// generate is a model made of its one method.
type generate func(context.Context, loop.Call, func(loop.Delta)) (loop.Answer, error)

func (g generate) Generate(ctx context.Context, req loop.Call, live func(loop.Delta)) (loop.Answer, error) {
	return g(ctx, req, live)
}

// spoil makes a model whose answers are changed.
func spoil(change func(*loop.Answer)) func(loop.Model) loop.Model {
	return func(inner loop.Model) loop.Model {
		return generate(func(ctx context.Context, req loop.Call, live func(loop.Delta)) (loop.Answer, error) {
			ans, err := inner.Generate(ctx, req, live)
			if err == nil {
				change(&ans)
			}
			return ans, err
		})
	}
}

// spoilBlocks makes a model that changes the blocks of its answers.
func spoilBlocks(change func(*plan.Block)) func(loop.Model) loop.Model {
	return spoil(func(ans *loop.Answer) {
		for i := range ans.Message.Blocks {
			change(&ans.Message.Blocks[i])
		}
	})
}

// spoilError makes a model whose failures are changed.
func spoilError(change func(*loop.ModelError) error) func(loop.Model) loop.Model {
	return func(inner loop.Model) loop.Model {
		return generate(func(ctx context.Context, req loop.Call, live func(loop.Delta)) (loop.Answer, error) {
			ans, err := inner.Generate(ctx, req, live)
			if me, ok := loop.AsModelError(err); ok {
				err = change(me)
			}
			return ans, err
		})
	}
}

// spoilPieces makes a model that shows something else than it answers.
func spoilPieces(change func(n int, d loop.Delta) []loop.Delta) func(loop.Model) loop.Model {
	return func(inner loop.Model) loop.Model {
		return generate(func(ctx context.Context, req loop.Call, live func(loop.Delta)) (loop.Answer, error) {
			n := 0
			return inner.Generate(ctx, req, func(d loop.Delta) {
				if live == nil {
					return
				}
				for _, d := range change(n, d) {
					live(d)
				}
				n++
			})
		})
	}
}

// The suite has to notice what is wrong with a model: each way to break one is
// caught by the cases named, and by no others.
func TestDefectsAreCaught(t *testing.T) {
	t.Parallel()
	withUsage := func(s looptest.Scenario) bool { return s.Name == "usage" }
	withCalls := func(s looptest.Scenario) bool {
		return slices.ContainsFunc(s.Replies, func(r looptest.Reply) bool { return len(r.Calls) > 0 })
	}
	withSpeech := func(s looptest.Scenario) bool { return s.Name != "empty" && answered(s) && s.Name != "unwatched" }
	withFault := func(s looptest.Scenario) bool { return s.Replies[0].Fault != nil && s.Name != "cancel" }
	named := func(names ...string) func(looptest.Scenario) bool {
		return func(s looptest.Scenario) bool { return slices.Contains(names, s.Name) }
	}
	for _, d := range []struct {
		name  string
		spoil func(loop.Model) loop.Model
		finds func(looptest.Scenario) bool
	}{
		{"nothing", func(m loop.Model) loop.Model { return m }, named()},
		{"cached tokens lost", spoil(func(a *loop.Answer) { a.Usage.Cached = 0 }), withUsage},
		{"reasoning tokens lost", spoil(func(a *loop.Answer) { a.Usage.Reasoning = 0 }), withUsage},
		{"stop is always the end", spoil(func(a *loop.Answer) {
			if a.Stop != loop.StopTools {
				a.Stop = loop.StopEnd
			}
		}), named("length", "refused", "filtered")},
		{"calls do not stop", spoil(func(a *loop.Answer) {
			if a.Stop == loop.StopTools {
				a.Stop = loop.StopEnd
			}
		}), func(s looptest.Scenario) bool { return withCalls(s) }},
		{"role forgotten", spoil(func(a *loop.Answer) { a.Message.Role = "" }), answered},
		{
			"text is trimmed", spoilBlocks(func(b *plan.Block) { b.Text = strings.TrimSpace(b.Text) }),
			named("long_text", "repeated", "unwatched", "at_the_same_time"),
		},
		{
			"arguments are tidied", spoilBlocks(func(b *plan.Block) { b.Args = strings.ReplaceAll(b.Args, "\n ", "") }),
			named("arguments_as_written"),
		},
		{"calls share an id", spoilBlocks(func(b *plan.Block) { b.Call = "call_0" }), withCalls},
		{"the last block is lost", spoil(func(a *loop.Answer) {
			if n := len(a.Message.Blocks); n > 1 {
				a.Message.Blocks = a.Message.Blocks[:n-1]
			}
		}), named("reasoning_and_text", "two_calls", "same_call_twice", "text_and_call", "conversation", "repeated")},
		{"a block is made up", spoil(func(a *loop.Answer) {
			if len(a.Message.Blocks) == 0 {
				a.Message.Blocks = []plan.Block{{Type: plan.BlockText}}
			}
		}), named("empty")},
		{"the last character is not shown", func(inner loop.Model) loop.Model {
			return generate(func(ctx context.Context, req loop.Call, live func(loop.Delta)) (loop.Answer, error) {
				var last loop.Delta
				ans, err := inner.Generate(ctx, req, func(d loop.Delta) {
					if live != nil && last.Kind != "" {
						live(last)
					}
					last = d
				})
				if live != nil && last.Text != "" {
					last.Text = last.Text[:len(last.Text)-1]
					live(last)
				}
				return ans, err
			})
		}, withSpeech},
		{"pieces come twice", spoilPieces(func(_ int, d loop.Delta) []loop.Delta {
			return []loop.Delta{d, d}
		}), withSpeech},
		{"pieces of calls without id", spoilPieces(func(_ int, d loop.Delta) []loop.Delta {
			d.Call = ""
			return []loop.Delta{d}
		}), withCalls},
		{"pieces of calls without name", spoilPieces(func(_ int, d loop.Delta) []loop.Delta {
			d.Name = ""
			return []loop.Delta{d}
		}), withCalls},
		{"a piece after the end", func(inner loop.Model) loop.Model {
			return generate(func(ctx context.Context, req loop.Call, live func(loop.Delta)) (loop.Answer, error) {
				ans, err := inner.Generate(ctx, req, live)
				if live != nil {
					live(loop.Delta{Kind: "late"})
				}
				return ans, err
			})
		}, func(s looptest.Scenario) bool { return s.Name != "cancel" && s.Name != "unwatched" }},
		{"failures are swallowed", func(inner loop.Model) loop.Model {
			return generate(func(ctx context.Context, req loop.Call, live func(loop.Delta)) (loop.Answer, error) {
				ans, err := inner.Generate(ctx, req, live)
				if _, ok := loop.AsModelError(err); ok {
					err = nil
				}
				return ans, err
			})
		}, withFault},
		{"failures lose their kind", spoilError(func(e *loop.ModelError) error { return errors.New(e.Message) }), withFault},
		{
			"failures are all refusals", spoilError(func(e *loop.ModelError) error { e.Kind = loop.ErrRefused; return e }),
			func(s looptest.Scenario) bool { return withFault(s) && s.Name != "bad_request" },
		},
		{
			"failures have no status", spoilError(func(e *loop.ModelError) error { e.Status = 0; return e }),
			func(s looptest.Scenario) bool { return withFault(s) && s.Replies[0].Fault.Kind == looptest.FaultStatus },
		},
		{"failures have two lines", spoilError(func(e *loop.ModelError) error { e.Message += "\n"; return e }), withFault},
		{"the time to wait is lost", spoilError(func(e *loop.ModelError) error { e.RetryAfter = 0; return e }), named("rate_limit")},
		{
			"the time to wait is made up", spoilError(func(e *loop.ModelError) error { e.RetryAfter = 7 * time.Second; return e }),
			func(s looptest.Scenario) bool { return withFault(s) && s.Name != "rate_limit" },
		},
		{"the cause is lost", func(inner loop.Model) loop.Model {
			return generate(func(ctx context.Context, req loop.Call, live func(loop.Delta)) (loop.Answer, error) {
				ans, err := inner.Generate(ctx, req, live)
				if ctx.Err() != nil {
					err = ctx.Err()
				}
				return ans, err
			})
		}, named("cancel", "cancelled_before")},
		{"cancelling is slow", func(inner loop.Model) loop.Model {
			return generate(func(ctx context.Context, req loop.Call, live func(loop.Delta)) (loop.Answer, error) {
				ans, err := inner.Generate(ctx, req, live)
				if ctx.Err() != nil {
					<-time.After(150 * time.Millisecond)
				}
				return ans, err
			})
		}, named("cancel")},
		{"no nil callback", func(inner loop.Model) loop.Model {
			return generate(func(ctx context.Context, req loop.Call, live func(loop.Delta)) (loop.Answer, error) {
				if live == nil {
					return loop.Answer{}, errors.New("nobody watches")
				}
				return inner.Generate(ctx, req, live)
			})
		}, named("unwatched")},
		{"the call is changed", func(inner loop.Model) loop.Model {
			return generate(func(ctx context.Context, req loop.Call, live func(loop.Delta)) (loop.Answer, error) {
				defer func() { req.Headers["X-Mine"] = "1" }()
				return inner.Generate(ctx, req, live)
			})
		}, func(s looptest.Scenario) bool {
			return s.Name != "cancel" && s.Name != "cancelled_before" && s.Name != "unwatched"
		}},
		{"answers differ", func(inner loop.Model) loop.Model {
			n := make(chan int, 1)
			n <- 0
			return generate(func(ctx context.Context, req loop.Call, live func(loop.Delta)) (loop.Answer, error) {
				ans, err := inner.Generate(ctx, req, live)
				i := <-n
				n <- i + 1
				ans.Model = fmt.Sprint(i)
				return ans, err
			})
		}, named("repeated")},
		{"one call at a time", company(func(n int) bool { return n == 0 }), named("at_the_same_time")},
		{"calls wait for each other", company(func(int) bool { return true }), named()},
	} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range looptest.Cases() {
				client, _ := serve(t, c.Scenario)
				err := c.Try(t.Context(), d.spoil(client))
				switch found, want := err != nil, d.finds(c.Scenario); {
				case want && !found:
					t.Errorf("%s lets it pass", c.Name)
				case found && !want:
					t.Errorf("%s: %v", c.Name, err)
				}
			}
		})
	}
}

// company makes a model that lets the calls of one case wait until all four
// are there; may says whether the n-th of them is then served.
func company(may func(n int) bool) func(loop.Model) loop.Model {
	return func(inner loop.Model) loop.Model {
		there := make(chan int, 1)
		there <- 0
		all := make(chan struct{})
		return generate(func(ctx context.Context, req loop.Call, live func(loop.Delta)) (loop.Answer, error) {
			if req.Headers["X-Plan-Phase"] != "at_the_same_time" {
				return inner.Generate(ctx, req, live)
			}
			n := <-there
			if n == 3 {
				close(all)
			}
			there <- n + 1
			select {
			case <-all:
			case <-time.After(10 * time.Second):
				return loop.Answer{}, errors.New("no other call came")
			}
			if !may(n) {
				return loop.Answer{}, errors.New("busy")
			}
			return inner.Generate(ctx, req, live)
		})
	}
}

// answered reports whether a scenario comes to an answer at all.
func answered(s looptest.Scenario) bool { return s.Name != "cancel" && s.Name != "cancelled_before" }
