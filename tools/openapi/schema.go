package openapi

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plan-engine/plan"
)

// Bounds of a schema.
const (
	schemaBytes = 12 << 10
	deepest     = 6
)

// expansion writes the schemas of one operation, with what they refer to in its place.
type expansion struct {
	doc   *openapi3.T
	whole []struct {
		into map[string]any
		from *openapi3.SchemaRef
	}
}

// of writes a schema as deep as can be.
func (e *expansion) of(ref *openapi3.SchemaRef) map[string]any {
	out := e.write(ref, deepest, nil)
	e.whole = append(e.whole, struct {
		into map[string]any
		from *openapi3.SchemaRef
	}{out, ref})
	return out
}

// writeSchema writes the schema of all arguments, less deep where it would be too long.
func writeSchema(e *expansion, properties map[string]any, required []string) json.RawMessage {
	out := map[string]any{
		"type":       "object",
		"properties": properties,
	}
	if len(required) > 0 {
		out["required"] = required
	}
	var data json.RawMessage
	for depth := deepest - 1; ; depth-- {
		data, _ = plan.MarshalCompact(out) // maps of a JSON document
		if len(data) <= schemaBytes || depth < 0 {
			return data
		}
		for _, w := range e.whole {
			description := w.into["description"]
			clear(w.into)
			for key, value := range e.write(w.from, depth, nil) {
				w.into[key] = value
			}
			if _, there := w.into["description"]; !there && description != nil {
				w.into["description"] = description
			}
		}
	}
}

func (e *expansion) write(ref *openapi3.SchemaRef, depth int, within []string) map[string]any {
	if ref == nil || ref.Value == nil {
		return map[string]any{}
	}
	if ref.Ref != "" {
		if slices.Contains(within, ref.Ref) || depth < 0 {
			return map[string]any{}
		}
		within = append(slices.Clone(within), ref.Ref)
	}
	data, err := ref.Value.MarshalJSON()
	var out map[string]any
	if err != nil || json.Unmarshal(data, &out) != nil || out == nil {
		return map[string]any{}
	}
	return e.mend(out, depth, within)
}

// unneeded are the words of a schema that are of no use to who calls the operation, or that
// JSON Schema knows otherwise.
func unneeded() []string {
	return []string{
		"example", "examples", "xml", "externalDocs", "discriminator", "nullable", "deprecated", "readOnly",
		"writeOnly", "$schema", "$id", "$anchor",
	}
}

// mend makes one object of a schema what models' servers take.
func (e *expansion) mend(schema map[string]any, depth int, within []string) map[string]any {
	if name, ok := schema["$ref"].(string); ok {
		return e.refer(name, depth-1, within)
	}
	for _, word := range unneeded() {
		delete(schema, word)
	}
	for _, word := range []string{"exclusiveMinimum", "exclusiveMaximum"} {
		if _, ok := schema[word].(bool); ok {
			delete(schema, word)
		}
	}
	for key, value := range schema {
		if strings.HasPrefix(key, "x-") {
			delete(schema, key)
			continue
		}
		schema[key] = e.mendBelow(key, value, depth, within)
	}
	return schema
}

func (e *expansion) mendBelow(key string, value any, depth int, within []string) any {
	switch key {
	case "items", "not", "additionalProperties":
		if below, ok := value.(map[string]any); ok {
			return e.mend(below, depth, within)
		}
	case "allOf", "anyOf", "oneOf":
		list, _ := value.([]any)
		for i, alternative := range list {
			if below, ok := alternative.(map[string]any); ok {
				list[i] = e.mend(below, depth, within)
			}
		}
	case "properties":
		fields, _ := value.(map[string]any)
		for name, field := range fields {
			below, ok := field.(map[string]any)
			if ok && below["readOnly"] == true { // it stands in answers alone
				delete(fields, name)
			} else if ok {
				fields[name] = e.mend(below, depth, within)
			}
		}
	}
	return value
}

// refer writes what a reference within the document leads to.
func (e *expansion) refer(name string, depth int, within []string) map[string]any {
	short, ok := strings.CutPrefix(name, "#/components/schemas/")
	if !ok || e.doc.Components == nil {
		return map[string]any{}
	}
	to := e.doc.Components.Schemas[short]
	if to == nil {
		return map[string]any{}
	}
	return e.write(&openapi3.SchemaRef{Ref: name, Value: to.Value}, depth, within)
}
