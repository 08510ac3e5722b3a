package plan

import (
	"fmt"

	"github.com/plan-engine/plan/internal/amount"
	"github.com/plan-engine/plan/internal/oneline"
)

// The events of what makes a conversation shorter or holds it up.
const (
	TypeStorm           EventType = "storm"
	TypePrune           EventType = "prune"
	TypeCompactionStart EventType = "compaction_start"
	TypeCompactionEnd   EventType = "compaction_end"
)

var historyEvents = []eventKind{
	stored[StormBroken](),
	stored[Pruned](),
	stored[CompactionStart](),
	stored[CompactionEnd](),
}

// StormBroken says that calls were not run because they made no progress.
type StormBroken struct {
	Calls []string `json:"calls"` // ids
	// "": those calls only; reflect: the model is asked to think again; stop: the conversation ends.
	Action string `json:"action"`
	Notice string `json:"notice,omitempty"` // why it ends
}

// Type implements [Body].
func (StormBroken) Type() EventType { return TypeStorm }

// Headline implements [Body].
func (b StormBroken) Headline() Headline {
	return Headline{
		Level: LevelWarning,
		Label: "storm",
		Text:  oneline.Join(" ", "the same calls over and over.", b.Notice),
	}
}

// Pruned says that old tool results were taken out of what is sent.
type Pruned struct {
	Calls  []string `json:"calls"`  // ids of the calls whose results are gone
	Tokens int64    `json:"tokens"` // that this made room for, estimated
	Memo   string   `json:"memo,omitempty"`
	// Messages is what is left of the conversation, up to the message that
	// asked for it; nil when there was nothing to take out.
	Messages []Message `json:"messages,omitempty"`
}

// Type implements [Body].
func (Pruned) Type() EventType { return TypePrune }

// Headline implements [Body].
func (b Pruned) Headline() Headline {
	h := Headline{
		Label: "prune",
		Text:  amount.Count(int64(len(b.Calls)), "result") + " taken out of what the model reads",
	}
	if b.Messages == nil {
		h.Level = LevelDetail
	}
	return h
}

// CompactionStart says that history is about to be made smaller.
type CompactionStart struct {
	Level  string `json:"level"`
	Tokens int64  `json:"tokens"` // estimated size of the next request
	Window int64  `json:"window"` // of the model
	// Learnt says how Window became known, where a refusal of the server taught
	// it: [WindowSaid] or [WindowGuessed]. "" for a window that was known before.
	Learnt string `json:"learnt,omitempty"`
}

// Type implements [Body].
func (CompactionStart) Type() EventType { return TypeCompactionStart }

// Headline implements [Body].
func (b CompactionStart) Headline() Headline {
	return Headline{
		Level: LevelDetail,
		Label: "compaction",
		Text:  "of about " + amount.Tokens(b.Tokens) + " tokens",
	}
}

// How a window was learnt from a request that was refused as too long.
const (
	WindowSaid    = "said"    // the server named it
	WindowGuessed = "guessed" // it did not, so a little less than what was sent is taken for it
)

// CompactionEnd replaces what is sent of the conversation so far. Messages is
// nil when nothing was gained.
type CompactionEnd struct {
	Level    string    `json:"level"`
	Before   int64     `json:"before"` // tokens, estimated
	After    int64     `json:"after"`
	Messages []Message `json:"messages,omitempty"`
	Error    string    `json:"error,omitempty"`
}

// Type implements [Body].
func (CompactionEnd) Type() EventType { return TypeCompactionEnd }

// Headline implements [Body].
func (b CompactionEnd) Headline() Headline {
	h := Headline{
		Label: "compaction",
		Text:  fmt.Sprintf("about %s tokens became %s", amount.Tokens(b.Before), amount.Tokens(b.After)),
	}
	if b.Messages == nil {
		h.Level = LevelDetail
		h.Text = oneline.Join(": ", "nothing was gained", b.Error)
	}
	return h
}
