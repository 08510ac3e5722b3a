package plan

import (
	"encoding/json"
	"time"
)

// The types of events that this version writes.
const (
	TypeRunStart      EventType = "run_start"
	TypeRunEnd        EventType = "run_end"
	TypeState         EventType = "state"
	TypePhaseStart    EventType = "phase_start"
	TypePhaseEnd      EventType = "phase_end"
	TypeTurnStart     EventType = "turn_start"
	TypeTurnEnd       EventType = "turn_end"
	TypeMessageStart  EventType = "message_start"
	TypeMessageUpdate EventType = "message_update" // live
	TypeMessageEnd    EventType = "message_end"
	TypeToolStart     EventType = "tool_start"
	TypeToolUpdate    EventType = "tool_update" // live
	TypeToolEnd       EventType = "tool_end"
	TypeRequest       EventType = "request"
	TypeRetry         EventType = "retry"
	TypeLimit         EventType = "limit"
	TypeUsage         EventType = "usage"
	TypeReport        EventType = "report"
	TypePlan          EventType = "plan"
	TypeSnapshot      EventType = "snapshot"
	TypeCheckStart    EventType = "check_start"
	TypeCheckEnd      EventType = "check_end"
	TypeVerdict       EventType = "verdict"
	TypeGap           EventType = "gap"
	TypeParked        EventType = "parked"
	TypeUnparked      EventType = "unparked"
	TypeProgress      EventType = "progress" // live
	TypeError         EventType = "error"
)

// RunStart is the first event of every run: all that a later process, perhaps
// a newer one, needs to go on with the same bytes.
type RunStart struct {
	Request  string `json:"request"`
	Title    string `json:"title,omitempty"`  // given by a person; "" where the request speaks for itself
	Repo     string `json:"repo"`             // absolute path of the work tree
	Base     string `json:"base"`             // HEAD commit at the start
	Branch   string `json:"branch,omitempty"` // "" when HEAD is detached
	Snapshot string `json:"snapshot"`         // tree of the work tree as it was found, dirt included
	Dirty    bool   `json:"dirty,omitempty"`
	// Worktree is the run's own work tree and WorkBranch the branch that is
	// checked out there; both are "" for a run that works in Repo.
	Worktree   string `json:"worktree,omitempty"`
	WorkBranch string `json:"work_branch,omitempty"`
	// DirtySubmodules are those with changes inside at the start. What is in a
	// submodule is neither in snapshots nor in diffs.
	DirtySubmodules []string         `json:"dirty_submodules,omitempty"`
	ForkedFrom      *Fork            `json:"forked_from,omitempty"`
	Sibling         string           `json:"sibling,omitempty"` // a plan that a person approved for the same work elsewhere
	Way             string           `json:"way,omitempty"`     // chosen by --auto, direct or phased, and why
	Models          map[Phase]string `json:"models"`
	Config          json.RawMessage  `json:"config"`            // the resolved settings, without secrets
	Kit             string           `json:"kit"`               // blob: prompts and tool schemas
	Context         string           `json:"context,omitempty"` // blob: the frozen conversation Explore starts from
	Version         string           `json:"version"`           // of the program that started the run
	// View is how reviews, checks and evidence see the repository: ViewSnapshot,
	// or "" for runs of versions that showed it as it was.
	View string `json:"view,omitempty"`
}

// ViewSnapshot is the view in which HEAD is the reviewed snapshot, HEAD~ the
// start, and the index clean.
const ViewSnapshot = "snapshot"

// RunEnd is the last event of a run that reached a final state.
type RunEnd struct {
	Outcome  State    `json:"outcome"`
	ExitCode int      `json:"exit_code"`
	Why      string   `json:"why,omitempty"`
	Usage    Usage    `json:"usage"`
	CostUSD  float64  `json:"cost_usd"`
	Priced   bool     `json:"priced"` // false when some model had no known price
	Diff     DiffStat `json:"diff"`
	// Checks counts the checks after the last change.
	Checks CheckCount `json:"checks"`
	// Evidence is what an approval rests on: EvidenceShown or EvidenceUnbroken.
	Evidence string `json:"evidence,omitempty"`
	// Notes are the reviewer's remarks that do not block, Open what the
	// implementer left open.
	Notes []string `json:"notes,omitempty"`
	Open  []string `json:"open,omitempty"`
}

// CheckCount counts checks.
type CheckCount struct {
	Failed int `json:"failed"`
}

// StateChange moves the state machine. It is appended before the new state's
// work begins.
type StateChange struct {
	From  State  `json:"from"`
	To    State  `json:"to"`
	Event string `json:"event"`
	Why   string `json:"why,omitempty"`
}

// PhaseStart opens a phase attempt, or reopens it after a park.
type PhaseStart struct {
	Model   string   `json:"model"`
	Tools   []string `json:"tools"`
	Resumed bool     `json:"resumed,omitempty"`
	Walls
}

