package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
)

// Text is a request's body, in pieces. The messages are most of it and are not
// copied.
type Text [][]byte

// Size is its length in bytes.
func (t Text) Size() (n int64) {
	for _, piece := range t {
		n += int64(len(piece))
	}
	return n
}

// Open reads the text from its beginning.
func (t Text) Open() io.ReadCloser {
	pieces := net.Buffers(slices.Clone(t)) // reading uses it up
	return io.NopCloser(&pieces)
}

// Join writes values, of about size bytes, with commas between them.
func Join(size int, values ...any) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(size)
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for i, v := range values {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := enc.Encode(v); err != nil {
			return nil, fmt.Errorf("encode a message: %w", err)
		}
		out.Truncate(out.Len() - 1) // the line's end
	}
	return out.Bytes(), nil
}

// Laid lays extra fields over a JSON object. Without any the object stays as it
// is.
func Laid(object []byte, extra map[string]json.RawMessage) ([]byte, error) {
	if len(extra) == 0 {
		return object, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil {
		return nil, fmt.Errorf("lay the provider's own fields over the request: %w", err)
	}
	maps.Copy(fields, extra)
	out, err := plan.MarshalCompact(fields)
	if err != nil {
		return nil, fmt.Errorf("lay the provider's own fields over the request: %w", err)
	}
	return out, nil
}

// Valid keeps what cannot be stored as text out of the journal.
func Valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// IDs hands out the ids of calls, unique within a conversation. Servers leave
// them out, or number the calls of every answer from the start.
type IDs struct {
	Messages []plan.Message
	given    []string
}

// known reports whether a call has this id, and how many calls there are.
func (s *IDs) known(id string) (found bool, calls int) {
	for _, m := range s.Messages {
		for i := range m.Blocks {
			if b := &m.Blocks[i]; b.Type == plan.BlockToolCall {
				found = found || b.Call == id
				calls++
			}
		}
	}
	return found || slices.Contains(s.given, id), calls + len(s.given)
}

// Next returns wanted if it is free, or else an id made from the number of the
// call, so that the same answer gets the same ids.
func (s *IDs) Next(wanted string) string {
	id := Valid(wanted)
	taken, n := s.known(id)
	for ; id == "" || taken; n++ {
		id = fmt.Sprintf("call_%d", n)
		taken, _ = s.known(id)
	}
	s.given = append(s.given, id)
	return id
}
