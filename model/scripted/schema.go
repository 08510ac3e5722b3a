package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkStrictSchema looks for what strict mode demands of every object in a
// schema: it is closed, and all of its properties are required.
func checkStrictSchema(raw json.RawMessage) error {
	if raw == nil {
		return errors.New("it has no schema")
	}
	return checkStrictPart(raw, nil)
}

func checkStrictPart(raw json.RawMessage, path []string) error {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		for i, part := range list {
			if err := checkStrictPart(part, append(path, fmt.Sprint(i))); err != nil {
				return err
			}
		}
		return nil
	}
	var part map[string]json.RawMessage
	if json.Unmarshal(raw, &part) != nil {
		return nil // a word or a number
	}
	if err := checkStrictObject(part, path); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(part)) {
		if name == "enum" || name == "const" || name == "default" {
			continue
		}
		if err := checkStrictPart(part[name], append(path, name)); err != nil {
			return err
		}
	}
	return nil
}

// checkStrictObject looks at one schema, if it is one of an object.
func checkStrictObject(part map[string]json.RawMessage, path []string) error {
	var properties map[string]json.RawMessage
	_ = json.Unmarshal(part["properties"], &properties)
	if string(part["type"]) != `"object"` {
		return nil
	}
	where := "(" + strings.Join(path, ", ") + ")"
	if string(part["additionalProperties"]) != "false" {
		return wrong("In context=%s, 'additionalProperties' is required to be supplied and to be false.", where)
	}
	var required []string
	_ = json.Unmarshal(part["required"], &required)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !slices.Contains(required, name) {
			return wrong(
				"In context=%s, 'required' is required to be supplied and to be an array including every key in "+
					"properties. Missing '%s'.",
				where,
				name,
			)
		}
	}
	return nil
}

// keywords are the keywords of a schema, at any depth. The names of properties
// are none.
func keywords(raw json.RawMessage) []string {
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // a schema can be in a list, in an object, or neither
	var part map[string]json.RawMessage
	_ = json.Unmarshal(raw, &part)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(part)) {
		out = append(out, name)
		switch name {
		case "enum", "const", "default":
		case "properties", "$defs", "definitions", "patternProperties":
			var inner map[string]json.RawMessage
			_ = json.Unmarshal(part[name], &inner)
			list = slices.AppendSeq(list, maps.Values(inner))
		default:
			list = append(list, part[name])
		}
	}
	for _, inner := range list {
		out = append(out, keywords(inner)...)
	}
	return out
}
