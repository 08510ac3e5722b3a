package anthropic

import (
	"cmp"
	"encoding/json"
	"io"
	"iter"
	"net/http"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/plan-engine/plan/model/wire"
)

// The types of events.
const (
	eventStart      = "message_start"
	eventDelta      = "message_delta"
	eventStop       = "message_stop"
	eventBlockStart = "content_block_start"
	eventBlockDelta = "content_block_delta"
	eventBlockStop  = "content_block_stop"
	eventPing       = "ping"
	eventError      = "error"
)

// Events implements [wire.Protocol]. The SDK's decoder splits the stream, but its
// stream and its accumulator are not used: they take a stream that was cut for one
// that ended.
func (p *protocol) Events(stream io.Reader) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		decoder := ssestream.NewDecoder(&http.Response{Body: io.NopCloser(stream)})
		for decoder.Next() {
			ev := decoder.Event()
			if ev.Type == eventStop { // nothing comes after it
				ev.Type, ev.Data = wire.EventDone, []byte(wire.EventDone)
			}
			if !yield(wire.Event{Type: ev.Type, Data: ev.Data}, nil) {
				return
			}
		}
		if err := decoder.Err(); err != nil {
			yield(wire.Event{}, err)
		}
	}
}

// Add implements [wire.Assembly]. Events and blocks of types that are not known
// are passed over.
func (a *assembly) Add(ev wire.Event) error {
	switch {
	case ev.Type == wire.EventDone:
		a.end()
		return nil
	case ev.Whole:
		return a.document(ev.Data)
	case ev.Type == eventError:
		return wire.Reported(ev.Data)
	}
	var e sdk.MessageStreamEventUnion
	// json.Unmarshal, unlike the event's own method, checks the syntax first.
	if err := json.Unmarshal(ev.Data, &e); err != nil {
		return wire.Served("the server sent something that is not an event of an answer: %v", err)
	}
	switch cmp.Or(e.Type, ev.Type) {
	case eventStart:
		a.begun = true
		a.model = wire.Valid(e.Message.Model)
		a.usage.add(e.Message.Usage)
	case eventBlockStart:
		a.start(e.Index, startOf(e.ContentBlock))
	case eventBlockDelta:
		return a.delta(e.Index, e.Delta)
	case eventBlockStop:
		a.closeBlock(a.open[e.Index])
	case eventDelta:
		a.usage.addDelta(e.Usage)
		a.stopped(string(e.Delta.StopReason), e.Delta.StopDetails)
	case eventStop:
		a.end()
	case eventPing:
	default:
		return unknown(ev.Data)
	}
	return nil
}

// unknown passes over an event of an unknown type, unless it reports an error.
func unknown(data []byte) error {
	var failed struct {
		Type  string          `json:"type"`
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &failed) != nil {
		return nil // no object, so no error
	}
	switch string(failed.Error) {
	case "", "null", `""`, "{}", "false":
		if failed.Type != eventError {
			return nil
		}
	}
	return wire.Reported(data)
}

// document takes a whole answer, from a server that does not stream.
func (a *assembly) document(data []byte) error {
	var m sdk.Message
	if err := json.Unmarshal(data, &m); err != nil {
		return wire.Served("the server sent something that is not an answer: %v", err)
	}
	if len(m.Content) == 0 && m.StopReason == "" {
		if err := unknown(data); err != nil {
			return err
		}
	}
	a.begun = m.Type == "message" || len(m.Content) > 0
	a.model = wire.Valid(m.Model)
	a.usage.add(m.Usage)
	for i, c := range m.Content {
		a.start(int64(i), blockOf(c))
		a.closeBlock(a.open[int64(i)])
	}
	a.stopped(string(m.StopReason), m.StopDetails)
	return nil
}
