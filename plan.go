package plan

// The events of what Explore and Plan hand over.
const (
	TypeReport   EventType = "report"
	TypePlan     EventType = "plan"
	TypeCritique EventType = "critique"
)

var planEvents = []eventKind{
	folded[Report](),
	folded[PlanMade](),
	folded[Critiqued](),
}

// Report is what Explore passes on.
type Report struct {
	Text string `json:"text"`
}

// Type implements [Body].
func (Report) Type() EventType { return TypeReport }

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
