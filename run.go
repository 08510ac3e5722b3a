package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/plan-engine/plan/internal/oneline"
)

// The events of a run as a whole.
const (
	TypeRunStart EventType = "run_start"
	TypeSettings EventType = "settings"
	TypeRunEnd   EventType = "run_end"
	TypeError    EventType = "error"
	TypeProgress EventType = "progress"
)

var runEvents = []eventKind{
	folded[RunStart](),
	folded[SettingsChanged](),
	folded[RunEnd](),
	stored[Failure](),
	live[Progress](),
}

// RunID names one run for ever. It is a ULID, so ids sort by creation time.
type RunID string

// Short is the end of the id, which is random: enough to name the run in a home.
func (id RunID) Short() string {
	const enough = 6
	return string(id[max(0, len(id)-enough):])
}

// Aim is what a run is for.
type Aim string

// The aims. A change goes through the whole workflow.
const (
	AimChange Aim = ""
	AimAsk    Aim = "ask"    // Explore alone answers a question
	AimReview Aim = "review" // a change that is there already is judged, and no plan is made
)

// Against is what a change is compared with that was there before its run.
type Against struct {
	Commit string `json:"commit"`
	Tree   string `json:"tree"`
	Ref    string `json:"ref,omitempty"`  // as it was named, or found
	Kept   string `json:"kept,omitempty"` // the ref that holds on to the tree
	// Claimed says that no request was given: what the commits of the change say of
	// it stands in its place.
	Claimed bool `json:"claimed,omitempty"`
}

// RunStart is the first event of every run: all that a later process, perhaps
// a newer one, needs to go on with the same bytes.
type RunStart struct {
	Request string `json:"request"`
	Aim     Aim    `json:"aim,omitempty"`
	// Continues is the final run that this one goes on from.
	Continues RunID `json:"continues,omitempty"`
	// Before is what that one came to, as the phases are told of it: data.
	Before string `json:"before,omitempty"`

	// Against is what the change counts from in a run of AimReview; nil in others,
	// where that is Snapshot.
	Against *Against `json:"against,omitempty"`

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
	DirtySubmodules []string `json:"dirty_submodules,omitempty"`
	ForkedFrom      *Fork    `json:"forked_from,omitempty"`
	// A plan that a person approved for the same work elsewhere.
	Sibling string           `json:"sibling,omitempty"`
	Way     string           `json:"way,omitempty"` // chosen by --auto, direct or phased, and why
	Models  map[Phase]string `json:"models"`
	Config  json.RawMessage  `json:"config"`            // the resolved settings, without secrets
	Kit     string           `json:"kit"`               // blob: prompts and tool schemas
	Context string           `json:"context,omitempty"` // blob: the frozen conversation Explore starts from
	Version string           `json:"version"`           // of the program that started the run
	// View is how reviews, checks and evidence see the repository: ViewSnapshot,
	// or "" for runs of versions that showed it as it was.
	View string `json:"view,omitempty"`
	// Mirrored says that the journal is kept in a queue, too, from which each of its
	// workers goes on with the run. Repo and Worktree are those of the one that began
	// it; each has its own, of the same names.
	Mirrored bool `json:"mirrored,omitempty"`
}

// Type implements [Body].
func (RunStart) Type() EventType { return TypeRunStart }

// Headline implements [Body].
func (b RunStart) Headline() Headline { return Headline{Label: "run", Text: b.Request} }

// Origin is the tree that the change of the run counts from when it begins.
func (s RunStart) Origin() string {
	if s.Against != nil {
		return s.Against.Tree
	}
	return s.Snapshot
}

// OriginCommit is the commit that this tree was found on.
func (s RunStart) OriginCommit() string {
	if s.Against != nil {
		return s.Against.Commit
	}
	return s.Base
}

// ViewSnapshot is the view in which HEAD is the reviewed snapshot, HEAD~ the
// start, and the index clean.
const ViewSnapshot = "snapshot"

// Root is the work tree that the run works in.
func (s RunStart) Root() string {
	if s.Worktree != "" {
		return s.Worktree
	}
	return s.Repo
}

// Fork says which run a run was forked from. The events up to Seq happened in
// that run; they are the beginning of this one's journal, with their times.
type Fork struct {
	Run  RunID     `json:"run"`
	Seq  int64     `json:"seq"`  // the last event that both have
	Time time.Time `json:"time"` // of the fork
}

// SettingsChanged says that a run goes on with other settings than before.
type SettingsChanged struct {
	// Changed lists what is different in words, such as "max_turns: 100 → 200".
	Changed []string `json:"changed"`
	// Config is all settings as they hold from here on, like [RunStart].
	Config json.RawMessage `json:"config"`
	// Models is the model of each phase from here on.
	Models map[Phase]string `json:"models"`
	// Machine is the worker of a queue that has taken the run up from another one; ""
	// where it is the same. What was set up for it does not count there.
	Machine string `json:"machine,omitempty"`
}

// Type implements [Body].
func (SettingsChanged) Type() EventType { return TypeSettings }

// Headline implements [Body].
func (b SettingsChanged) Headline() Headline {
	return Headline{
		Label: "settings",
		Text:  strings.Join(b.Changed, ", "),
	}
}

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
	// implementer left open, Accepted what the plan saw and does not handle.
	Notes    []string `json:"notes,omitempty"`
	Open     []string `json:"open,omitempty"`
	Accepted []string `json:"accepted,omitempty"`
}

// Type implements [Body].
func (RunEnd) Type() EventType { return TypeRunEnd }

// Headline implements [Body].
func (b RunEnd) Headline() Headline {
	h := Headline{Label: "end", Text: oneline.Join(": ", string(b.Outcome), b.Why)}
	if b.ExitCode != ExitOK {
		h.Level = LevelError
	}
	return h
}

// CheckCount counts checks.
type CheckCount struct {
	Failed int `json:"failed"`
}

// ApprovedWith is the outcome of an approved run in words, with the number of
// checks that fail all the same.
func ApprovedWith(failing int) string {
	switch failing {
	case 0:
		return string(Approved)
	case 1:
		return string(Approved) + " with 1 failing check"
	}
	return fmt.Sprintf("%s with %d failing checks", Approved, failing)
}

// Failure is an error that people should read.
type Failure struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"` // what to do about it
}

// Type implements [Body].
func (Failure) Type() EventType { return TypeError }

// Headline implements [Body].
func (b Failure) Headline() Headline {
	return Headline{
		Level: LevelError,
		Label: "error",
		Text:  b.Error,
	}
}

// Progress is a live word for people about something that takes a while.
type Progress struct {
	Text string `json:"text"`
	// Of is what runs, where this is a sign of its life; "" for its own words.
	Of string `json:"of,omitempty"`
}

// Type implements [Body].
func (Progress) Type() EventType { return TypeProgress }

// Headline implements [Body].
func (b Progress) Headline() Headline {
	return Headline{
		Level: LevelDetail,
		Label: "progress",
		Text:  b.Text,
	}
}
