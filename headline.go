package plan

// Level is how much of a person's attention an event asks for.
type Level int

// The levels.
const (
	// LevelDetail is how the work is done, for those who read all of a journal.
	LevelDetail Level = iota - 1
	LevelInfo
	LevelWarning
	LevelError
)

// Headline is what an event says of itself to people, in a label and a line. A
// face shows it where it has no better way to show the event. Its texts are as
// the journal has them: a face makes them safe, and as short as it needs them.
type Headline struct {
	Level Level
	Label string // a word or two
	Text  string
}

// String is the headline as one text.
func (h Headline) String() string {
	if h.Text == "" {
		return h.Label
	}
	return h.Label + ": " + h.Text
}

// Headline is that of the event's body.
func (e Event) Headline() Headline {
	if e.Body == nil {
		return Headline{Level: LevelDetail}
	}
	return e.Body.Headline()
}
