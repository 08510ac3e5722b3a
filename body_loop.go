package plan

import "encoding/json"

// The types of events that a conversation writes beside its messages.
const (
	TypeSteering         EventType = "steering"
	TypeFollowUp         EventType = "follow_up"
	TypeFiltered         EventType = "filtered"
	TypeStorm            EventType = "storm"
	TypePrune            EventType = "prune"
	TypeCompactionStart  EventType = "compaction_start"
	TypeCompactionEnd    EventType = "compaction_end"
	TypeApprovalRequired EventType = "approval_required"
	TypeApprovalResolved EventType = "approval_resolved"
	TypeQuestion         EventType = "question"
	TypeAnswer           EventType = "answer"
)

// Steering is guidance that a person gave while a conversation ran. The
// message that follows it holds the words as the model reads them.
type Steering struct {
	Text   string `json:"text"`
	Letter int64  `json:"letter,omitempty"` // id in the inbox, if it came through there
}

// FollowUp is a further request that a person made while a conversation ran.
type FollowUp struct {
	Text   string `json:"text"`
	Letter int64  `json:"letter,omitempty"`
}

// Filtered says that an input filter objected to a message from outside.
type Filtered struct {
	Action string `json:"action"` // warn or reject
	Why    string `json:"why"`
	Text   string `json:"text,omitempty"` // of a rejected message
	Letter int64  `json:"letter,omitempty"`
}

// StormBroken says that calls were not run because they made no progress.
type StormBroken struct {
	Calls  []string `json:"calls"`            // ids
	Action string   `json:"action"`           // "": those calls only; reflect: the model is asked to think again; stop: the conversation ends
	Notice string   `json:"notice,omitempty"` // why it ends
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

// CompactionStart says that history is about to be made smaller.
type CompactionStart struct {
	Level  string `json:"level"`
	Tokens int64  `json:"tokens"` // estimated size of the next request
	Window int64  `json:"window"` // of the model
	// Learnt says how Window became known, where a refusal of the server taught
	// it: one of the words below. "" for a window that was known before.
	Learnt string `json:"learnt,omitempty"`
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

// ApprovalRequired asks a person whether a call may run.
type ApprovalRequired struct {
	Call string          `json:"call"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	Why  string          `json:"why,omitempty"`
	// Rule is the rule that asks, Effect what the call would do (a diff, a
	// command), Grant what a yes for longer would allow.
	Rule   string `json:"rule,omitempty"`
	Effect string `json:"effect,omitempty"`
	Grant  Grant  `json:"grant,omitzero"`
}

// ApprovalResolved is the person's decision. Only Approved allows the call.
type ApprovalResolved struct {
	Call     string `json:"call"`
	Approved bool   `json:"approved"`
	Reason   string `json:"reason,omitempty"`
	By       string `json:"by,omitempty"`    // person, policy
	Rule     string `json:"rule,omitempty"`  // that asked
	Scope    string `json:"scope,omitempty"` // of a yes: run, always; "" for this call
	Grant    Grant  `json:"grant,omitzero"`  // what such a yes allows
	Letter   int64  `json:"letter,omitempty"`
}

// Question is asked of the person who wants the work.
type Question struct {
	Call     string   `json:"call"`
	Question string   `json:"question"`
	Options  []string `json:"options,omitempty"`
}

// Answered is the person's answer, or what stands for it where nobody can
// answer.
type Answered struct {
	Call   string `json:"call"`
	Text   string `json:"text"`
	By     string `json:"by,omitempty"` // person, policy
	Letter int64  `json:"letter,omitempty"`
}

// Taker is a body that takes a letter out of the inbox.
type Taker interface{ TakesLetter() int64 }

// TakesLetter implements [Taker].
func (b Steering) TakesLetter() int64         { return b.Letter }
func (b FollowUp) TakesLetter() int64         { return b.Letter }
func (b Filtered) TakesLetter() int64         { return b.Letter }
func (b ApprovalResolved) TakesLetter() int64 { return b.Letter }
func (b Answered) TakesLetter() int64         { return b.Letter }

// Type implements [Body].
func (Steering) Type() EventType         { return TypeSteering }
func (FollowUp) Type() EventType         { return TypeFollowUp }
func (Filtered) Type() EventType         { return TypeFiltered }
func (StormBroken) Type() EventType      { return TypeStorm }
func (Pruned) Type() EventType           { return TypePrune }
func (CompactionStart) Type() EventType  { return TypeCompactionStart }
func (CompactionEnd) Type() EventType    { return TypeCompactionEnd }
func (ApprovalRequired) Type() EventType { return TypeApprovalRequired }
func (ApprovalResolved) Type() EventType { return TypeApprovalResolved }
func (Question) Type() EventType         { return TypeQuestion }
func (Answered) Type() EventType         { return TypeAnswer }
