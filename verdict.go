package plan

import (
	"slices"

	"github.com/plan-engine/plan/internal/oneline"
)

// The events of a review.
const (
	TypeVerdict EventType = "verdict"
	TypeGap     EventType = "gap"
)

var verdictEvents = []eventKind{
	folded[VerdictGiven](),
	folded[GapChange](),
}

// VerdictKind is a reviewer's word on the work.
type VerdictKind string

// The verdicts a reviewer may give.
const (
	Done      VerdictKind = "DONE"
	NeedsFix  VerdictKind = "NEEDS_FIX"
	CannotSay VerdictKind = "BLOCKED" // it cannot be verified here
	NoVerdict VerdictKind = ""        // none could be read
)

// How severe a gap is.
const (
	SeverityMust   = "must"
	SeverityShould = "should"
)

// WhyUnread is Judgement.Why of an approval that was kept back.
const WhyUnread = "A further request came before the work was approved, and the implementer has not read it yet."

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
	// Open is what the implementer said it left open, Accepted what the plan saw and
	// does not handle.
	Open     []string `json:"open,omitempty"`
	Accepted []string `json:"accepted,omitempty"`
	// Added are the files that the reviewer made, for the next review and for
	// the author.
	Added []AddedFile `json:"added,omitempty"`
	// Gaps are the changes to the gap ledger that this verdict makes.
	Gaps []Gap `json:"-"`
	// Blobs hold the contents of Added.
	Blobs []Blob `json:"-"`
}

// Word names the judgement.
func (j Judgement) Word() string {
	switch {
	case !j.Approved && j.Verdict == Done:
		return "DONE, not approved"
	case !j.Approved && j.Verdict == NoVerdict:
		return "no verdict"
	}
	return string(j.Verdict)
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

// VerdictGiven is a reviewer's verdict and what the engine makes of it.
type VerdictGiven struct {
	Judgement
}

// Type implements [Body].
func (VerdictGiven) Type() EventType { return TypeVerdict }

// Headline implements [Body].
func (b VerdictGiven) Headline() Headline {
	return Headline{Label: "verdict", Text: oneline.Join(": ", b.Word(), b.Why)}
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

// PutGap puts a gap in the place of the one with its id, or behind the others, and returns
// gaps as they are then. A later word on a gap may leave out what it is about.
func PutGap(gaps []Gap, g Gap) []Gap {
	i := slices.IndexFunc(gaps, func(old Gap) bool { return old.ID == g.ID })
	if i < 0 {
		return append(gaps, g)
	}
	if g.Gap == "" {
		g.Gap = gaps[i].Gap
	}
	if g.Severity == "" {
		g.Severity = gaps[i].Severity
	}
	gaps[i] = g
	return gaps
}

// GapChange opens, closes or reopens a gap.
type GapChange struct {
	Gap
}

// Type implements [Body].
func (GapChange) Type() EventType { return TypeGap }

// Headline implements [Body].
func (b GapChange) Headline() Headline {
	return Headline{
		Label: "gap",
		Text:  oneline.Join(": ", b.ID+" "+string(b.Status), b.Gap.Gap),
	}
}
