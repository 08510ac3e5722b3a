package record_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

func TestErrorsAreReplayed(t *testing.T) {
	t.Parallel()
	c := call("explore", "Where?")
	for _, kind := range []loop.ErrorKind{
		loop.ErrUnserved, loop.ErrUnreachable, loop.ErrServed, loop.ErrRateLimit, loop.ErrQuota, loop.ErrAuth, loop.ErrNotFound,
		loop.ErrTooLong, loop.ErrRefused, loop.ErrIdle, loop.ErrOverlong,
	} {
		want := loop.ModelError{
			Kind:       kind,
			Status:     418,
			RetryAfter: 1500 * time.Millisecond,
			Message:    "what it said about “" + string(kind) + "”",
			Window:     4096,
			Bound:      "says more than 8MiB",
			Usage:      plan.Usage{Requests: 1, Input: 7},
			Adjusted:   []plan.Adjusted{{Model: "m", Part: "stream_options", Why: "no"}},
		}
		made := want
		made.Err = errors.New("the cause")
		got := ask(t, player(t, recording(t, fails(&made), c)), c)
		if got.Error == nil {
			t.Fatalf("%s: no error", kind)
		}
		same(t, string(kind), *got.Error, want)
	}
	_, err := player(t, recording(t, fails(errors.New("the model is not there")), c)).Generate(t.Context(), c, nil)
	if err == nil || err.Error() != "the model is not there" {
		t.Errorf("another error is replayed as %v", err)
	}
	_, err = player(t, recording(t, fails(errors.New("")), c)).Generate(t.Context(), c, nil)
	if err == nil {
		t.Error("an error without words is replayed as none")
	}
}

// A call that was cancelled and made again has its answer where it was made
// again; one that was not has none.
func TestCancelled(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "run.jsonl")
	c := call("explore", "Where?")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	breaksOff := generate(func(ctx context.Context, _ loop.Call, live func(loop.Delta)) (loop.Answer, error) {
		live(loop.Delta{Kind: plan.BlockText, Text: "He"})
		cancel(why)
		return loop.Answer{}, context.Cause(ctx)
	})
	r := recorder(t, breaksOff, file, nil)
	if _, err := r.Generate(ctx, c, nil); !errors.Is(err, why) {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}

	p := player(t, file)
	ctx, cancel = context.WithCancelCause(t.Context())
	var shown string
	stop := func(d loop.Delta) { shown += d.Text; cancel(why) }
	if n := p.Unplayed(); n != 0 {
		t.Errorf("Unplayed = %d, want none but the cancelled", n)
	}
	if _, err := p.Generate(ctx, c, stop); !errors.Is(err, why) || shown != "He" {
		t.Errorf("cancelled again: %v after %q", err, shown)
	}
	_, err := p.Generate(t.Context(), c, nil)
	if err == nil || !strings.Contains(err.Error(), "line 2") || !strings.Contains(err.Error(), "enough") {
		t.Errorf("not cancelled again: %v", err)
	}

	r = recorder(t, says("Here it is."), file, nil)
	ask(t, r, c)
	p = player(t, file)
	ctx, cancel = context.WithCancelCause(t.Context())
	if _, err := p.Generate(ctx, c, func(loop.Delta) { cancel(why) }); !errors.Is(err, why) {
		t.Errorf("a call that was answered, cancelled now: %v", err)
	}
	same(t, "the answer", ask(t, p, c).Answer.Message.Text(), "Here it is.")
}

