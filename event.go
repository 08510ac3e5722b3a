package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plan-engine/plan/internal/jsonscan"
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

// Body is what an event says. [EventTypes] lists the types there are; a reader
// ignores those that it does not know.
type Body interface {
	Type() EventType
	// Headline is what a face shows that has no better way to show it.
	Headline() Headline
}

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
func (e Event) Live() bool { return e.Type().Live() }

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
		V:       Version,
		Run:     e.Run,
		Seq:     e.Seq,
		Time:    e.Time.UTC(),
		Job:     e.Job,
		Conv:    e.Conv,
		Parent:  e.Parent,
		Phase:   e.Phase,
		Attempt: e.Attempt,
		Turn:    e.Turn,
		Type:    e.Type(),
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
func (e *Event) UnmarshalJSON(line []byte) error { return e.Read(string(line)) }

// Read is [Event.UnmarshalJSON] for a line that is a string already. The event
// may keep parts of it.
func (e *Event) Read(line string) error {
	if e.readOwn(line) {
		return nil
	}
	var env envelope
	if err := json.Unmarshal([]byte(line), &env); err != nil {
		return fmt.Errorf("decode event: %w", err)
	}
	return e.read(env, string(env.Data))
}

// readOwn reads a line whose data comes last, as AppendJSON writes it. It
// reports whether the line was such a one; nothing is wrong with others.
func (e *Event) readOwn(line string) bool {
	const key = `,"data":`
	at := strings.Index(line, key) // inside a string its quotes would be escaped
	if at < 0 || line[len(line)-1] != '}' {
		return false
	}
	env, ok := scanEnvelope(line[:at])
	if !ok {
		return false
	}
	data := strings.Trim(line[at+len(key):len(line)-1], " \t\r\n")
	if _, known := kindOf[env.Type]; !known && !json.Valid([]byte(data)) {
		return false
	}
	return e.read(env, data) == nil // what follows the data, if anything does, fails here
}

// scanEnvelope reads what AppendJSON writes of an event before its data.
func scanEnvelope(head string) (env envelope, ok bool) {
	s := jsonscan.New(head)
	s.Must(`{"v":`)
	env.V = int(s.Number())
	s.Must(`,"run":`)
	env.Run = RunID(s.Text())
	if s.Has(`,"seq":`) {
		env.Seq = s.Number()
	}
	s.Must(`,"time":`)
	env.Time = s.Time()
	if s.Has(`,"job":`) {
		env.Job = s.Text()
	}
	if s.Has(`,"conv":`) {
		env.Conv = s.Text()
	}
	if s.Has(`,"parent":`) {
		env.Parent = s.Text()
	}
	if s.Has(`,"phase":`) {
		env.Phase = Phase(s.Text())
	}
	if s.Has(`,"attempt":`) {
		env.Attempt = int(s.Number())
	}
	if s.Has(`,"turn":`) {
		turn := int(s.Number())
		env.Turn = &turn
	}
	s.Must(`,"type":`)
	env.Type = EventType(s.Text())
	return env, s.Done()
}

// read makes the event of its envelope.
func (e *Event) read(env envelope, data string) error {
	if env.V > Version {
		return fmt.Errorf("decode event: envelope version %d is newer than %d", env.V, Version)
	}
	if env.Type == "" {
		return errors.New("decode event: no type")
	}
	if data == "" {
		return fmt.Errorf("decode %s event: no data", env.Type)
	}
	if y := env.Time.UTC().Year(); y < 0 || y > 9999 {
		return fmt.Errorf("decode %s event: its time is in the year %d in UTC, which cannot be written", env.Type, y)
	}
	body, err := DecodeBody(env.Type, data)
	if err != nil {
		return fmt.Errorf("decode %s event: %w", env.Type, err)
	}
	*e = Event{
		Run:     env.Run,
		Seq:     env.Seq,
		Time:    env.Time,
		Job:     env.Job,
		Conv:    env.Conv,
		Parent:  env.Parent,
		Phase:   env.Phase,
		Attempt: env.Attempt,
		Turn:    env.Turn,
		Body:    body,
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

// Headline implements [Body]. A reader ignores what it does not know.
func (u Unknown) Headline() Headline { return Headline{Level: LevelDetail, Label: string(u.Kind)} }

// MarshalJSON returns the bytes the body was read from.
func (u Unknown) MarshalJSON() ([]byte, error) { return u.Raw, nil }

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
