package story

import (
	"strings"
	"time"

	"github.com/plan-engine/plan"
)

// Kind says what a block tells of.
type Kind int

// The kinds of blocks.
const (
	Heading  Kind = iota // a phase begins
	Prompted             // what a person asked for, or said
	Reply                // the assistant's words
	Thought              // its reasoning
	Call                 // of a tool
	Check                // a command that decides
	Verdict
	Gap
	Planned  // a version of the plan
	Reported // what Explore found
	Note     // whatever else happened
	Asked    // what waits for a person, and what they decided
	Ended    // how the run came out
)

// Mood is how a block stands.
type Mood int

// The moods.
const (
	Plain   Mood = iota
	Running      // not at its end
	Good
	Bad
	Odd // refused, cancelled, not known
)

// Form says how the text of a block is to be read.
type Form int

// The forms of a text.
const (
	Prose  Form = iota // Markdown
	Output             // of a command or a tool, as it is
	Diff               // unified, or a patch
)

// Block is a piece of the story: what one thing that happened looks like. All of its
// texts are safe for a terminal.
type Block struct {
	Kind    Kind
	Mood    Mood
	Phase   plan.Phase
	Attempt int
	Turn    int // from 1; 0 outside of turns
	Depth   int // 1 within a sub-agent
	Seq     int64

	Label  string // the tool, "check", "gap": one word
	Title  string // one line: what it is about
	IsPath bool   // the end of the title matters most
	Note   string // one line: what came of it
	Text   string // of several lines
	Form   Form
	Args   string // of a call, in full
	Blob   string // of the whole output, where Text was cut
	Known  bool   // Text was seen before, so it is shown on demand only

	Began time.Time
	Took  time.Duration

	// Version changes with what the block says, so that what was drawn of it can be
	// kept.
	Version int
}

// Done reports whether nothing of the block will change.
func (b *Block) Done() bool { return b.Mood != Running }

// mostLive bounds what is kept of output as it streams, in bytes: its end.
const mostLive = 256 << 10

// appendLive adds a piece to a text that streams.
func appendLive(text, piece string) string {
	text += piece
	if over := len(text) - mostLive; over > 0 {
		text = strings.ToValidUTF8(text[over:], "")
	}
	return text
}
