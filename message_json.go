package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// plainBlock and plainMessage are their types without the methods, which is
// what encoding/json knows how to write.
type (
	plainBlock   Block
	plainMessage Message
)

// messageEndOwn are the fields of a message_end event that are not the
// message's.
type messageEndOwn struct {
	Stop      string `json:"stop,omitempty"`
	Finish    string `json:"finish,omitempty"`
	Model     string `json:"model,omitempty"`
	Discarded bool   `json:"discarded,omitempty"`
}

var (
	blockFields = []string{
		"type",
		"text",
		"call",
		"name",
		"args",
		"error",
		"blob",
		"mime",
		"data",
		"kind",
		"opaque",
	}
	messageFields = []string{"role", "blocks", "origin", "kind", "data"}
	endFields     = append([]string{"stop", "finish", "model", "discarded"}, messageFields...)
)

// MarshalJSON writes the block with the fields that were read and not known.
func (b Block) MarshalJSON() ([]byte, error) { return joinFields(plainBlock(b), b.Extra) }

// UnmarshalJSON reads a block. Fields that it does not know go into Extra.
func (b *Block) UnmarshalJSON(data []byte) error {
	var p plainBlock
	extra, err := splitFields(data, &p, blockFields)
	if err != nil {
		return err
	}
	p.Extra = extra
	*b = Block(p)
	return nil
}

// MarshalJSON writes the message with the fields that were read and not known.
func (m Message) MarshalJSON() ([]byte, error) {
	if flat, ok := m.flat(); ok {
		return joinFields(flat, m.Extra)
	}
	return joinFields(plainMessage(m), m.Extra)
}

// flatMessage is a message whose blocks have no fields that are not known, which
// is nearly every one: encoding/json writes it in one go, instead of each block
// by itself and then all of them once more.
type flatMessage struct {
	Role   Role            `json:"role"`
	Blocks []plainBlock    `json:"blocks"`
	Origin string          `json:"origin,omitempty"`
	Kind   string          `json:"kind,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
}

func (m Message) flat() (out flatMessage, ok bool) {
	out = flatMessage{
		Role:   m.Role,
		Origin: m.Origin,
		Kind:   m.Kind,
		Data:   m.Data,
	}
	if m.Blocks != nil {
		out.Blocks = make([]plainBlock, len(m.Blocks))
	}
	for i, b := range m.Blocks {
		if len(b.Extra) > 0 {
			return flatMessage{}, false
		}
		out.Blocks[i] = plainBlock(b)
	}
	return out, true
}

// UnmarshalJSON reads a message. Fields that it does not know go into Extra.
func (m *Message) UnmarshalJSON(data []byte) error {
	var p plainMessage
	extra, err := splitFields(data, &p, messageFields)
	if err != nil {
		return err
	}
	p.Extra = extra
	*m = Message(p)
	return nil
}

// messageEndJSON is a message_end event as one object.
type messageEndJSON struct {
	plainMessage
	messageEndOwn
}

// MarshalJSON writes the event as one object, the message's fields first.
func (e MessageEnd) MarshalJSON() ([]byte, error) {
	own := messageEndOwn{
		Stop:      e.Stop,
		Finish:    e.Finish,
		Model:     e.Model,
		Discarded: e.Discarded,
	}
	if flat, ok := e.flat(); ok {
		return joinFields(struct {
			flatMessage
			messageEndOwn
		}{flat, own}, e.Extra)
	}
	return joinFields(messageEndJSON{plainMessage(e.Message), own}, e.Extra)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (e *MessageEnd) UnmarshalJSON(data []byte) error {
	var p messageEndJSON
	extra, err := splitFields(data, &p, endFields)
	if err != nil {
		return err
	}
	p.Extra = extra
	*e = MessageEnd{
		Message:   Message(p.plainMessage),
		Stop:      p.Stop,
		Finish:    p.Finish,
		Model:     p.Model,
		Discarded: p.Discarded,
	}
	return nil
}

// splitFields decodes an object, and returns the fields that are not known.
func splitFields(data []byte, into any, known []string) (map[string]json.RawMessage, error) {
	if err := json.Unmarshal(data, into); err != nil {
		return nil, err //nolint:wrapcheck // it says where, and the caller says what
	}
	if hasOnly(data, known) { // nearly all do
		return nil, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err //nolint:wrapcheck // as above
	}
	// encoding/json takes a field under any spelling of its name.
	maps.DeleteFunc(fields, func(name string, _ json.RawMessage) bool {
		return slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) })
	})
	if len(fields) == 0 {
		return nil, nil
	}
	for name, raw := range fields { // one form for one value, so that equal messages have equal bytes
		var buf bytes.Buffer
		if err := json.Compact(&buf, raw); err != nil {
			return nil, fmt.Errorf("field %s: %w", name, err)
		}
		fields[name] = buf.Bytes()
	}
	return fields, nil
}

// hasOnly reports whether an object, which is valid JSON, has no fields but
// those that are known, spelled as they are there. It looks at each byte once and
// allocates nothing, where journals are long.
func hasOnly(data []byte, known []string) bool {
	depth, name := 0, false
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			depth++
			name = depth == 1
		case '}', ']':
			depth--
		case ',':
			name = depth == 1
		case '"':
			from := i + 1
			for i = from; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			if name && !slices.Contains(known, string(data[from:i])) {
				return false
			}
			name = false
		}
	}
	return true
}

// joinFields encodes an object and adds fields to its end, sorted by name.
func joinFields(object any, extra map[string]json.RawMessage) ([]byte, error) {
	data, err := MarshalCompact(object)
	if err != nil || len(extra) == 0 {
		return data, err
	}
	more, err := MarshalCompact(extra)
	if err != nil {
		return nil, err
	}
	return append(append(data[:len(data)-1], ','), more[1:]...), nil
}
