package plan

import "github.com/plan-engine/plan/internal/oneline"

// The events of the choice of a model and what its server takes.
const (
	TypeRoute    EventType = "route"
	TypeAdjusted EventType = "adjusted"
)

var modelEvents = []eventKind{
	stored[Route](),
	folded[Adjusted](),
}

// Route says which model a conversation is held with, and why, where that is
// not simply the one that is set.
type Route struct {
	For   string `json:"for"`             // a phase, RouteSummary or RouteTask
	Model string `json:"model"`           // as the settings name it
	Asked string `json:"asked,omitempty"` // model that was wanted, where another one is used
	// Why says it in words: the hint that was followed, or what kept another
	// model from being used.
	Why string `json:"why"`
}

// What else than a phase a [Route] is for.
const (
	RouteSummary = "compact"
	RouteTask    = "task"
)

// Type implements [Body].
func (Route) Type() EventType { return TypeRoute }

// Headline implements [Body].
func (b Route) Headline() Headline {
	purpose := b.For
	switch b.For {
	case RouteSummary:
		purpose = "summaries"
	case RouteTask:
		purpose = "sub-agents"
	}
	text := purpose + " with " + b.Model
	if b.Asked != "" {
		text += ", not " + b.Asked
	}
	return Headline{Label: "model", Text: oneline.Join(": ", text, b.Why)}
}

// Adjusted says what a model server did not take of a request, and what it was
// sent instead. It also says what a server did to a request unasked.
type Adjusted struct {
	Model string `json:"model"` // as the settings name it
	// Part is the parameter or field, as the wire calls it, such as
	// reasoning_effort; "context" where a server reads less than it was sent.
	Part string `json:"part"`
	From string `json:"from,omitempty"` // its value before; "" where it does not matter
	To   string `json:"to,omitempty"`   // what was sent instead; "" for nothing
	// Why is the server's words, or what was noticed, in one line.
	Why string `json:"why"`
}

// Type implements [Body].
func (Adjusted) Type() EventType { return TypeAdjusted }

// Headline implements [Body].
func (b Adjusted) Headline() Headline { return Headline{Label: "adjusted", Text: b.String()} }

// String is the change in one line.
func (a Adjusted) String() string {
	part := a.Part
	if a.From != "" {
		part += " " + a.From
	}
	if a.Part == PartContext {
		return a.Model + ": " + a.Why
	}
	if a.To == "" {
		return a.Model + ": the server refuses " + part + "; went on without"
	}
	return a.Model + ": the server refuses " + part + "; sent " + a.To + " instead"
}

// PartContext is the part of an [Adjusted] that says a server read less than it
// was sent.
const PartContext = "context"
