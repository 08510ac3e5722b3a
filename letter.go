package plan

import "github.com/plan-engine/plan/internal/oneline"

// The events of a person's words in a conversation.
const (
	TypeSteering EventType = "steering"
	TypeFollowUp EventType = "follow_up"
	TypeFiltered EventType = "filtered"
)

var letterEvents = []eventKind{
	folded[Steering](),
	folded[FollowUp](),
	stored[Filtered](),
}

// Taker is a body that takes a letter out of the inbox.
type Taker interface{ TakesLetter() int64 }

// Steering is guidance that a person gave while a conversation ran. The
// message that follows it holds the words as the model reads them.
type Steering struct {
	Text   string `json:"text"`
	Letter int64  `json:"letter,omitempty"` // id in the inbox, if it came through there
}

// Type implements [Body].
func (Steering) Type() EventType { return TypeSteering }

// Headline implements [Body].
func (b Steering) Headline() Headline { return Headline{Label: "guidance", Text: b.Text} }

// TakesLetter implements [Taker].
func (b Steering) TakesLetter() int64 { return b.Letter }

// FollowUp is a further request that a person made while a conversation ran.
type FollowUp struct {
	Text   string `json:"text"`
	Letter int64  `json:"letter,omitempty"`
}

// Type implements [Body].
func (FollowUp) Type() EventType { return TypeFollowUp }

// Headline implements [Body].
func (b FollowUp) Headline() Headline { return Headline{Label: "follow-up", Text: b.Text} }

// TakesLetter implements [Taker].
func (b FollowUp) TakesLetter() int64 { return b.Letter }

// Filtered says that an input filter objected to a message from outside.
type Filtered struct {
	Action string `json:"action"` // warn or reject
	Why    string `json:"why"`
	Text   string `json:"text,omitempty"` // of a rejected message
	Letter int64  `json:"letter,omitempty"`
}

// Type implements [Body].
func (Filtered) Type() EventType { return TypeFiltered }

// Headline implements [Body].
func (b Filtered) Headline() Headline {
	return Headline{
		Level: LevelWarning,
		Label: "letter",
		Text:  oneline.Join(": ", b.Action, b.Why),
	}
}

// TakesLetter implements [Taker].
func (b Filtered) TakesLetter() int64 { return b.Letter }
