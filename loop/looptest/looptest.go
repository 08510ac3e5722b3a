// Package looptest is a conformance suite for models: [Run] puts any
// [loop.Model] through the conversations that the loop relies on, failures and
// cancelling included.
//
//	func TestConformance(t *testing.T) {
//		looptest.Run(t, func(t *testing.T, s looptest.Scenario) loop.Model {
//			server := serve(t, s) // a server that plays s over the model's own wire
//			return mymodel.New(server.URL)
//		})
//	}
//
// A [Scenario] says what the server has to do; what the model must make of it
// follows from the contract of [loop.Model]. The suite must not know how a
// model is reached.
package looptest

import (
	"context"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// Scenario is one conversation, as the server behind the model has it.
//
// Every call of a conversation carries the headers X-Plan-Phase, which is
// Name, and X-Plan-Attempt, which is 1.
type Scenario struct {
	// Name says what it is about. It is unique and fit for a file name.
	Name string
	// Replies are what the server says, the n-th to requests that n replies
	// came before, however often they are made. After a reply with calls the
	// conversation goes on with their results, after any other with a user
	// message.
	Replies []Reply
}

// Reply is one answer of the server. A reply that says nothing is an answer
// without content, and no failure.
type Reply struct {
	Reasoning string
	Text      string // said after the reasoning
	Calls     []Call // made after the text; the server gives each an id
	// Finish is the reason for stopping in the words of [loop.StopReason].
	// Default: tool_calls if there are calls, else stop. Any other word is one
	// that the model cannot know.
	Finish string
	// Usage is what the server reports, if it is not zero. Requests is not
	// for the server.
	Usage plan.Usage
	// Fault is what goes wrong first.
	Fault *Fault
}

// Call is a tool call of a reply.
type Call struct {
	Name string
	Args string // to be sent exactly like this; not always JSON
}

// FaultKind says what goes wrong.
type FaultKind string

// The faults. All but a status strike in the middle of the answer, after a
// part of its text or of its last call's arguments has been sent.
const (
	FaultStatus     FaultKind = "status"      // an HTTP error instead of the answer
	FaultCut        FaultKind = "cut"         // the answer ends without a reason for stopping
	FaultReset      FaultKind = "reset"       // the connection breaks
	FaultErrorFrame FaultKind = "error_frame" // an error is sent in place of the rest
	FaultGarbage    FaultKind = "garbage"     // something unreadable is sent in place of the rest
	FaultHang       FaultKind = "hang"        // nothing more is sent until the client leaves
)

// Fault is what goes wrong with a reply.
type Fault struct {
	Kind FaultKind
	// Times is how often it strikes, at least 1; then the reply is sent whole.
	Times int
	// For FaultStatus: the HTTP status, a code for the error's body ("" =
	// none), and the Retry-After header in whole seconds (0 = none).
	Status     int
	Code       string
	RetryAfter time.Duration
}

// Run puts models through the suite, one subtest for each scenario. Open makes
// the model for one scenario; what it has to close, it closes in t.Cleanup. The
// subtests run at the same time.
//
// The suite makes the same calls in every run, so that a recording of one run
// can answer another.
func Run(t *testing.T, open func(t *testing.T, s Scenario) loop.Model) {
	t.Helper()
	for _, c := range cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			model := open(t, c.Scenario)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := c.try(ctx, model); err != nil {
				t.Error(err)
			}
		})
	}
}

// patience is how long one scenario may take.
const patience = time.Minute

// try puts a model through one case, and returns what is wrong with it.
func (c testCase) try(ctx context.Context, m loop.Model) error {
	if c.run != nil {
		return c.run(ctx, m, c.Scenario)
	}
	return converse(ctx, m, c)
}
