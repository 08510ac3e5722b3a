package plan

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

// TakesLetter implements [Taker].
func (b Steering) TakesLetter() int64 { return b.Letter }

// FollowUp is a further request that a person made while a conversation ran.
type FollowUp struct {
	Text   string `json:"text"`
	Letter int64  `json:"letter,omitempty"`
}

// Type implements [Body].
func (FollowUp) Type() EventType { return TypeFollowUp }

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

// TakesLetter implements [Taker].
func (b Filtered) TakesLetter() int64 { return b.Letter }
