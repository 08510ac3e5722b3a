package wire

import (
	"encoding/json"

	"github.com/plan-engine/plan"
)

// sealed is what stands in [plan.Block.Opaque]: data of a server, marked with who
// may see it.
type sealed struct {
	Wire     string                     `json:"wire"`
	Provider string                     `json:"provider"`
	Fields   map[string]json.RawMessage `json:"fields"`
}

// Seal marks what a server said beside the words with the wire and the provider
// that it may go back to. No fields make no mark.
func Seal(wire, provider string, fields map[string]json.RawMessage) json.RawMessage {
	if len(fields) == 0 {
		return nil
	}
	data, err := plan.MarshalCompact(sealed{
		Wire:     wire,
		Provider: provider,
		Fields:   fields,
	})
	if err != nil {
		return nil // a field is not JSON, so it cannot go back
	}
	return data
}

// Open returns what was sealed for this wire and provider; nothing of what is
// another's.
func Open(opaque json.RawMessage, wire, provider string) map[string]json.RawMessage {
	if len(opaque) == 0 {
		return nil
	}
	var s sealed
	if json.Unmarshal(opaque, &s) != nil || s.Wire != wire || s.Provider != provider {
		return nil
	}
	return s.Fields
}

// Sealed reports whether opaque data is marked at all. What runs of earlier
// versions hold is not: it came from Chat Completions, and goes back there.
func Sealed(opaque json.RawMessage) bool {
	var s sealed
	return len(opaque) > 0 && json.Unmarshal(opaque, &s) == nil && s.Wire != ""
}
