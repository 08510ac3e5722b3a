package plan

import (
	"fmt"
	"strings"

	"github.com/plan-engine/plan/internal/amount"
)

// The events of the work tree.
const (
	TypeSnapshot EventType = "snapshot"
	TypeDrift    EventType = "drift"
)

var treeEvents = []eventKind{
	folded[Snapshot](),
	folded[Drift](),
}

// Trees are the git trees between which a change is judged. They are empty in
// runs of versions that showed commands the repository as it was.
type Trees struct {
	Start string `json:"start,omitempty"` // the change counts from here
	Work  string `json:"work,omitempty"`  // the tree with the change
}

// DiffStat sizes a change.
type DiffStat struct {
	Files      int `json:"files"`
	Insertions int `json:"insertions"`
	Deletions  int `json:"deletions"`
}

// Snapshot names the work tree as it stood at a moment.
type Snapshot struct {
	Label string `json:"label"` // start, implement-1, …
	Tree  string `json:"tree"`  // git tree id
	Ref   string `json:"ref"`   // the private ref that keeps it
	// LeftOut are files that are in no snapshot, being untracked and larger than
	// max_untracked, or such as git refuses: what happens to them is not seen, and not undone.
	LeftOut []string `json:"left_out,omitempty"`
	// Tools is a digest of the ignored files that a check may execute, for each
	// top folder.
	Tools map[string]string `json:"tools,omitempty"`
}

// Type implements [Body].
func (Snapshot) Type() EventType { return TypeSnapshot }

// Headline implements [Body].
func (b Snapshot) Headline() Headline {
	return Headline{
		Level: LevelDetail,
		Label: "snapshot",
		Text:  b.Label + " " + b.Tree,
	}
}

// Drift says that files of the work tree changed, and not by the run's hand,
// and what the run does about it. A run that waits for a person to say so has
// no drift event yet; it is parked.
type Drift struct {
	Files   []string `json:"files"`             // sorted; at most [MostDriftFiles]
	Total   int      `json:"total"`             // how many there are
	Planned []string `json:"planned,omitempty"` // those of Files that the plan names
	From    string   `json:"from,omitempty"`    // tree as the run knew it
	Tree    string   `json:"tree,omitempty"`    // tree as it is now
	Base    string   `json:"base,omitempty"`    // commit the plan was made on, where HEAD has left it
	Head    string   `json:"head,omitempty"`    // commit that HEAD stands at then
	Choice  string   `json:"choice"`
	// Origin is the tree that the run's change counts from, from here on: where
	// it began, with what others than the run have changed since.
	Origin string `json:"origin,omitempty"`
	Plan   int    `json:"plan,omitempty"` // version in force
}

// Type implements [Body].
func (Drift) Type() EventType { return TypeDrift }

// Headline implements [Body].
func (b Drift) Headline() Headline {
	return Headline{
		Level: LevelWarning,
		Label: "drift",
		Text: fmt.Sprintf(
			"%s changed under the run: %s",
			amount.Count(int64(b.Total), "file"),
			strings.Join(b.Files, ", "),
		),
	}
}

// What a run did about a drift.
const (
	DriftNoted     = "noted"     // it goes on with its plan; the model is told
	DriftAccepted  = "accepted"  // a person said to go on; the model is told
	DriftReplanned = "replanned" // the plan is given up
)

// MostDriftFiles bounds how many changed files an event lists.
const MostDriftFiles = 200
