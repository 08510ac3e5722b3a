package plan

import "fmt"

// The types of events about a plan and about the work that is judged.
const (
	TypeFinding  EventType = "finding"
	TypeCritique EventType = "critique"
)

// FindingMade records something that the workflow noticed about the work
// before it was reviewed.
type FindingMade struct {
	Finding
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
func (FindingMade) Type() EventType { return TypeFinding }
func (Critiqued) Type() EventType   { return TypeCritique }

// PlanTool is the name under which a plan waits for a person.
const PlanTool = "plan"

// PlanCall is the id under which a version of the plan waits for a person.
func PlanCall(version int) string { return fmt.Sprintf("%s-%d", PlanTool, version) }

// IsPlan says whether what waits for a person is a plan.
func (c WaitingCall) IsPlan() bool { return c.Name == PlanTool }
