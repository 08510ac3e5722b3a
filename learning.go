package plan

import (
	"cmp"
	"time"

	"github.com/plan-engine/plan/internal/amount"
	"github.com/plan-engine/plan/internal/oneline"
)

// The events of what was learned and recalled.
const (
	TypeRecall       EventType = "recall"
	TypeSkillPick    EventType = "skill_pick"
	TypeSkillOutcome EventType = "skill_outcome"
	TypeSkillDraft   EventType = "skill_draft"
)

var learningEvents = []eventKind{
	stored[Recall](),
	stored[SkillPick](),
	stored[SkillOutcome](),
	stored[SkillDraft](),
}

// Fact is one thing that is remembered across runs.
type Fact struct {
	ID   int64  `json:"id"`
	Text string `json:"text"`
	// Repo is the absolute path of the repository that it holds for; "" for
	// every one.
	Repo    string    `json:"repo,omitempty"`
	Source  string    `json:"source"` // person, tool or lesson
	Run     RunID     `json:"run,omitempty"`
	Seq     int64     `json:"seq,omitempty"` // of the event it came from
	Created time.Time `json:"created"`
	Used    int       `json:"used"` // times it was recalled
	// Expires is when it is no longer recalled; the zero time for never.
	Expires time.Time `json:"expires,omitzero"`
}

// Where facts come from.
const (
	FactFromPerson = "person"
	FactFromTool   = "tool"   // the model remembered it
	FactFromLesson = "lesson" // of a run whose gaps were closed
)

// Recall says which facts a phase was told, and which were found and withheld.
type Recall struct {
	Terms    []string       `json:"terms"` // the request was reduced to
	Facts    []Recalled     `json:"facts"`
	Withheld []WithheldFact `json:"withheld,omitempty"`
	Style    string         `json:"style,omitempty"` // how to write for the person
	Error    string         `json:"error,omitempty"` // why nothing could be recalled
}

// Type implements [Body].
func (Recall) Type() EventType { return TypeRecall }

// Headline implements [Body].
func (b Recall) Headline() Headline {
	return Headline{
		Level: LevelDetail,
		Label: "recall",
		Text:  amount.Count(int64(len(b.Facts)), "fact"),
	}
}

// Recalled is a fact as it was told.
type Recalled struct {
	ID    int64   `json:"id"`
	Text  string  `json:"text"`
	Score float64 `json:"score"` // how well it fits the request; more is better
}

// WithheldFact is a fact that was found and not told.
type WithheldFact struct {
	ID    int64   `json:"id"`
	Score float64 `json:"score"`
	Why   string  `json:"why"` // score, no shared word, too many, too long, expired
}

// SkillPick says which skill a phase was hinted at, and how that came about.
type SkillPick struct {
	Skill      string           `json:"skill"` // "": no hint
	Why        string           `json:"why"`
	Version    string           `json:"version,omitempty"` // digest of the skill
	Candidates []SkillCandidate `json:"candidates,omitempty"`
	// Index lists the skills that can be loaded, a line for each, and Hint is
	// what the phase was told about the pick.
	Index string `json:"index,omitempty"`
	Hint  string `json:"hint,omitempty"`
	Error string `json:"error,omitempty"`
}

// Type implements [Body].
func (SkillPick) Type() EventType { return TypeSkillPick }

// Headline implements [Body].
func (b SkillPick) Headline() Headline {
	h := Headline{
		Level: LevelDetail,
		Label: "skill",
		Text:  oneline.Join(": ", cmp.Or(b.Skill, "none"), b.Why, b.Error),
	}
	if b.Error != "" {
		h.Level = LevelWarning
	}
	return h
}

// Why a skill was picked, or none.
const (
	PickOverride   = "override"   // the request names it
	PickSampled    = "sampled"    // it drew the highest number
	PickNone       = "none"       // doing without a skill drew the highest number
	PickIrrelevant = "irrelevant" // no skill has to do with the request
	PickFailed     = "failed"     // the records could not be read
)

// SkillCandidate is one of those that a pick was made from. The one without a name
// is to do without a skill. Alpha and Beta are its record, the parameters of a Beta
// distribution, and Draw is the number in [0,1] that was drawn from that.
type SkillCandidate struct {
	Skill     string  `json:"skill"`
	Relevance float64 `json:"relevance,omitempty"`
	Alpha     float64 `json:"alpha"`
	Beta      float64 `json:"beta"`
	Draw      float64 `json:"draw"`
}

// SkillOutcome says how a pick turned out.
type SkillOutcome struct {
	Skill   string  `json:"skill"`
	Phase   Phase   `json:"phase"`
	Reward  float64 `json:"reward"`            // in [0,1]
	Neutral bool    `json:"neutral,omitempty"` // says nothing about the skill
	Why     string  `json:"why"`
}

// Type implements [Body].
func (SkillOutcome) Type() EventType { return TypeSkillOutcome }

// Headline implements [Body].
func (b SkillOutcome) Headline() Headline {
	return Headline{
		Level: LevelDetail,
		Label: "skill",
		Text:  oneline.Join(": ", b.Skill, b.Why),
	}
}

// SkillDraft says that successes of one kind have made a draft.
type SkillDraft struct {
	Name      string  `json:"name"`
	Signature string  `json:"signature"`
	Revision  int     `json:"revision"`
	Digest    string  `json:"digest"`
	Runs      []RunID `json:"runs"`
	// Change names the skill that the draft would change, if it is much like
	// one that is there.
	Change string `json:"change,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Type implements [Body].
func (SkillDraft) Type() EventType { return TypeSkillDraft }

// Headline implements [Body].
func (b SkillDraft) Headline() Headline {
	return Headline{
		Label: "skill",
		Text:  oneline.Join(": ", "drafted "+b.Name, b.Error),
	}
}

// SkillRecord is what is known of a skill in a phase: the parameters of a Beta
// distribution, the prior included, as they stood at Updated.
type SkillRecord struct {
	Skill   string    `json:"skill"` // "" is to do without a skill
	Phase   Phase     `json:"phase"`
	Version string    `json:"version"` // digest that the evidence is about
	Alpha   float64   `json:"alpha"`
	Beta    float64   `json:"beta"`
	Prior   float64   `json:"prior"` // alpha of the prior; its beta is 1
	Pulls   int       `json:"pulls"`
	Updated time.Time `json:"updated"`
}

// SkillGrant is a person's decision about the exact bytes of a drafted skill.
type SkillGrant struct {
	Name      string    `json:"name"`
	Digest    string    `json:"digest"`
	Signature string    `json:"signature"`
	Decision  string    `json:"decision"`
	Why       string    `json:"why,omitempty"`
	At        time.Time `json:"at"`
}

// What a person has decided about a draft.
const (
	GrantApproved = "approved"
	GrantRejected = "rejected"
	GrantRevoked  = "revoked" // approved before, and taken back
)
