package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/oneline"
)

// The events of what a person is asked.
const (
	TypeApprovalRequired EventType = "approval_required"
	TypeApprovalResolved EventType = "approval_resolved"
	TypeQuestion         EventType = "question"
	TypeAnswer           EventType = "answer"
)

var decisionEvents = []eventKind{
	folded[ApprovalRequired](),
	folded[ApprovalResolved](),
	folded[Question](),
	folded[Answered](),
}

// ApprovalRequired asks a person whether a call may run, or a plan be carried out.
type ApprovalRequired struct {
	Call string          `json:"call"` // of a plan, PlanCall(Version)
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	Why  string          `json:"why,omitempty"`
	// Rule is the rule that asks, Effect what the call would do (a diff, a
	// command), Grant what a yes for longer would allow.
	Rule   string `json:"rule,omitempty"`
	Effect string `json:"effect,omitempty"`
	Grant  Grant  `json:"grant,omitzero"`
	// Version is that of the plan; 0 for a call.
	Version int `json:"version,omitempty"`
	// Shown is what the person is shown of it, and Digest the CallDigest or the
	// PlanDigest: a decision names it, and counts for nothing else.
	Shown  string `json:"shown,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// Type implements [Body].
func (ApprovalRequired) Type() EventType { return TypeApprovalRequired }

// Headline implements [Body].
func (b ApprovalRequired) Headline() Headline {
	return Headline{
		Level: LevelWarning,
		Label: "asks",
		Text:  oneline.Join(": ", b.Name, b.Why),
	}
}

// ApprovalResolved is the person's decision. Only Approved allows the call.
type ApprovalResolved struct {
	Call     string `json:"call"`
	Approved bool   `json:"approved"`
	Reason   string `json:"reason,omitempty"`
	By       string `json:"by,omitempty"`    // person, policy
	Rule     string `json:"rule,omitempty"`  // that asked
	Scope    string `json:"scope,omitempty"` // of a yes: run, always; "" for this call
	Grant    Grant  `json:"grant,omitzero"`  // what such a yes allows
	Letter   int64  `json:"letter,omitempty"`
}

// Type implements [Body].
func (ApprovalResolved) Type() EventType { return TypeApprovalResolved }

// Headline implements [Body].
func (b ApprovalResolved) Headline() Headline {
	text := "denied"
	if b.Approved {
		text = "allowed"
	}
	if b.By != "" {
		text += " by " + b.By
	}
	return Headline{Label: "decided", Text: oneline.Join(": ", text, b.Reason)}
}

// TakesLetter implements [Taker].
func (b ApprovalResolved) TakesLetter() int64 { return b.Letter }

// Grant is what a person's yes lets pass from now on, besides the call that
// they were asked about: the calls that fit all of it. An empty one grants
// nothing.
type Grant struct {
	Tool    string `json:"tool,omitempty"`
	Path    string `json:"path,omitempty"`
	Command string `json:"command,omitempty"`
}

// The scopes of a person's yes.
const (
	ScopeOnce   = ""       // this call
	ScopeRun    = "run"    // what the grant says, in this run
	ScopeAlways = "always" // and in all that come
)

// ReplanTool is the name of the tool with which the implementer asks for another plan.
const ReplanTool = "replan"

// PlanTool is the name under which a plan waits for a person.
const PlanTool = "plan"

// PlanCall is the id under which a version of the plan waits for a person.
func PlanCall(version int) string { return fmt.Sprintf("%s-%d", PlanTool, version) }

// ChecksTool is the name under which a question about checks that cannot start waits
// for a person, and ChecksCall begins the ids of such questions.
const (
	ChecksTool = "checks"
	ChecksCall = ChecksTool + "-"
)

// CallDigest names a call by what it does: the hex SHA-256 of the tool's name, a
// zero byte, and the arguments as JSON without spaces, the members of each object
// sorted by name.
func CallDigest(name string, args json.RawMessage) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber() // as they are written: no two numbers become one
	canonical := []byte(args)
	if dec.Decode(&v) == nil {
		if sorted, err := MarshalCompact(v); err == nil {
			canonical = sorted
		}
	}
	return hexDigest(name + "\x00" + string(canonical))
}

// PlanDigest names a plan by its text: the hex SHA-256 of that.
func PlanDigest(text string) string { return hexDigest(text) }

// SealedDigest is a digest under which people decide about what a journal from elsewhere says
// that a run waits with: its author does not know the seal.
func SealedDigest(seal, digest string) string { return hexDigest(seal + "\x00" + digest) }

func hexDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// ShownCall is a call as a person is shown it: what it would do, or else its
// arguments, a line for each.
func ShownCall(effect string, args json.RawMessage) string {
	if effect != "" {
		return effect
	}
	members := map[string]json.RawMessage{}
	if json.Unmarshal(args, &members) != nil {
		return string(args)
	}
	var lines []string
	for name, value := range members {
		text := string(value)
		var s string
		if json.Unmarshal(value, &s) == nil {
			text = s
		}
		lines = append(lines, name+": "+text)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Question is asked of the person who wants the work.
type Question struct {
	Call     string   `json:"call"`
	Question string   `json:"question"`
	Options  []string `json:"options,omitempty"`
}

// Type implements [Body].
func (Question) Type() EventType { return TypeQuestion }

// Headline implements [Body].
func (b Question) Headline() Headline {
	return Headline{
		Level: LevelWarning,
		Label: "asks",
		Text:  b.Question,
	}
}

// Answered is the person's answer, or what stands for it where no person can
// answer.
type Answered struct {
	Call   string `json:"call"`
	Text   string `json:"text"`
	By     string `json:"by,omitempty"` // person, policy
	Letter int64  `json:"letter,omitempty"`
}

// Type implements [Body].
func (Answered) Type() EventType { return TypeAnswer }

// Headline implements [Body].
func (b Answered) Headline() Headline { return Headline{Label: "answer", Text: b.Text} }

// TakesLetter implements [Taker].
func (b Answered) TakesLetter() int64 { return b.Letter }
