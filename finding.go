package plan

import "time"

// The events of a finding.
const (
	TypeFinding EventType = "finding"
)

var findingEvents = []eventKind{
	folded[FindingMade](),
}

// The kinds of findings.
const (
	FindScope  = "scope"         // a file that the plan does not name
	FindStale  = "stale_tests"   // the last test run is older than the last edit
	FindGone   = "tests_removed" // a test file or a test is gone
	FindSkip   = "tests_skipped" // a test does not run any more
	FindEdited = "tests_edited"  // lines of tests are gone or say something else
	FindJudges = "checks_edited" // what decides about the work was changed
	FindFewer  = "tests_fewer"   // a check ran fewer tests than before, or none
	FindTools  = "tools_changed" // ignored files that a check may execute were changed
)

// Finding is something about the work that the workflow itself noticed. It is
// shown to the reviewer and to people; it decides nothing by itself.
type Finding struct {
	Kind string `json:"kind"`
	Path string `json:"path,omitempty"`
	Text string `json:"text"` // a sentence
	// Reason is what the implementer said of the path in its closing words.
	Reason string `json:"reason,omitempty"`
	// Answer says that a DONE which does not speak of the path does not count.
	Answer bool `json:"answer,omitempty"`
}

// FindingMade records something that the workflow noticed about the work
// before it was reviewed.
type FindingMade struct {
	Finding
}

// Type implements [Body].
func (FindingMade) Type() EventType { return TypeFinding }

// Headline implements [Body].
func (b FindingMade) Headline() Headline {
	return Headline{
		Level: LevelWarning,
		Label: "noticed",
		Text:  b.Text,
	}
}

// Inspection is what is known of a work when it is looked at for what a
// reviewer could overlook.
type Inspection struct {
	Patch   string   // the change against the start, as git prints it
	Closing string   // the implementer's closing words
	Plan    *PlanDoc // nil where there is none
	Checks  []Check  // the commands that decide
	// Baseline and After are their results before the change and after it.
	Baseline []CheckResult
	After    []CheckResult
	// Trees are the git trees of the change. They are never empty.
	Trees Trees
	// ToolsBefore and ToolsAfter are the digests that snapshots hold, from
	// before the first Implement and after the last one; nil where a run was
	// begun by a version that took none. Since is when the first were taken.
	ToolsBefore map[string]string
	ToolsAfter  map[string]string
	Since       time.Time
}
