package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// EventType names what happened.
type EventType string

// Version is the envelope version written to "v".
const Version = 1

// Event is one line of a journal: an envelope around a [Body].
//
// Seq is given by the journal when the event is committed; it starts at 1 and
// has no gaps within a run. Live events (see [Event.Live]) are shown but never
// stored and have no Seq.
type Event struct {
	Run     RunID
	Seq     int64
	Time    time.Time
	Job     string // batch job, if any
	Conv    string // conversation, if the event belongs to one
	Parent  string // conversation that this one was started from
	Phase   Phase
	Attempt int
	Turn    *int // turn within the conversation, from 0; nil outside turns
	Body    Body

	// Blobs are large contents that the body refers to by hash. They are
	// committed in the same transaction and are not part of the JSON form.
	Blobs []Blob
}

// Body is what an event says. Every type in this package whose name appears
// in [DecodeBody] is one; a reader ignores the types it does not know.
type Body interface{ Type() EventType }

// Blob is content kept beside the journal under its hash.
type Blob struct {
	Hash string // hex SHA-256 of Data
	Data []byte
}

// Type is the type of the event's body.
func (e Event) Type() EventType {
	if e.Body == nil {
		return ""
	}
	return e.Body.Type()
}

// Live reports whether the event is only shown, never stored.
func (e Event) Live() bool {
	switch e.Type() {
	case TypeMessageUpdate, TypeToolUpdate, TypeProgress:
		return true
	}
	return false
}

// envelope is the JSON form of an Event. The order of its fields is the order
// on the wire.
type envelope struct {
	V       int             `json:"v"`
	Run     RunID           `json:"run"`
	Seq     int64           `json:"seq,omitempty"`
	Time    time.Time       `json:"time"`
	Job     string          `json:"job,omitempty"`
	Conv    string          `json:"conv,omitempty"`
	Parent  string          `json:"parent,omitempty"`
	Phase   Phase           `json:"phase,omitempty"`
	Attempt int             `json:"attempt,omitempty"`
	Turn    *int            `json:"turn,omitempty"`
	Type    EventType       `json:"type"`
	Data    json.RawMessage `json:"data"`
}

// AppendJSON appends the event's JSON form to buf, without a newline.
// The bytes are the ones that the journal stores and hashes.
func (e Event) AppendJSON(buf []byte) ([]byte, error) {
	if e.Body == nil {
		return nil, fmt.Errorf("event of run %s has no body", e.Run)
	}
	data, err := MarshalCompact(e.Body)
	if err != nil {
		return nil, fmt.Errorf("encode %s event: %w", e.Type(), err)
	}
	head, err := MarshalCompact(envelope{
		V: Version, Run: e.Run, Seq: e.Seq, Time: e.Time.UTC(), Job: e.Job, Conv: e.Conv,
		Parent: e.Parent, Phase: e.Phase, Attempt: e.Attempt, Turn: e.Turn, Type: e.Type(),
	})
	if err != nil {
		return nil, fmt.Errorf("encode %s event: %w", e.Type(), err)
	}
	// The data goes in the place of none, at the end: as a field it would be
	// read and copied once more.
	buf = append(buf, bytes.TrimSuffix(head, []byte("null}"))...)
	return append(append(buf, data...), '}'), nil
}

// MarshalJSON is [Event.AppendJSON] for encoding/json.
func (e Event) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil) }

// UnmarshalJSON reads the form that AppendJSON writes. A body of an unknown
// type becomes [Unknown], which writes itself back unchanged.
func (e *Event) UnmarshalJSON(line []byte) error {
	if e.readOwn(line) {
		return nil
	}
	var env envelope
	if err := json.Unmarshal(line, &env); err != nil {
		return fmt.Errorf("decode event: %w", err)
	}
	return e.read(env)
}

// readOwn reads a line whose data comes last, as AppendJSON writes it, without
// looking at the data more often than its decoder does: journals are long. It
// reports whether the line was such a one; nothing is wrong with others.
func (e *Event) readOwn(line []byte) bool {
	const key = `,"data":`
	at := bytes.Index(line, []byte(key)) // inside a string its quotes would be escaped
	if at < 0 || line[len(line)-1] != '}' {
		return false
	}
	env, ok := scanEnvelope(line[:at])
	if !ok {
		var space [256]byte
		head := append(append(space[:0], line[:at]...), '}') // not JSON if the key was one of an inner object
		if json.Unmarshal(head, &env) != nil {
			return false
		}
	}
	env.Data = bytes.Trim(line[at+len(key):len(line)-1], " \t\r\n")
	if _, known := decoders[env.Type]; !known && !json.Valid(env.Data) {
		return false
	}
	return e.read(env) == nil // what follows the data, if anything does, fails here
}

