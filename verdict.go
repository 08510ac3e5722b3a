package plan

// VerdictKind is a reviewer's word on the work.
type VerdictKind string

// The verdicts a reviewer may give.
const (
	Done           VerdictKind = "DONE"
	NeedsFix       VerdictKind = "NEEDS_FIX"
	CannotSay      VerdictKind = "BLOCKED" // it cannot be verified here
	NoVerdict      VerdictKind = ""
	SeverityMust               = "must"
	SeverityShould             = "should"
)

// Verdict is a reviewer's answer. Its JSON form is the contract that the
// reviewer is asked to fill in; the schema is made from this type.
type Verdict struct {
	Verdict   VerdictKind  `json:"verdict" jsonschema:"enum=DONE,enum=NEEDS_FIX,enum=BLOCKED,description=DONE only when every requirement is met and proven by a command that ran"`
	Checklist []ListItem   `json:"checklist" jsonschema:"description=every requirement of the request and the plan with its evidence"`
	Missing   []Missing    `json:"missing" jsonschema:"description=every gap that is left; empty for DONE"`
	Commands  []RanCommand `json:"commands" jsonschema:"description=the commands run in this review that the verdict rests on and their exit codes"`
}

// ListItem is one requirement and how it was shown to be met.
type ListItem struct {
	Item     string `json:"item"`
	Met      bool   `json:"met"`
	Evidence string `json:"evidence" jsonschema:"description=a command or file:line"`
}

// Missing is one gap as a reviewer names it. ID is empty for a new gap and the
// known id for one that was open before.
type Missing struct {
	ID       string `json:"id" jsonschema:"description=the id of a known gap or an empty string for a new one"`
	Gap      string `json:"gap"`
	Severity string `json:"severity" jsonschema:"enum=must,enum=should"`
}

// RanCommand is a command and the exit status it is said, or known, to have
// ended with.
type RanCommand struct {
	Command  string `json:"command"`
	ExitCode int    `json:"exit_code"`
}

// GapStatus is where a gap stands.
type GapStatus string

// The life of a gap.
const (
	GapOpened   GapStatus = "opened"
	GapClosed   GapStatus = "closed"
	GapReopened GapStatus = "reopened"
)

// Gap is one thing that stands between the work and approval. Its ID is stable
// over the cycles of a run.
type Gap struct {
	ID       string    `json:"id"`
	Gap      string    `json:"gap"`
	Severity string    `json:"severity,omitempty"`
	Status   GapStatus `json:"status"`
}

// Open reports whether the gap still stands.
func (g Gap) Open() bool { return g.Status != GapClosed }

// Judgement is a verdict after the evidence was weighed: what the reviewer
// said, and what the engine makes of it.
type Judgement struct {
	Verdict   VerdictKind  `json:"verdict"`
	Approved  bool         `json:"approved"`
	Why       string       `json:"why"` // one sentence, always filled in
	Checklist []ListItem   `json:"checklist,omitempty"`
	Missing   []Missing    `json:"missing"`
	Commands  []RanCommand `json:"commands"`
	// Gaps are the changes to the gap ledger that this verdict makes.
	Gaps []Gap `json:"-"`
}

// The kinds of findings.
const (
	FindScope  = "scope"         // a file that the plan does not name
	FindStale  = "stale_tests"   // the last test run is older than the last edit
	FindGone   = "tests_removed" // a test file or a test is gone
	FindSkip   = "tests_skipped" // a test does not run any more
	FindJudges = "checks_edited" // what decides about the work was changed
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

// CheckSource says where a check came from.
type CheckSource string

// Where checks come from. Only flag and config checks are required. Setup is
// the command that runs once before the first of them.
const (
	CheckSetup    CheckSource = "setup"
	CheckFlag     CheckSource = "flag"
	CheckConfig   CheckSource = "config"
	CheckPlan     CheckSource = "plan"
	CheckDetected CheckSource = "detected"
)

// Check is a command that decides.
type Check struct {
	Command  string      `json:"command"`
	Required bool        `json:"required"`
	Source   CheckSource `json:"source,omitempty"`
	Name     string      `json:"name,omitempty"`
	// TimeoutMS bounds one run of it; 0 means the checker's own bound.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
	// Paths are globs. After a change that touches none of them the check is not
	// run, and stands as it stood before. Empty means that it always runs.
	Paths []string `json:"paths,omitempty"`
}

// CheckResult is what a check said. ExitCode is the true status of the
// command: 124 when it ran out of time, 128+n when signal n killed it.
type CheckResult struct {
	Check
	ExitCode   int    `json:"exit_code"`
	Baseline   bool   `json:"baseline"`
	DurationMS int64  `json:"duration_ms"`
	Output     string `json:"output,omitempty"` // head and tail
	Blob       string `json:"blob,omitempty"`   // hash of the full output, when Output was cut
	TimedOut   bool   `json:"timed_out,omitempty"`
	// Flaky says that it failed, and passed when it was run again at once. The
	// exit code and the output are those of the failure: it is not a pass.
	Flaky bool `json:"flaky,omitempty"`
	// Skipped says why the check was not run after the change. The result is
	// then the baseline's.
	Skipped string `json:"skipped,omitempty"`
	// Cached says that the result is that of an earlier run on the same tree.
	Cached bool `json:"cached,omitempty"`
	// Masked says why the exit code may hide a failure of the command.
	Masked string `json:"masked,omitempty"`
	// Cancelled says that the check was stopped before it could say anything;
	// it will be run again.
	Cancelled bool `json:"cancelled,omitempty"`
}

// Passed reports whether the check's command ended with status zero.
func (r CheckResult) Passed() bool { return r.ExitCode == 0 && !r.Cancelled }
