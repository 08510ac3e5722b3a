package plan

import (
	"fmt"

	"github.com/plan-engine/plan/internal/oneline"
)

// The events of what Explore and Plan hand over.
const (
	TypeReport   EventType = "report"
	TypePlan     EventType = "plan"
	TypeCritique EventType = "critique"
	TypeWay      EventType = "way"
)

var planEvents = []eventKind{
	folded[Report](),
	folded[PlanMade](),
	folded[Critiqued](),
	stored[WayTaken](),
}

// Report is what Explore passes on.
type Report struct {
	Text string `json:"text"`
}

// Type implements [Body].
func (Report) Type() EventType { return TypeReport }

// Headline implements [Body].
func (b Report) Headline() Headline { return Headline{Label: "report", Text: b.Text} }

// The ways through the workflow.
const (
	WayFull   = "full"   // all four phases
	WayShort  = "short"  // Explore hands over the plan itself, and Plan does not run
	WayDirect = "direct" // Implement and Review: the request is the plan
	// WayAuto leaves it to Explore, which has looked, whether Plan is to run.
	WayAuto = "auto"
)

// CarryConversation has a phase start from all that was said in the one before it,
// and not from what that one handed over alone.
const CarryConversation = "conversation"

// How long a plan may be.
const (
	PlanShort = "short" // a page
	PlanFull  = "full"  // as long as it needs
)

// WayTaken says that a run leaves a phase out, and why.
type WayTaken struct {
	Way string `json:"way"` // WayShort
	Why string `json:"why"`
}

// Type implements [Body].
func (WayTaken) Type() EventType { return TypeWay }

// Headline implements [Body].
func (b WayTaken) Headline() Headline { return Headline{Label: "way", Text: b.Way + ": " + b.Why} }

// PlanDoc is one immutable version of a plan.
type PlanDoc struct {
	Version int    `json:"version"`
	Text    string `json:"text"`
	// Files the plan names, relative to the repository root, with the hash of
	// each as it stood when the plan was made; "" for a file to be created.
	Files  map[string]string `json:"files,omitempty"`
	Verify []string          `json:"verify,omitempty"` // exact commands
	Base   string            `json:"base,omitempty"`   // commit the plan was made on
	By     string            `json:"by,omitempty"`     // "person" for a version that a person wrote; else ""
}

// PlanMade stores one immutable version of the plan.
type PlanMade struct {
	PlanDoc
}

// Type implements [Body].
func (PlanMade) Type() EventType { return TypePlan }

// Headline implements [Body].
func (b PlanMade) Headline() Headline {
	return Headline{Label: "plan", Text: oneline.Join(" by ", fmt.Sprintf("version %d", b.Version), b.By)}
}

// Critiqued is what a second look at a plan came to, once in a run. Findings is
// "" when nothing was found, and when the look failed, which Error says: the
// plan is carried out then as it is.
type Critiqued struct {
	Version  int    `json:"version"` // of the plan
	Findings string `json:"findings,omitempty"`
	Error    string `json:"error,omitempty"`
}

// Type implements [Body].
func (Critiqued) Type() EventType { return TypeCritique }

// Headline implements [Body].
func (b Critiqued) Headline() Headline {
	h := Headline{Label: "critique", Text: "nothing was found"}
	switch {
	case b.Error != "":
		h.Level = LevelWarning
		h.Text = "it failed: " + b.Error
	case b.Findings != "":
		h.Level = LevelWarning
		h.Text = b.Findings
	}
	return h
}
