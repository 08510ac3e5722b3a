package arguments

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// explainer says what is wrong with arguments, one line for each field. The
// library decides whether they fit, but it stops at the first thing that does
// not, and a model that reads all of them at once needs one call to correct
// them. What this does not know (uniqueItems, if, not, …) it does not judge.
type explainer struct {
	rules rules
	lines []string
}

// explain lists what is wrong with a value that the judge refused.
func explain(r rules, v any, refused error) []string {
	e := explainer{rules: r}
	e.value(r.root, v, "")
	if len(e.lines) == 0 {
		return plainly(refused)
	}
	slices.Sort(e.lines)
	return slices.Compact(e.lines)
}

// plainly is the library's error without the way to where it was found.
func plainly(err error) []string {
	last := err
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(next) {
		last, err = err, next
	}
	lines := strings.Split(last.Error(), "\n")
	if len(lines) > 1 {
		lines = lines[1:] // the alternatives, after a list of them without names
	}
	for i, line := range lines {
		lines[i] = "- " + shortly(
			strings.TrimPrefix(strings.TrimPrefix(line, "validating "), "root: "),
			200,
		) // it may hold all of a value
	}
	return lines
}

func (e *explainer) add(at, format string, a ...any) {
	if at == "" {
		at = "the arguments"
	}
	e.lines = append(e.lines, fmt.Sprintf("- %s: ", at)+fmt.Sprintf(format, a...))
}

// value compares v, found at a place, with a schema.
func (e *explainer) value(schema, v any, at string) {
	s, ok := schema.(map[string]any)
	if !ok {
		if schema == false {
			e.add(at, "nothing is allowed here, got %s", describe(v))
		}
		return
	}
	if t, ok := s["type"]; ok && !typed(t, v) {
		e.add(at, "expected %s, got %s", oneOf(t), describe(v))
		return
	}
	e.listed(s, v, at)
	for _, part := range e.rules.schemas(s) {
		e.value(part, v, at)
	}
	for _, choice := range choices(s) {
		e.choice(choice, v, at)
	}
	switch v := v.(type) {
	case json.Number:
		e.number(s, v, at)
	case string:
		e.text(s, v, at)
	case []any:
		e.array(s, v, at)
	case map[string]any:
		e.object(s, v, at)
	}
}

// listed checks the values that are the only ones.
func (e *explainer) listed(s map[string]any, v any, at string) {
	equal := func(want any) bool { return jsonschema.Equal(floats(want), floats(v)) }
	if values, ok := s["enum"].([]any); ok && !slices.ContainsFunc(values, equal) {
		e.add(at, "expected one of %v, got %s", values, describe(v))
	}
	if want, ok := s["const"]; ok && !equal(want) {
		e.add(at, "expected %s, got %s", describe(want), describe(v))
	}
}

// typed reports whether v is of the type with this name, or one of these.
func typed(t, v any) bool {
	if names, ok := t.([]any); ok {
		return slices.ContainsFunc(names, func(name any) bool { return typed(name, v) })
	}
	if namedKinds(t)&kindOf(v) == 0 {
		return false
	}
	n, _ := floats(v).(float64)
	return t != "integer" || n == math.Trunc(n)
}

func oneOf(t any) string {
	names, ok := t.([]any)
	if !ok {
		return fmt.Sprint(t)
	}
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = fmt.Sprint(name)
	}
	return strings.Join(texts, " or ")
}

// choice looks at the alternatives that take the type of v. If one of them has
// nothing against v, there is nothing to say here.
func (e *explainer) choice(list []any, v any, at string) {
	var want kinds
	inner := explainer{rules: e.rules}
	for _, c := range list {
		takes := e.rules.kinds(c)
		want |= takes
		if takes&kindOf(v) == 0 {
			continue
		}
		before := len(inner.lines)
		if inner.value(c, v, at); len(inner.lines) == before {
			return
		}
	}
	if want&kindOf(v) == 0 {
		e.add(at, "expected %s, got %s", want, describe(v))
	}
	e.lines = append(e.lines, inner.lines...)
}

// limit checks one bound of a schema; beyond says whether v exceeds it.
func (e *explainer) limit(s map[string]any, key string, beyond func(bound float64) bool, at, format string, v any) {
	bound, ok := s[key].(json.Number)
	if !ok {
		return
	}
	if f, _ := floats(bound).(float64); beyond(f) {
		e.add(at, format+", got %s", bound, describe(v))
	}
}

func (e *explainer) number(s map[string]any, v json.Number, at string) {
	n, _ := floats(v).(float64)
	e.limit(s, "minimum", func(b float64) bool { return n < b }, at, "expected at least %s", v)
	e.limit(s, "maximum", func(b float64) bool { return n > b }, at, "expected at most %s", v)
	e.limit(s, "exclusiveMinimum", func(b float64) bool { return n <= b }, at, "expected more than %s", v)
	e.limit(s, "exclusiveMaximum", func(b float64) bool { return n >= b }, at, "expected less than %s", v)
}

func (e *explainer) text(s map[string]any, v, at string) {
	n := float64(utf8.RuneCountInString(v))
	e.limit(s, "minLength", func(b float64) bool { return n < b }, at, "expected a length of at least %s", v)
	e.limit(s, "maxLength", func(b float64) bool { return n > b }, at, "expected a length of at most %s", v)
	if pattern, ok := s["pattern"].(string); ok && !matches(pattern, v) {
		e.add(at, "expected a match for %q, got %s", pattern, describe(v))
	}
}

func (e *explainer) array(s map[string]any, v []any, at string) {
	n := float64(len(v))
	e.limit(s, "minItems", func(b float64) bool { return n < b }, at, "expected at least %s items", v)
	e.limit(s, "maxItems", func(b float64) bool { return n > b }, at, "expected at most %s items", v)
	for i := range v {
		e.value(item([]map[string]any{s}, i), v[i], fieldPath(at, strconv.Itoa(i)))
	}
}

func (e *explainer) object(s, v map[string]any, at string) {
	required, _ := s["required"].([]any)
	var missing, unknown []string
	for _, r := range required {
		if name, _ := r.(string); !has(v, name) {
			missing = append(missing, name)
		}
	}
	rest, bounded := s["additionalProperties"]
	for _, key := range slices.Sorted(maps.Keys(v)) {
		schemas := fieldSchemas(s, key)
		switch {
		case len(schemas) == 0 && rest == false:
			unknown = append(unknown, key)
		case len(schemas) == 0 && bounded:
			schemas = []any{rest}
		}
		for _, schema := range schemas {
			e.value(schema, v[key], fieldPath(at, key))
		}
	}
	if len(missing) > 0 {
		e.add(at, "missing %s", quoteAll(missing))
	}
	if len(unknown) > 0 {
		e.add(at, "unknown field %s", quoteAll(unknown))
	}
}

// fieldSchemas are those that a schema has for a field by its name.
func fieldSchemas(s map[string]any, key string) []any {
	var out []any
	props, _ := s["properties"].(map[string]any)
	if schema, ok := props[key]; ok {
		out = append(out, schema)
	}
	patterns, _ := s["patternProperties"].(map[string]any)
	for pattern, schema := range patterns {
		if matches(pattern, key) {
			out = append(out, schema)
		}
	}
	return out
}

// matches compares as the library does. It has compiled the pattern before.
func matches(pattern, text string) bool {
	re, err := regexp.Compile(pattern)
	return err != nil || re.MatchString(text)
}

func has(v map[string]any, name string) bool {
	_, ok := v[name]
	return ok
}

func quoteAll(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(out, ", ")
}
