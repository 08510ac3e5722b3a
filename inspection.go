package plan

import "time"

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
