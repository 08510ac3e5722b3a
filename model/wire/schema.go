package wire

import (
	"encoding/json"
	"slices"

	"github.com/plan-engine/plan"
)

// SchemaWords are words, in lower case, with which servers refuse keywords of a
// tool's JSON schema.
func SchemaWords() []string {
	return []string{
		"additionalproperties", "additional_properties", "minlength", "maxlength", "minitems", "maxitems", "anyof",
		"oneof", "schema keyword", "json schema keyword", "unsupported schema", "unsupported keyword",
		"function_declarations",
		"unknown name \"$schema\"", "exclusiveminimum", "exclusivemaximum", "patternproperties",
	}
}

// plainKeywords are what every server takes.
var plainKeywords = []string{"type", "description", "properties", "required", "items", "enum"}

// PlainSchema is a tool's schema with nothing in it but the keywords that every
// server takes. What is left out is still checked when a call is run.
func PlainSchema(schema json.RawMessage) json.RawMessage {
	var value any
	if json.Unmarshal(schema, &value) != nil {
		return schema
	}
	out, err := plan.MarshalCompact(plainSchema(value))
	if err != nil {
		return schema
	}
	return out
}

func plainSchema(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	out := map[string]any{}
	for key, v := range object {
		if !slices.Contains(plainKeywords, key) {
			continue
		}
		switch key {
		case "properties":
			named, _ := v.(map[string]any)
			plain := map[string]any{}
			for name, s := range named {
				plain[name] = plainSchema(s)
			}
			out[key] = plain
		case "items":
			out[key] = plainSchema(v)
		case "type":
			out[key] = oneType(v)
		default:
			out[key] = v
		}
	}
	return out
}

// oneType is the first type of a list that is not null.
func oneType(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	for _, t := range list {
		if t != "null" {
			return t
		}
	}
	return "string"
}
