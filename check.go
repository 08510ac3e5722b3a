package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// The events of a check.
const (
	TypeCheckStart EventType = "check_start"
	TypeCheckEnd   EventType = "check_end"
)

var checkEvents = []eventKind{
	folded[CheckStart](),
	folded[CheckEnd](),
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

// CheckStart opens a check.
type CheckStart struct {
	Check
	Baseline bool `json:"baseline"`
	// Evidence is that of [CheckResult].
	Evidence string `json:"evidence,omitempty"`
}

// Type implements [Body].
func (CheckStart) Type() EventType { return TypeCheckStart }

// Headline implements [Body].
func (b CheckStart) Headline() Headline {
	return Headline{
		Level: LevelDetail,
		Label: "check",
		Text:  b.Command,
	}
}

// CheckEnd closes a check with its result.
type CheckEnd struct {
	CheckResult
}

// Type implements [Body].
func (CheckEnd) Type() EventType { return TypeCheckEnd }

// Headline implements [Body].
func (b CheckEnd) Headline() Headline {
	h := Headline{Label: "check", Text: fmt.Sprintf("exit %d: %s", b.ExitCode, b.Command)}
	if b.Fails() {
		h.Level = LevelWarning
	}
	return h
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
	// NotStarted says why it could not even start, if that is known: it failed, and
	// says nothing about the tree.
	NotStarted string `json:"not_started,omitempty"`
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

// Passed reports whether the check's command ended with status zero.
func (r CheckResult) Passed() bool { return r.ExitCode == 0 && !r.Cancelled }

// Fails reports whether the check's command is known to fail: it ran and did not
// pass, also not when it was run again at once.
func (r CheckResult) Fails() bool {
	return !r.Cancelled && !r.Flaky && r.Skipped == "" && (r.ExitCode != 0 || r.TimedOut)
}

// Unready is a check that cannot start on this machine as it is.
type Unready struct {
	Check
	Why   string // a line
	Setup string // the command that most likely makes it possible; "" where none is known
}

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

// Trial is one run of a command that decides.
type Trial struct {
	Check
	// Baseline says that nothing has been changed yet.
	Baseline bool
	// Trees say what git shows to the command: HEAD is Work, and HEAD~ Start.
	Trees Trees
	// Took is how long the check ran at the baseline; 0 where that is not known.
	Took time.Duration
	// On is the tree to run it on: TreeReviewed, TreeCounter or TreeStart. Empty
	// is the work tree as it is.
	On string
	// Added are files of a reviewer that are there besides.
	Added []NewFile
	// Again says that an earlier result is in doubt: nothing is recalled.
	Again bool
}

// NewFile is an [AddedFile] with its content.
type NewFile struct {
	AddedFile
	Data []byte
}

// DigestOf tells sets of added files apart; it is "" for none.
func DigestOf(files []NewFile) string {
	if len(files) == 0 {
		return ""
	}
	lines := make([]string, 0, len(files))
	for _, f := range files {
		content := sha256.Sum256(f.Data)
		lines = append(lines, fmt.Sprintf("%o %x %s\x00", f.Mode, content, f.Path))
	}
	slices.Sort(lines)
	sum := sha256.New()
	_, _ = io.WriteString(sum, strings.Join(lines, "")) // a hash takes everything
	return hex.EncodeToString(sum.Sum(nil))
}
