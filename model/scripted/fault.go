package scripted

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// FaultKind says what goes wrong.
type FaultKind string

// The faults. "Cut" means after [Fault.AfterChunks] chunks.
const (
	FaultStatus        FaultKind = "status"         // an HTTP error status instead of an answer
	FaultHang          FaultKind = "hang"           // silence from the cut on, until the client leaves
	FaultReset         FaultKind = "reset"          // a TCP reset at the cut
	FaultTruncate      FaultKind = "truncate"       // a clean end at the cut, without a finish reason
	FaultHalfCall      FaultKind = "half_call"      // a clean end inside the last call's arguments
	FaultMalformedArgs FaultKind = "malformed_args" // a whole answer whose last call's arguments are half
	FaultErrorFrame    FaultKind = "error_frame"    // an error object in the stream at the cut; plain: status 500
	FaultEmpty         FaultKind = "empty"          // a whole answer without any content
	FaultSlow          FaultKind = "slow"           // a whole answer with Fault.Delay before each chunk
	FaultGarbage       FaultKind = "garbage"        // something that is not JSON at the cut; plain: as the body
	FaultFilter        FaultKind = "filter"         // a whole answer, calls and all, that a content filter ended
	FaultRefuse        FaultKind = "refuse"         // a refusal instead of an answer, with Fault.Body as its words
	FaultReasoningOnly FaultKind = "reasoning_only" // the reasoning, or Fault.Body as such, and nothing else
	FaultFailed        FaultKind = "failed"         // a whole answer and its usage, then an error instead of the end
)

// Fault is what goes wrong with a reply.
type Fault struct {
	Kind FaultKind `toml:"kind"`
	// Times is how often the fault strikes per run and place; 0 = always.
	// Default (nil): once.
	Times *int `toml:"times"`

	Status     int    `toml:"status"`      // status: 400 to 599
	RetryAfter string `toml:"retry_after"` // status: the Retry-After header; "" = none
	// Headers are further headers of a status, such as
	// x-ratelimit-reset-requests.
	Headers map[string]string `toml:"headers"`
	// Body is what is sent instead of the default: the body of a status, the
	// data of an error_frame or garbage, the words of a refuse, the reasoning
	// of a reasoning_only whose reply has none.
	Body string `toml:"body"`
	// AfterChunks is where hang, reset, truncate, error_frame and garbage cut:
	// after so many chunks. 0 is before the response has begun, status line
	// included. Default (nil): half of the chunks.
	AfterChunks *int     `toml:"after_chunks"`
	Delay       Duration `toml:"delay"` // slow: the pause before each chunk
}

// settings lists, for every kind, the optional settings that mean something.
var settings = map[FaultKind][]string{
	FaultStatus:        {"status", "retry_after", "headers", "body"},
	FaultHang:          {"after_chunks"},
	FaultReset:         {"after_chunks"},
	FaultTruncate:      {"after_chunks"},
	FaultHalfCall:      {},
	FaultMalformedArgs: {},
	FaultErrorFrame:    {"after_chunks", "body"},
	FaultEmpty:         {},
	FaultSlow:          {"delay"},
	FaultGarbage:       {"after_chunks", "body"},
	FaultFilter:        {},
	FaultRefuse:        {"body"},
	FaultReasoningOnly: {"body"},
	FaultFailed:        {},
}

// onAnswers are the kinds that need an answer to work on.
var onAnswers = []FaultKind{FaultTruncate, FaultSlow, FaultFilter, FaultFailed}

// kind is the kind of a fault, "" without one.
func (f *Fault) kind() FaultKind {
	if f == nil {
		return ""
	}
	return f.Kind
}

// times is how often the fault strikes, 0 for always.
func (f *Fault) times() int {
	if f == nil || f.Times == nil {
		return 1
	}
	return *f.Times
}

// check finds what is wrong with the fault of r.
func (f *Fault) check(r *Reply) error {
	if f == nil {
		return nil
	}
	allowed, ok := settings[f.Kind]
	if !ok {
		return fmt.Errorf("fault kind %q is not one of status, hang, reset, truncate, half_call, malformed_args, "+
			"error_frame, empty, slow, garbage, filter, refuse, reasoning_only, failed", f.Kind)
	}
	if err := f.checkSettings(allowed); err != nil {
		return err
	}
	if slices.Contains(onAnswers, f.Kind) && !r.says() {
		return fmt.Errorf("fault %s needs an answer to work on; give the reply text, reasoning or a call", f.Kind)
	}
	switch f.Kind {
	case FaultStatus:
		if f.Status < 400 || f.Status > 599 {
			return fmt.Errorf("fault status: status is %d; give one from 400 to 599", f.Status)
		}
	case FaultSlow:
		if f.Delay <= 0 {
			return errors.New(`fault slow: give it a delay such as "50ms"`)
		}
	case FaultHalfCall, FaultMalformedArgs:
		return f.checkCall(r)
	}
	return nil
}

// checkSettings refuses numbers out of range and settings that do nothing.
func (f *Fault) checkSettings(allowed []string) error {
	if f.times() < 0 {
		return fmt.Errorf("fault %s: times is %d; give 1 or more, or 0 for always", f.Kind, f.times())
	}
	if f.AfterChunks != nil && *f.AfterChunks < 0 {
		return fmt.Errorf("fault %s: after_chunks is %d; it counts from 0", f.Kind, *f.AfterChunks)
	}
	if strings.ContainsAny(f.RetryAfter, "\r\n") {
		return fmt.Errorf("fault %s: retry_after is a header, which has one line", f.Kind)
	}
	for name, value := range f.Headers {
		if !validName(name) || strings.ContainsAny(value, "\r\n") {
			return fmt.Errorf(
				"fault %s: header %q is not a name of letters, digits and - with one line",
				f.Kind,
				name,
			)
		}
	}
	fields := []struct {
		name string
		set  bool
	}{
		{"status", f.Status != 0},
		{"retry_after", f.RetryAfter != ""},
		{"headers", len(f.Headers) > 0},
		{"body", f.Body != ""},
		{"after_chunks", f.AfterChunks != nil},
		{"delay", f.Delay != 0},
	}
	for _, g := range fields {
		if g.set && !slices.Contains(allowed, g.name) {
			return fmt.Errorf("fault %s has no use for %s; take it out", f.Kind, g.name)
		}
	}
	return nil
}

// checkCall makes sure that there are arguments to halve.
func (f *Fault) checkCall(r *Reply) error {
	if len(r.Calls) == 0 {
		return fmt.Errorf("fault %s needs a call to work on", f.Kind)
	}
	last := r.Calls[len(r.Calls)-1]
	if last.Raw != nil && len(*last.Raw) < 2 {
		return fmt.Errorf("fault %s: the arguments of %s are too short to halve", f.Kind, last.Name)
	}
	return nil
}

// cut is how many of n chunks are sent before the fault strikes.
func (f *Fault) cut(n int) int {
	if f.AfterChunks == nil {
		return n / 2
	}
	return min(*f.AfterChunks, n)
}
