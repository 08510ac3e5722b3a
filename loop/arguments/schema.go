package arguments

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plan-engine/plan"
)

// compileSchema makes the validator of a tool's arguments. The library takes some
// schemas that it cannot judge by, and goes round in a reference to itself for
// ever; soundness finds those first.
//
// The library is google/jsonschema-go, whose package variables take 0.2 ms when
// a process starts. The one that reports all errors by itself
// (santhosh-tekuri/jsonschema) compiles every draft in an init, 5 ms in each
// process that links it, so that translating and explaining are done here.
func compileSchema(r rules) (*jsonschema.Resolved, error) {
	check := soundness{
		rules: r,
		lists: r.draft == draft07,
		state: map[uintptr]visit{},
	}
	if err := check.schema(r.root); err != nil {
		return nil, err
	}
	data, err := plan.MarshalCompact(r.root)
	if err != nil {
		return nil, fmt.Errorf("write it: %w", err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	s.Schema = r.draft
	validator, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("resolve it: %w", err)
	}
	return validator, nil
}

// soundness looks for what the library takes without a word.
type soundness struct {
	rules rules
	lists bool // the draft has lists of items
	state map[uintptr]visit
}

type visit int

const (
	entered visit = iota + 1
	left
)

// schema checks a schema and all in it.
func (c *soundness) schema(schema any) error {
	switch s := schema.(type) {
	case bool:
		return nil
	case map[string]any:
		return c.checkAll(s, true)
	}
	return fmt.Errorf("%s is no schema", describe(schema))
}

// checkAll checks all that may be a schema in v. In a value, as a default is one,
// a keyword is no keyword.
func (c *soundness) checkAll(v any, keywords bool) error {
	switch v := v.(type) {
	case map[string]any:
		if keywords {
			if err := c.checkKeywords(v); err != nil {
				return err
			}
		}
		if err := c.findLoop(v); err != nil {
			return err
		}
		for key, part := range v {
			if err := c.checkPart(key, part, keywords); err != nil {
				return err
			}
		}
	case []any:
		for _, part := range v {
			if err := c.checkAll(part, keywords); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPart checks what a schema has under a keyword. Where that goes by names of
// fields, a name is no keyword either: a field may be called type, or default.
func (c *soundness) checkPart(keyword string, part any, keywords bool) error {
	named, ok := part.(map[string]any)
	if !ok || !keywords || !holdsNames(keyword) {
		return c.checkAll(part, keywords && !holdsValue(keyword))
	}
	for _, schema := range named {
		if err := c.checkAll(schema, true); err != nil {
			return err
		}
	}
	return nil
}

func holdsNames(keyword string) bool {
	switch keyword {
	case "properties",
		"patternProperties",
		"$defs",
		"definitions",
		"dependentSchemas",
		"dependentRequired",
		"dependencies":
		return true
	}
	return false
}

func holdsValue(keyword string) bool {
	switch keyword {
	case "default", "const", "enum", "examples":
		return true
	}
	return strings.HasPrefix(keyword, "x-")
}

// checkKeywords checks the keywords of one schema.
func (c *soundness) checkKeywords(s map[string]any) error {
	switch t := s["type"].(type) {
	case string:
		if namedKinds(t) == isAny {
			return fmt.Errorf("there is no type %q", t)
		}
	case []any:
		unknown := func(name any) bool { return namedKinds(name) == isAny }
		if len(t) == 0 || slices.ContainsFunc(t, unknown) {
			return fmt.Errorf("its types %s are not all types", describe(t))
		}
	}
	if _, ok := s["items"].([]any); ok && !c.lists {
		return fmt.Errorf("items is a list; since draft 2020-12 that is called prefixItems")
	}
	return nil
}

// findLoop finds a schema that must hold for the same value as itself, by way of
// what it is combined from. Judging by it would never end.
func (c *soundness) findLoop(schema any) error {
	s, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	id := reflect.ValueOf(s).Pointer()
	switch c.state[id] {
	case left:
		return nil
	case entered:
		return fmt.Errorf("it refers to itself without end")
	}
	c.state[id] = entered
	parts := c.rules.schemas(s)
	for _, choice := range choices(s) {
		parts = append(parts, choice...)
	}
	for _, key := range []string{"not", "if", "then", "else"} {
		parts = append(parts, s[key])
	}
	for _, key := range []string{"dependentSchemas", "dependencies"} {
		some, _ := s[key].(map[string]any)
		for _, part := range some {
			parts = append(parts, part)
		}
	}
	for _, part := range parts {
		if err := c.findLoop(part); err != nil {
			return err
		}
	}
	c.state[id] = left
	return nil
}

// floats is v with its numbers as the library reads those of a schema; it takes
// a json.Number for a string. One that is too large for a float64 stays larger
// than any bound.
func floats(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, _ := v.Float64()
		return max(-math.MaxFloat64, min(f, math.MaxFloat64))
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = floats(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = floats(v[k])
		}
		return out
	}
	return v
}
