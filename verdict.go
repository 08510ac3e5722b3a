package plan

import "fmt"

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
	// Notes are remarks that do not stand in the way.
	Notes []string `json:"notes" jsonschema:"description=remarks that do not block; may be empty"`
	// NoChange says why nothing had to change, where nothing did. Unchanged says
	// why no command can tell the work from what was there before.
	NoChange  string `json:"no_change" jsonschema:"description=why nothing had to change; an empty string where something did"`
	Unchanged string `json:"unchanged" jsonschema:"description=why no command can tell the work from what was there before; else an empty string"`
}

// ListItem is one requirement and how it was shown to be met.
type ListItem struct {
	Item     string `json:"item"`
	Met      bool   `json:"met"`
	Evidence string `json:"evidence" jsonschema:"description=a command or file:line"`
	// Prose says that the item was given as a line of text. It counts as a
	// requirement, and answers nothing that the workflow asks about.
	Prose bool `json:"-"`
}

// Missing is one gap as a reviewer names it. ID is empty for a new gap and the
// known id for one that was open before.
type Missing struct {
	ID       string `json:"id" jsonschema:"description=the id of a known gap or an empty string for a new one"`
	Gap      string `json:"gap"`
	Severity string `json:"severity" jsonschema:"enum=must,enum=should"`
}

// RanCommand is a command and the exit status it is said, or known, to have
// ended with. Call is the id of a call of the review, in place of the command.
type RanCommand struct {
	Command  string `json:"command"`
	ExitCode int    `json:"exit_code"`
	Call     string `json:"call,omitempty" jsonschema:"description=the id of a call of this review in place of its command; else an empty string"`
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
	Notes     []string     `json:"notes,omitempty"`
	NoChange  string       `json:"no_change,omitempty"`
	Unchanged string       `json:"unchanged,omitempty"`
	// Evidence says what an approval rests on: EvidenceShown or EvidenceUnbroken.
	Evidence string `json:"evidence,omitempty"`
	// Open is what the implementer said it left open.
	Open []string `json:"open,omitempty"`
	// Added are the files that the reviewer made, for the next review and for
	// the author.
	Added []AddedFile `json:"added,omitempty"`
	// Gaps are the changes to the gap ledger that this verdict makes.
	Gaps []Gap `json:"-"`
	// Blobs hold the contents of Added.
	Blobs []Blob `json:"-"`
}

// What an approval rests on.
const (
	// EvidenceShown: a command of the engine's own ended as it should on the
	// work, and otherwise without it.
	EvidenceShown = "shown"
	// EvidenceUnbroken: nothing that ran before fails now, and the reviewer says
	// why no command can tell the work from what was there before.
	EvidenceUnbroken = "unbroken"
)

// AddedFile is a file that a reviewer made in its copy of the tree, or in the
// temporary folder of its review.
type AddedFile struct {
	// Path is relative to the repository root, with slashes; absolute in the
	// temporary folder, which begins with /tmp/.
	Path string `json:"path"`
	Hash string `json:"hash"` // of the content, a blob of the journal
	Mode uint32 `json:"mode"` // permission bits
	Size int64  `json:"size"`
}

// The kinds of findings.
const (
	FindScope  = "scope"         // a file that the plan does not name
	FindStale  = "stale_tests"   // the last test run is older than the last edit
	FindGone   = "tests_removed" // a test file or a test is gone
	FindSkip   = "tests_skipped" // a test does not run any more
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
	CheckClaim    CheckSource = "claim" // a line that a verdict claims
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
	// exit code and the output are those of the failure, Tests those of the pass:
	// it is not a pass.
	Flaky bool `json:"flaky,omitempty"`
	// Skipped says why the check was not run after the change. The result is
	// then the baseline's.
	Skipped string `json:"skipped,omitempty"`
	// Cached says that the result is that of an earlier run on the same tree.
	Cached bool `json:"cached,omitempty"`
	// Cancelled says that the check was stopped before it could say anything;
	// it will be run again.
	Cancelled bool `json:"cancelled,omitempty"`
	// Hung says that it was stopped because it neither used the processor nor
	// said anything for a long time. Running lists what was still running then,
	// or when its time was up: a command line each.
	Hung    bool     `json:"hung,omitempty"`
	Running []string `json:"running,omitempty"`
	// Tests is what the known test runners in it reported; nil where none did.
	Tests *TestReport `json:"tests,omitempty"`
	// Evidence names the tree of a run that was made to weigh a verdict, and
	// decides nothing else: TreeReviewed, TreeCounter or TreeStart.
	Evidence string `json:"evidence,omitempty"`
	// Wrote names files of the reviewed snapshot that the command itself wrote
	// to, in a run made to weigh a verdict.
	Wrote []string `json:"wrote,omitempty"`
	// Added is the digest of the reviewer's files that were there; "" for none.
	Added string `json:"added,omitempty"`
}

// The trees that a line is tried on to weigh a verdict.
const (
	TreeReviewed = "reviewed"
	// TreeCounter is the reviewed snapshot with every changed file that is no
	// test put back as it was at the start.
	TreeCounter = "counter"
	TreeStart   = "start"
)

// TestReport counts tests as their runners themselves reported them.
type TestReport struct {
	Runners []string `json:"runners"` // go, pytest, jest, …
	// Passed, Failed and Skipped are -1 where a runner that ran does not say.
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	// Silent is how many packages passed and named no test, although their runner
	// was to name every one: their programs ended before it, or chose to run none.
	Silent int `json:"silent,omitempty"`
}

// Ran reports whether any test was run and not skipped.
func (t *TestReport) Ran() bool { return t != nil && (t.Passed != 0 || t.Failed != 0) }

// Passed reports whether the check's command ended with status zero.
func (r CheckResult) Passed() bool { return r.ExitCode == 0 && !r.Cancelled }

// Fails reports whether the check's command is known to fail: it ran and did not
// pass, also not when it was run again at once.
func (r CheckResult) Fails() bool {
	return !r.Cancelled && !r.Flaky && r.Skipped == "" && (r.ExitCode != 0 || r.TimedOut)
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