// Walls is what keeps a phase's commands from doing more than they may.
type Walls struct {
	// Sandbox is namespaces, bubblewrap, landlock, sandbox-exec or none. Empty for
	// a phase without commands.
	Sandbox string `json:"sandbox,omitempty"`
	// Bounds is what keeps the commands to their memory and number: BoundsGroup or
	// BoundsProcess. Empty where there are no walls.
	Bounds string `json:"bounds,omitempty"`
	// Unkept are paths that the commands must not write and could, because these
	// walls cannot keep them.
	Unkept []string `json:"unkept,omitempty"`
}

// What bounds commands.
const (
	BoundsGroup   = "cgroup" // all of them together
	BoundsProcess = "rlimit" // each process alone
)

// Why a phase or a turn ended.
const (
	EndCompleted = "completed"
	EndParked    = "parked"
	EndError     = "error"
	EndLimit     = "limit"
	EndCancelled = "cancelled"
	EndRefused   = "refused" // of a turn: its answer was refused, or ended by a filter
)

// PhaseEnd closes a phase attempt.
type PhaseEnd struct {
	Reason string `json:"reason"`
}

// What a turn begins for.
const (
	TriggerUser         = "user"         // a prompt
	TriggerSubAgent     = "sub_agent"    // the task of a sub-agent
	TriggerContinuation = "continuation" // what the conversation has come to
	TriggerBranch       = "branch"       // another way to go on from the same history
)

// TurnStart opens a turn: one answered model call and its tools.
type TurnStart struct {
	Trigger string `json:"trigger"`
	// Kind says how a conversation was continued, in the first turn after it
	// was: default, rerun, branch or compaction.
	Kind string `json:"kind,omitempty"`
}

// TurnEnd closes a turn.
type TurnEnd struct {
	Reason string `json:"reason"`
}

// MessageStart opens a message.
type MessageStart struct {
	Role Role `json:"role"`
}

// MessageUpdate is a live piece of an assistant message.
type MessageUpdate struct {
	Kind BlockType `json:"kind"` // text, reasoning or tool_call (argument text)
	Call string    `json:"call,omitempty"`
	Name string    `json:"name,omitempty"`
	Text string    `json:"text"`
}

// MessageEnd closes a message. A discarded one is not part of the conversation:
// the call that was writing it did not end, and then it has no blocks, or the
// answer was refused or ended by a filter (stop content_filter or refusal).
type MessageEnd struct {
	Message
	Stop      string `json:"stop,omitempty"`   // stop, tool_calls, length, content_filter, refusal
	Finish    string `json:"finish,omitempty"` // the server's own word for it, where that is another
	Model     string `json:"model,omitempty"`
	Discarded bool   `json:"discarded,omitempty"`
}

// Effect classes of tools: what may be done when it is not known whether a
// started call finished.
const (
	EffectReplay     = "replay_safe" // run again
	EffectVerifiable = "verifiable"  // compare the files with the intent
	EffectUnknown    = "unknown"     // never run again
)

// ToolStart is the intent to run a tool. It is committed before the tool runs.
type ToolStart struct {
	Call   string          `json:"call"`
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
	Effect string          `json:"effect,omitempty"`
	// Intent says what a verifiable call is going to do; without one, a call
	// counts as unknown.
	Intent *Intent `json:"intent,omitempty"`
	// Conv is the conversation of the sub-agent that does it, if one does.
	Conv string `json:"conv,omitempty"`
}

// ToolUpdate is live output of a running tool.
type ToolUpdate struct {
	Call string `json:"call"`
	Name string `json:"name"`
	Text string `json:"text"`
}

// ToolEnd is what the model reads as the result of a call.
type ToolEnd struct {
	Call       string `json:"call"`
	Name       string `json:"name"`
	Error      bool   `json:"error"`
	Output     string `json:"output"`
	DurationMS int64  `json:"duration_ms"`
	Blob       string `json:"blob,omitempty"` // hash of the full output, when Output was cut
	// ExitCode is set by tools that run a command.
	ExitCode *int `json:"exit_code,omitempty"`
	// Files holds the hash of every file content that this call showed to the
	// model or wrote; "" for a file that is gone.
	Files map[string]string `json:"files,omitempty"`
	// Terminate says that the conversation ends if all results of the turn do.
	Terminate bool `json:"terminate,omitempty"`
	// Status is "" for a call that ran to its end, otherwise why it did not:
	// refused, invalid, cancelled, timeout, unknown, conflict.
	Status string `json:"status,omitempty"`
	// Altered names files of the reviewed snapshot that stood changed in the
	// layer of a review before or after the call.
	Altered []string `json:"altered,omitempty"`
}

// Request records a model call before it is made.
type Request struct {
	Model    string `json:"model"`
	Wire     string `json:"wire,omitempty"` // how the server is spoken to; "" in runs of versions that had one way
	Messages int    `json:"messages"`
	// Prefix is the hash of everything that an earlier request of this
	// conversation sent; Hash covers this request. Moved says what changed
	// when Prefix is not the earlier Hash.
	Prefix string `json:"prefix"`
	Hash   string `json:"hash"`
	Moved  string `json:"moved,omitempty"`
}

// Retry says that a model call failed and is made again. Whoever shows live
// text discards what this turn has shown so far.
type Retry struct {
	Attempt int    `json:"attempt"` // 1 for the first retry
	Reason  string `json:"reason"`
	WaitMS  int64  `json:"wait_ms"`
	Status  int    `json:"status,omitempty"` // HTTP status, if there was one
}

