package arguments

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// kinds is a set of JSON types.
type kinds uint8

const (
	isNull kinds = 1 << iota
	isBool
	isNumber
	isString
	isArray
	isObject
	isAny = isNull | isBool | isNumber | isString | isArray | isObject
)

// schemaDepth bounds how many references and alternatives are followed from
// one place in a schema, because they may lead back to it.
const schemaDepth = 8

// rules is a JSON schema, read for what it says about shapes. Validation is
// not its business: what it does not understand, it takes for anything.
type rules struct {
	root  any
	draft string // draft07 or draft2020
}

func readSchema(schema json.RawMessage) (rules, error) {
	root, err := Decode(string(schema))
	if err != nil {
		return rules{}, err
	}
	root, draft, err := translate(root)
	return rules{root: root, draft: draft}, err
}

// Decode reads one JSON value and keeps its numbers as they are written.
func Decode(text string) (any, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	if strings.TrimSpace(text[dec.InputOffset():]) != "" {
		return nil, fmt.Errorf("read JSON: there is more than one value")
	}
	return v, nil
}

// IsObject reports whether arguments are one JSON object.
func IsObject(args json.RawMessage) bool {
	v, err := Decode(string(args))
	return err == nil && kindOf(v) == isObject
}

// TextFields tells which fields of an object take text, by the object's schema.
// A schema that cannot be read says that every field does.
func TextFields(schema json.RawMessage) func(field string) bool {
	r, err := readSchema(schema)
	if err != nil {
		r = rules{}
	}
	facets := r.facets(r.root, isObject)
	return func(field string) bool { return r.kinds(property(facets, field))&isString != 0 }
}

func kindOf(v any) kinds {
	switch v.(type) {
	case nil:
		return isNull
	case bool:
		return isBool
	case string:
		return isString
	case []any:
		return isArray
	case map[string]any:
		return isObject
	}
	return isNumber
}

// String lists the types by the names that a schema has for them.
func (k kinds) String() string {
	var names []string
	for i, name := range []string{"null", "boolean", "number", "string", "array", "object"} {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// kinds says which types a schema takes.
func (r rules) kinds(schema any) kinds { return r.kindsAt(schema, schemaDepth) }

func (r rules) kindsAt(schema any, depth int) kinds {
	if schema == false {
		return 0
	}
	s, ok := schema.(map[string]any)
	if !ok || depth == 0 {
		return isAny
	}
	out := isAny
	if t, ok := s["type"]; ok {
		out &= namedKinds(t)
	}
	if c, ok := s["const"]; ok {
		out &= kindOf(c)
	}
	if values, ok := s["enum"].([]any); ok {
		var any kinds
		for _, v := range values {
			any |= kindOf(v)
		}
		out &= any
	}
	for _, part := range r.schemas(s) {
		out &= r.kindsAt(part, depth-1)
	}
	for _, choice := range choices(s) {
		var any kinds
		for _, c := range choice {
			any |= r.kindsAt(c, depth-1)
		}
		out &= any
	}
	return out
}

func namedKinds(t any) kinds {
	names, ok := t.([]any)
	if !ok {
		names = []any{t}
	}
	var out kinds
	for _, name := range names {
		switch name {
		case "null":
			out |= isNull
		case "boolean":
			out |= isBool
		case "number", "integer":
			out |= isNumber
		case "string":
			out |= isString
		case "array":
			out |= isArray
		case "object":
			out |= isObject
		default:
			out |= isAny
		}
	}
	return out
}

// schemas lists what a value must fit besides s itself.
func (r rules) schemas(s map[string]any) []any {
	parts, _ := s["allOf"].([]any)
	if ref, ok := s["$ref"].(string); ok {
		parts = append(parts[:len(parts):len(parts)], r.resolve(ref))
	}
	return parts
}

// choices lists the sets of alternatives of s.
func choices(s map[string]any) [][]any {
	var out [][]any
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := s[key].([]any); ok {
			out = append(out, list)
		}
	}
	return out
}

// resolve follows a reference within the document; nil if there is nothing.
func (r rules) resolve(ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := r.root
	for _, key := range strings.Split(path, "/")[1:] {
		if plain, err := url.PathUnescape(key); err == nil {
			key = plain
		}
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		switch v := at.(type) {
		case map[string]any:
			at = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	return at
}

// facets lists the schemas that speak of a value of this type: the schema
// itself, all that it is combined from, and of alternatives the one that takes
// the type, if there is only one.
func (r rules) facets(schema any, k kinds) []map[string]any {
	return r.facetsAt(schema, k, schemaDepth)
}

func (r rules) facetsAt(schema any, k kinds, depth int) []map[string]any {
	s, ok := schema.(map[string]any)
	if !ok || depth == 0 {
		return nil
	}
	out := []map[string]any{s}
	for _, part := range r.schemas(s) {
		out = append(out, r.facetsAt(part, k, depth-1)...)
	}
	for _, choice := range choices(s) {
		var fit []any
		for _, c := range choice {
			if r.kindsAt(c, depth-1)&k != 0 {
				fit = append(fit, c)
			}
		}
		if len(fit) == 1 {
			out = append(out, r.facetsAt(fit[0], k, depth-1)...)
		}
	}
	return out
}

// property is the schema of an object's field; nil takes anything.
func property(facets []map[string]any, key string) any {
	for _, f := range facets {
		if props, ok := f["properties"].(map[string]any); ok {
			if s, ok := props[key]; ok {
				return s
			}
		}
	}
	for _, f := range facets {
		if _, ok := f["patternProperties"]; ok {
			return nil
		}
	}
	for _, f := range facets {
		if s, ok := f["additionalProperties"]; ok {
			return s
		}
	}
	return nil
}

// item is the schema of an array's i-th element; nil takes anything.
func item(facets []map[string]any, i int) any {
	for _, f := range facets {
		for _, key := range []string{"prefixItems", "items"} {
			list, ok := f[key].([]any)
			if ok && i < len(list) {
				return list[i]
			}
		}
		if s, ok := f["items"]; ok && kindOf(s) != isArray {
			return s
		}
	}
	return nil
}
