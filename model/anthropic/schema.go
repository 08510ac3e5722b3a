package anthropic

import (
	"encoding/json"

	"github.com/plan-engine/plan"
)

// choices are the keywords that the wire does not take at the top of a tool's
// schema.
var choices = []string{"oneOf", "anyOf", "allOf"}

// inputSchema is a schema as the wire takes it for a tool's input: that of an
// object, without a choice between several at its top. One that is taken as it is
// stays as it is. What is left out is said by the tool's description, and checked
// when the tool is called.
func inputSchema(schema json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if len(schema) > 0 && json.Unmarshal(schema, &fields) != nil {
		return schema // no object, which the caller reports or the server refuses
	}
	fits := string(fields["type"]) == `"object"`
	for _, name := range choices {
		if _, ok := fields[name]; ok {
			fits = false
		}
	}
	if fits {
		return schema
	}
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	for _, name := range choices {
		delete(fields, name)
	}
	fields["type"] = json.RawMessage(`"object"`)
	out, err := plan.MarshalCompact(fields)
	if err != nil {
		return schema
	}
	return out
}