// LimitHit says which bound stopped a phase.
type LimitHit struct {
	Kind  string  `json:"kind"` // turns, tokens, cost (USD), time (seconds), context (tokens)
	Value float64 `json:"value"`
	Max   float64 `json:"max"`
}

// UsageReport is what one model call consumed.
type UsageReport struct {
	Model   string  `json:"model"`
	Usage   Usage   `json:"usage"`
	CostUSD float64 `json:"cost_usd"`
	Priced  bool    `json:"priced"`
	// Reported says that CostUSD is what the server said the call cost.
	Reported bool `json:"reported,omitempty"`
	// Inherited says that another run paid for the call: the one that this run
	// was forked from. It does not count towards this run's usage.
	Inherited bool `json:"inherited,omitempty"`
}

// Report is what Explore passes on.
type Report struct {
	Text string `json:"text"`
}

// PlanMade stores one immutable version of the plan.
type PlanMade struct {
	PlanDoc
}

// Snapshot names the work tree as it stood at a moment.
type Snapshot struct {
	Label string `json:"label"` // start, implement-1, …
	Tree  string `json:"tree"`  // git tree id
	Ref   string `json:"ref"`   // the private ref that keeps it
	// Tools is a digest of the ignored files that a check may execute, for each
	// top folder.
	Tools map[string]string `json:"tools,omitempty"`
}

// CheckStart opens a check.
type CheckStart struct {
	Check
	Baseline bool `json:"baseline"`
	// Evidence is that of [CheckResult].
	Evidence string `json:"evidence,omitempty"`
}

// CheckEnd closes a check with its result.
type CheckEnd struct {
	CheckResult
}

// VerdictGiven is a reviewer's verdict and what the engine makes of it.
type VerdictGiven struct {
	Judgement
}

// GapChange opens, closes or reopens a gap.
type GapChange struct {
	Gap
}

// Parked ends a process without ending its run.
type Parked struct {
	Reason ParkReason `json:"reason"`
	// WakeAt is when it makes sense to go on, for a rate limit.
	WakeAt *time.Time `json:"wake_at,omitempty"`
	Detail string     `json:"detail,omitempty"`
	// Waiting are the calls that wait for a person.
	Waiting []WaitingCall `json:"waiting,omitempty"`
	// Drift is what changed in the tree, for a run that parks for it.
	Drift *Drift `json:"drift,omitempty"`
}

// WaitingCall is a call that a person has to allow, or a question they are
// asked.
type WaitingCall struct {
	Call     string          `json:"call"`
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"args,omitempty"`
	Why      string          `json:"why,omitempty"`
	Rule     string          `json:"rule,omitempty"`
	Effect   string          `json:"effect,omitempty"`
	Grant    Grant           `json:"grant,omitzero"`
	Question string          `json:"question,omitempty"`
	Options  []string        `json:"options,omitempty"`
}

// Unparked says that a parked run goes on.
type Unparked struct {
	Reason ParkReason `json:"reason"` // what it was parked for
}

// Progress is a live word for people about something that takes a while.
type Progress struct {
	Text string `json:"text"`
}

// Failure is an error that people should read.
type Failure struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"` // what to do about it
}

// Type implements [Body].
func (RunStart) Type() EventType      { return TypeRunStart }
func (RunEnd) Type() EventType        { return TypeRunEnd }
func (StateChange) Type() EventType   { return TypeState }
func (PhaseStart) Type() EventType    { return TypePhaseStart }
func (PhaseEnd) Type() EventType      { return TypePhaseEnd }
func (TurnStart) Type() EventType     { return TypeTurnStart }
func (TurnEnd) Type() EventType       { return TypeTurnEnd }
func (MessageStart) Type() EventType  { return TypeMessageStart }
func (MessageUpdate) Type() EventType { return TypeMessageUpdate }
func (MessageEnd) Type() EventType    { return TypeMessageEnd }
func (ToolStart) Type() EventType     { return TypeToolStart }
func (ToolUpdate) Type() EventType    { return TypeToolUpdate }
func (ToolEnd) Type() EventType       { return TypeToolEnd }
func (Request) Type() EventType       { return TypeRequest }
func (Retry) Type() EventType         { return TypeRetry }
func (LimitHit) Type() EventType      { return TypeLimit }
func (UsageReport) Type() EventType   { return TypeUsage }
func (Report) Type() EventType        { return TypeReport }
func (PlanMade) Type() EventType      { return TypePlan }
func (Snapshot) Type() EventType      { return TypeSnapshot }
func (CheckStart) Type() EventType    { return TypeCheckStart }
func (CheckEnd) Type() EventType      { return TypeCheckEnd }
func (VerdictGiven) Type() EventType  { return TypeVerdict }
func (GapChange) Type() EventType     { return TypeGap }
func (Parked) Type() EventType        { return TypeParked }
func (Unparked) Type() EventType      { return TypeUnparked }
func (Progress) Type() EventType      { return TypeProgress }
func (Failure) Type() EventType       { return TypeError }