// Whatever a call holds makes it another one, except for the run it is of and
// what proves who asks.
func TestEveryFieldMatters(t *testing.T) {
	t.Parallel()
	base := call("explore", "Where?")
	base.Format = &loop.Format{Name: "f"}
	base.Tools = []loop.Spec{{Name: "t", Schema: json.RawMessage(`{}`)}}
	file := recording(t, says("Here."), base)
	check := func(name string, c loop.Call, differs bool) {
		t.Helper()
		_, err := player(t, file).Generate(t.Context(), c, nil)
		if (err != nil) != differs {
			t.Errorf("with another %s: %v", name, err)
		}
	}
	check("nothing", base, false)
	for _, at := range []struct {
		of   string
		part func(*loop.Call) reflect.Value
	}{
		{"Call", func(c *loop.Call) reflect.Value { return reflect.ValueOf(c).Elem() }},
		{"Settings", func(c *loop.Call) reflect.Value { return reflect.ValueOf(&c.Settings).Elem() }},
		{"Format", func(c *loop.Call) reflect.Value {
			c.Format = &loop.Format{Name: "f"}
			return reflect.ValueOf(c.Format).Elem()
		}},
		{"Spec", func(c *loop.Call) reflect.Value {
			c.Tools = append([]loop.Spec{}, c.Tools...)
			return reflect.ValueOf(&c.Tools[0]).Elem()
		}},
	} {
		kind := at.part(&loop.Call{Tools: make([]loop.Spec, 1)}).Type()
		for i := range kind.NumField() {
			c := base
			field := at.part(&c).Field(i)
			if kind.Field(i).Name == "Settings" {
				continue // its fields are looked at
			}
			field.Set(other(t, field.Type()))
			// What proves who asks, how long and over which wire it is asked, and what
			// a server is to keep, is no part of what is said.
			apart := []string{"Key", "Wire", "Patience", "LongCache", "Shared"}
			check(at.of+"."+kind.Field(i).Name, c, !slices.Contains(apart, kind.Field(i).Name))
		}
	}
	withHeader := func(name string) loop.Call {
		c := base
		c.Headers = map[string]string{name: "a value of some length"}
		for k, v := range base.Headers {
			if _, set := c.Headers[k]; !set {
				c.Headers[k] = v
			}
		}
		return c
	}
	for _, name := range []string{"X-Plan-Run", "Authorization", "x-api-key", "Cookie"} {
		check(name, withHeader(name), false)
	}
	for _, name := range []string{"X-Plan-Phase", "X-Plan-Attempt", "X-Else"} {
		check(name, withHeader(name), true)
	}
}

// other makes a value that is not zero.
func other(t *testing.T, kind reflect.Type) reflect.Value {
	t.Helper()
	v := reflect.New(kind).Elem()
	var text string
	switch kind.Kind() {
	case reflect.String:
		text = `"other"`
	case reflect.Int:
		text = `7`
	case reflect.Bool:
		text = `true`
	case reflect.Pointer:
		text = `0.5`
		if kind.Elem().Kind() == reflect.Struct {
			text = `{"Name":"other"}`
		}
	case reflect.Struct:
		text = `{"Tools":7}`
	case reflect.Map:
		text = `{"X-Other":"other"}`
	case reflect.Slice:
		text = `[{"name":"other","role":"user"}]`
		if kind == reflect.TypeFor[json.RawMessage]() {
			text = `{"type":"string"}`
		}
	default:
		t.Fatalf("no other value for %s: add one", kind)
	}
	if err := json.Unmarshal([]byte(text), v.Addr().Interface()); err != nil {
		t.Fatal(err)
	}
	return v
}

// Whatever an answer holds comes back.
func TestWholeAnswer(t *testing.T) {
	t.Parallel()
	want := loop.Answer{
		Message: assistant(
			plan.Block{Type: plan.BlockReasoning, Text: "Hm <b>\u2028", Opaque: json.RawMessage(`{"z":1.0,"a":"\u00e9"}`)},
			plan.Block{Type: plan.BlockText, Text: "\tTwo\r\nlines & \"quotes\" 🍏"},
			plan.Block{
				Type:   plan.BlockToolCall,
				Call:   "c1",
				Name:   "read",
				Args:   "{ \"path\" : \"a\",\n \"limit\": 1.0",
				Opaque: json.RawMessage(`{"sig":"x=="}`),
			},
			plan.Block{Type: plan.BlockExtension, Kind: "k", Opaque: json.RawMessage(`[1]`)},
		),
		Stop: loop.StopTools, Model: "m-2026", Finish: "tool_use",
		Usage:    plan.Usage{Requests: 1, Input: 10, Cached: 4, Written: 3, WrittenHour: 2, Output: 5, Reasoning: 3},
		CostUSD:  new(0.25),
		Adjusted: []plan.Adjusted{{Model: "m", Part: "temperature", From: "1", Why: "no"}},
	}
	inner := generate(func(context.Context, loop.Call, func(loop.Delta)) (loop.Answer, error) { return want, nil })
	c := call("explore", "Where?")
	same(t, "the answer", ask(t, player(t, recording(t, inner, c)), c).Answer, want)
	for i, v := 0, reflect.ValueOf(want); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("the test says nothing about %s", v.Type().Field(i).Name)
		}
	}

	want = loop.Answer{Message: plan.Message{Role: plan.RoleAssistant}, Stop: loop.StopEnd}
	same(t, "an empty answer", ask(t, player(t, recording(t, inner, c)), c).Answer, want)
}
