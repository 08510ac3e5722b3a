package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/plan-engine/plan"
)

// Model speaks to one language model.
type Model interface {
	// Generate sends one request and returns the whole answer. While the
	// answer arrives, live is called from the same goroutine with each piece;
	// it may be nil. Generate makes one attempt: retrying is the loop's. A
	// failure is a *ModelError, or the context's error when ctx ended first;
	// a stream that breaks off is a failure, never a short answer.
	Generate(ctx context.Context, req Call, live func(Delta)) (Answer, error)
}

// Call is one request to a model. Its bytes on the wire depend on nothing but
// its fields: the same call gives the same bytes, and a call whose Messages
// extend another's extends that one's bytes.
type Call struct {
	Model string
	// Wire is how the server is to be spoken to, in the words of what opened the
	// model; "" is as is usual there. A conversation keeps its wire, also where
	// another is usual by now.
	Wire     string `json:"-"`
	System   string
	Tools    []Spec // in this order
	Messages []plan.Message
	Settings Settings
	// Format asks for an answer that fits a schema, where the server can do
	// that; the prompt must ask for it in words as well.
	Format *Format
	// Headers are sent with the HTTP request, Metadata in its body, to servers
	// that keep it with the call.
	Headers  map[string]string
	Metadata map[string]string
	// Shared is how far the call begins as others do: there a client sets marks for
	// servers that keep in their cache only what is marked.
	Shared Shared `json:"-"`
	// Key is the key to send; "" is the model's own. It is never recorded.
	Key string `json:"-"`
	// Patience is how often this call has already ended in silence: 0, 1 or 2. A
	// client waits longer each time. It is neither recorded nor sent.
	Patience int `json:"-"`
}

// Settings are sent only when they are set, because strict servers refuse
// parameters they do not know.
type Settings struct {
	Temperature     *float64
	Effort          string // reasoning effort: low, medium, high, …
	MaxOutputTokens int
	// LongCache keeps what several conversations begin with (tools, system prompt,
	// what else is [Shared]) in the server's cache for an hour rather than for
	// minutes, where the server lets a request say so.
	LongCache bool
}

// Shared is how much of its beginning a call has in common with those of other
// conversations.
type Shared struct {
	Tools  int // so many of the tools
	Blocks int // and of the blocks of the first message
}

// Format names a JSON schema for the answer.
type Format struct {
	Name   string
	Schema json.RawMessage
}

// Spec is what a model is told about a tool.
type Spec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the arguments, canonical
	// Finds says that the results are tools, which can be called by name from then on:
	// a server that has a kind of tool for that is told so.
	Finds bool `json:"finds,omitempty"`
}

// Delta is a piece of an answer as it arrives.
type Delta struct {
	Kind plan.BlockType // text, reasoning or tool_call
	Text string         // for tool_call: argument text
	Call string         // tool_call: the call's id
	Name string         // tool_call: the tool's name
}

// StopReason says why a model stopped.
type StopReason string

// The stop reasons. A reason that is none of these says nothing against an
// answer: servers have words of their own for an ordinary end.
const (
	StopEnd      StopReason = "stop"
	StopTools    StopReason = "tool_calls"
	StopLength   StopReason = "length"         // the output limit cut the answer off
	StopFiltered StopReason = "content_filter" // the server's filter ended the answer
	StopRefused  StopReason = "refusal"        // the model declined to answer
)

// Declined reports whether the answer is none: it was refused, or a filter
// ended it. What it says so far is not what the model would have said.
func (s StopReason) Declined() bool { return s == StopFiltered || s == StopRefused }

// Whole reports whether the answer is all that the model meant to say.
func (s StopReason) Whole() bool { return s != StopLength && !s.Declined() }

// Answer is a finished answer.
type Answer struct {
	Message plan.Message
	Stop    StopReason
	Usage   plan.Usage
	Model   string // as the server names it; may be ""
	Finish  string // the server's own word for why it stopped, where that is another than Stop
	// CostUSD is what the server says the call cost; nil if it does not say.
	CostUSD *float64
	// Adjusted is what the server refused of this request before it took it.
	Adjusted []plan.Adjusted
}

// ErrorKind sorts model failures by what can be done about them.
type ErrorKind string

// The kinds of model failure.
const (
	// ErrUnserved: nothing answered (connection reset, 502, 503, 504, 529).
	// Trying again later can help.
	ErrUnserved ErrorKind = "unserved"
	// ErrUnreachable: there is no server (DNS, TLS, connection refused). It can
	// come back, but hardly within seconds.
	ErrUnreachable ErrorKind = "unreachable"
	// ErrServed: the server answered and failed (500, an error frame, garbage
	// or a cut stream). Trying again may help.
	ErrServed ErrorKind = "served"
	// ErrRateLimit: 429. RetryAfter may say when to come back.
	ErrRateLimit ErrorKind = "rate_limit"
	// ErrQuota: the account has used up what it may. Waiting for minutes does
	// not help.
	ErrQuota ErrorKind = "quota"
	// ErrAuth: 401 or 403, or authentication text under any status.
	ErrAuth ErrorKind = "auth"
	// ErrNotFound: 404, most often an unknown model.
	ErrNotFound ErrorKind = "not_found"
	// ErrTooLong: the request does not fit the model's window.
	ErrTooLong ErrorKind = "too_long"
	// ErrFiltered: the server's filter does not let the request through.
	ErrFiltered ErrorKind = "filtered"
	// ErrRefused: any other 4xx. The request is wrong and stays wrong.
	ErrRefused ErrorKind = "refused"
	// ErrIdle: the stream was silent for too long, or did not end.
	ErrIdle ErrorKind = "idle"
	// ErrOverlong: the answer was longer than any may be, and was not kept. A
	// model that is told so may say less.
	ErrOverlong ErrorKind = "overlong"
)

// ModelError is a failed model call.
type ModelError struct {
	Kind       ErrorKind
	Status     int           // HTTP status, 0 if there was none
	RetryAfter time.Duration // how long the server asked to wait; 0 if it did not
	Message    string        // the server's words, or ours, in one line, without secrets
	Err        error         // the cause, if there is one
	// Bound is what an answer did that was given up for passing a bound of ours,
	// for the model to read: "says more than 8 MiB"; "" of other failures.
	Bound string
	// Down is for how long calls of this process have found no server, where Kind
	// is ErrUnreachable and they are counted; Answered says that it answered one
	// of them before. A call that waits anew would only repeat what they did.
	Down     time.Duration
	Answered bool
	// Window is the model's window in tokens, where Kind is ErrTooLong and the
	// server said it; 0 if it did not.
	Window int64
	// Usage is what the server reported before it failed: it is billed.
	Usage plan.Usage
	// Adjusted is as in [Answer]: what was mended before the call failed.
	Adjusted []plan.Adjusted
}

// Error says what failed in one line.
func (e *ModelError) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("the model server answered %d: %s", e.Status, e.Message)
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *ModelError) Unwrap() error { return e.Err }

// Transient reports whether the same call may succeed if it is made again.
func (e *ModelError) Transient() bool {
	switch e.Kind {
	case ErrUnserved, ErrUnreachable, ErrServed, ErrRateLimit, ErrIdle, ErrOverlong:
		return true
	}
	return false
}

// AsModelError finds a *ModelError in err.
func AsModelError(err error) (*ModelError, bool) {
	var me *ModelError
	ok := errors.As(err, &me)
	return me, ok
}
