package plan

import "encoding/json"

// The types of events that say how a run met the world again.
const (
	TypeDrift    EventType = "drift"
	TypeSettings EventType = "settings"
)

// What a run did about a drift.
const (
	DriftNoted     = "noted"     // it goes on with its plan; the model is told
	DriftAccepted  = "accepted"  // a person said to go on; the model is told
	DriftReplanned = "replanned" // the plan is given up
)

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
	// it began, with what somebody else has changed since.
	Origin string `json:"origin,omitempty"`
	Plan   int    `json:"plan,omitempty"` // version in force
}

// MostDriftFiles bounds how many changed files an event lists.
const MostDriftFiles = 200

// OriginDrift marks a user message that tells of changes in the work tree.
const OriginDrift = "drift"

// SettingsChanged says that a run goes on with other settings than before.
type SettingsChanged struct {
	// Changed lists what is different in words, such as "max_turns: 100 → 200".
	Changed []string `json:"changed"`
	// Config is all settings as they hold from here on, like [RunStart].
	Config json.RawMessage `json:"config"`
	// Models is the model of each phase from here on.
	Models map[Phase]string `json:"models"`
}

// Type implements [Body].
func (Drift) Type() EventType           { return TypeDrift }
func (SettingsChanged) Type() EventType { return TypeSettings }