// read makes the event of its envelope.
func (e *Event) read(env envelope) error {
	if env.V > Version {
		return fmt.Errorf("decode event: envelope version %d is newer than %d", env.V, Version)
	}
	if env.Type == "" {
		return errors.New("decode event: no type")
	}
	if len(env.Data) == 0 {
		return fmt.Errorf("decode %s event: no data", env.Type)
	}
	if y := env.Time.UTC().Year(); y < 0 || y > 9999 {
		return fmt.Errorf("decode %s event: its time is in the year %d in UTC, which cannot be written", env.Type, y)
	}
	body, err := DecodeBody(env.Type, env.Data)
	if err != nil {
		return fmt.Errorf("decode %s event: %w", env.Type, err)
	}
	*e = Event{
		Run: env.Run, Seq: env.Seq, Time: env.Time, Job: env.Job, Conv: env.Conv, Parent: env.Parent,
		Phase: env.Phase, Attempt: env.Attempt, Turn: env.Turn, Body: body,
	}
	return nil
}

// Unknown is the body of an event whose type this version does not know.
type Unknown struct {
	Kind EventType
	Raw  json.RawMessage
}

// Type returns the type the event was written with.
func (u Unknown) Type() EventType { return u.Kind }

// MarshalJSON returns the bytes the body was read from.
func (u Unknown) MarshalJSON() ([]byte, error) { return u.Raw, nil }

// DecodeBody reads the data of an event of the given type.
func DecodeBody(t EventType, data []byte) (Body, error) {
	decode, ok := decoders[t]
	if !ok {
		return Unknown{Kind: t, Raw: bytes.Clone(data)}, nil
	}
	return decode(data)
}

// decoders knows every body by its type. It is read-only.
var decoders = map[EventType]func([]byte) (Body, error){
	TypeRunStart: decodeAs[RunStart], TypeRunEnd: decodeAs[RunEnd], TypeState: decodeAs[StateChange],
	TypePhaseStart: decodeAs[PhaseStart], TypePhaseEnd: decodeAs[PhaseEnd],
	TypeTurnStart: decodeAs[TurnStart], TypeTurnEnd: decodeAs[TurnEnd],
	TypeMessageStart: decodeAs[MessageStart], TypeMessageUpdate: decodeAs[MessageUpdate], TypeMessageEnd: decodeAs[MessageEnd],
	TypeToolStart: decodeAs[ToolStart], TypeToolUpdate: decodeAs[ToolUpdate], TypeToolEnd: decodeAs[ToolEnd],
	TypeRequest: decodeAs[Request], TypeRetry: decodeAs[Retry], TypeLimit: decodeAs[LimitHit], TypeUsage: decodeAs[UsageReport],
	TypeReport: decodeAs[Report], TypePlan: decodeAs[PlanMade], TypeSnapshot: decodeAs[Snapshot],
	TypeCheckStart: decodeAs[CheckStart], TypeCheckEnd: decodeAs[CheckEnd],
	TypeVerdict: decodeAs[VerdictGiven], TypeGap: decodeAs[GapChange],
	TypeParked: decodeAs[Parked], TypeUnparked: decodeAs[Unparked],
	TypeProgress: decodeAs[Progress], TypeError: decodeAs[Failure],
	TypeSteering: decodeAs[Steering], TypeFollowUp: decodeAs[FollowUp], TypeFiltered: decodeAs[Filtered],
	TypeStorm: decodeAs[StormBroken], TypePrune: decodeAs[Pruned],
	TypeCompactionStart: decodeAs[CompactionStart], TypeCompactionEnd: decodeAs[CompactionEnd],
	TypeApprovalRequired: decodeAs[ApprovalRequired], TypeApprovalResolved: decodeAs[ApprovalResolved],
	TypeQuestion: decodeAs[Question], TypeAnswer: decodeAs[Answered],
	TypeRecall: decodeAs[Recall], TypeSkillPick: decodeAs[SkillPick],
	TypeSkillOutcome: decodeAs[SkillOutcome], TypeSkillDraft: decodeAs[SkillDraft],
	TypeDrift: decodeAs[Drift], TypeSettings: decodeAs[SettingsChanged],
	TypeHook:    decodeAs[HookRan],
	TypeFinding: decodeAs[FindingMade], TypeCritique: decodeAs[Critiqued],
}

func decodeAs[T Body](data []byte) (Body, error) {
	var body T
	if err := json.Unmarshal(data, &body); err != nil {
		return nil, err //nolint:wrapcheck // DecodeBody's caller names the type
	}
	return body, nil
}

// MarshalCompact encodes v on one line and leaves <, > and & as they are, so
// that code in the output stays readable. Map keys are sorted.
func MarshalCompact(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err //nolint:wrapcheck // the callers say what was encoded
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// NewBlob makes a blob of data.
func NewBlob(data []byte) Blob {
	sum := sha256.Sum256(data)
	return Blob{Hash: hex.EncodeToString(sum[:]), Data: data}
}
