package arguments

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// mender repairs one set of arguments.
type mender struct {
	rules rules
	// safe says that a wrong guess costs nothing but a wrong answer.
	safe  bool
	notes []Note
	// twice is a field that stands more than once in JSON that stood in a string.
	twice string
}

func (m *mender) note(kind, format string, a ...any) {
	m.notes = append(m.notes, Note{kind, fmt.Sprintf(format, a...)})
}

// value repairs v, found at a place, so that it fits schema. It changes v.
func (m *mender) value(schema, v any, at string, path bool) any {
	v = m.shape(schema, v, at)
	k := kindOf(v)
	if m.rules.kinds(schema)&k == 0 {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		m.object(m.rules.facets(schema, k), v, at)
	case []any:
		facets := m.rules.facets(schema, k)
		for i := range v {
			v[i] = m.value(item(facets, i), v[i], fmt.Sprintf("%s[%d]", at, i), path)
		}
	case json.Number:
		if plain, ok := inDigits(v); ok && slices.ContainsFunc(m.rules.facets(schema, k), wantsWhole) {
			m.note(mendWhole, "%s was %s and is now %s", place(at), v, plain)
			return plain
		}
	case string:
		if plain, ok := unwrapLink(v); path && ok {
			m.note(mendLink, "%s was the link %s and is now %s", at, describe(v), describe(plain))
			return plain
		}
	}
	return v
}

// shape turns v into the type that schema wants, where v says the same in
// another type.
func (m *mender) shape(schema, v any, at string) any {
	want := m.rules.kinds(schema)
	if want&kindOf(v) != 0 {
		return v
	}
	switch v := v.(type) {
	case string:
		if parsed, kind, ok := unquote(v, want); ok {
			if m.twice == "" {
				m.twice = repeated(v)
			}
			m.note(kind, "%s was JSON inside a string and is now the value itself", place(at))
			return parsed
		}
		if parsed, kind, ok := scalar(v, want); ok {
			m.note(kind, "%s was %s and is now %s", place(at), describe(v), describe(parsed))
			return parsed
		}
		if want&isArray == 0 {
			return v
		}
		warning := ""
		if severalOrCut(v) {
			if !m.safe {
				return v
			}
			warning = "; it looks like several items or like a broken list, so check that one item was meant"
		}
		m.note(mendWrap, "%s was %s and is now a list of that one item%s", place(at), describe(v), warning)
		return []any{v}
	case map[string]any:
		if len(v) == 0 && want&isArray != 0 {
			m.note(mendEmpty, "%s was {} and is now an empty list", place(at))
			return []any{}
		}
		return m.wrapped(v, want, at)
	case json.Number, bool:
		return m.wrapped(v, want, at)
	}
	return v
}

// wrapped makes a list of one thing where a list is wanted.
func (m *mender) wrapped(v any, want kinds, at string) any {
	if want&isArray == 0 {
		return v
	}
	m.note(mendItem, "%s was %s and is now a list of that one item", place(at), describe(v))
	return []any{v}
}

// scalar reads a string as the number, or as the true or false, that is wanted. A
// field that takes both takes what it says.
func scalar(text string, want kinds) (any, string, bool) {
	word := strings.Trim(text, Space)
	if lower := strings.ToLower(word); want&isBool != 0 && (lower == "true" || lower == "false") {
		return lower == "true", mendBool, true
	}
	if want&isNumber != 0 {
		if v, err := Decode(word); err == nil && kindOf(v) == isNumber {
			return v, mendNumber, true
		}
	}
	return nil, "", false
}

// unquote reads a string as the JSON array or object that is wanted.
func unquote(text string, want kinds) (any, string, bool) {
	v, err := Decode(text)
	if err != nil {
		return nil, "", false
	}
	switch kindOf(v) & want {
	case isArray:
		return v, mendArray, true
	case isObject:
		return v, mendObject, true
	}
	return nil, "", false
}

// wantsWhole reports whether a schema takes whole numbers only.
func wantsWhole(schema map[string]any) bool { return schema["type"] == "integer" }

// mostDigits is how long a whole number may be that is written out: all of them are
// exact as floating-point numbers.
const mostDigits = 15

// inDigits writes a whole number such as 10.0 or 1e1 as programs read one. It reports
// false for one that is written so, and for what is no whole number.
func inDigits(n json.Number) (json.Number, bool) {
	if !strings.ContainsAny(n.String(), ".eE") {
		return n, false
	}
	v, err := n.Float64()
	if plain := strconv.FormatFloat(v, 'f', -1, 64); err == nil && v == math.Trunc(v) && len(plain) <= mostDigits {
		return json.Number(plain), true
	}
	return n, false
}

// severalOrCut reports whether a string that stands for a list does not look
// like one item of it.
func severalOrCut(s string) bool {
	s = strings.TrimSpace(s)
	return s == "" || strings.ContainsAny(s[:1], `[{"`) || strings.ContainsAny(s[len(s)-1:], `]}"`) ||
		strings.ContainsAny(s, ",;\n")
}

// object repairs the fields of v. Null in a field that cannot be null means
// nothing and goes; if the field is needed, it is missed when the result is
// validated.
func (m *mender) object(facets []map[string]any, v map[string]any, at string) {
	for _, key := range slices.Sorted(maps.Keys(v)) {
		where, schema := fieldPath(at, key), property(facets, key)
		if v[key] == nil && m.rules.kinds(schema)&isNull == 0 {
			delete(v, key)
			m.note(mendNull, "%s was null and was left out", where)
			continue
		}
		v[key] = m.value(schema, v[key], where, m.pathLike(key, schema))
	}
	for _, f := range facets {
		m.pairs(f, v, at)
	}
}

// pairs fills in what fields need beside them. The schema says so in
// "x-hints": {"relational": [{"requires": [names], "defaults": {name: value}}]}:
// as soon as one of the names is there, the others get their defaults.
func (m *mender) pairs(schema, v map[string]any, at string) {
	hints, _ := schema["x-hints"].(map[string]any)
	groups, _ := hints["relational"].([]any)
	for _, g := range groups {
		group, _ := g.(map[string]any)
		names, _ := group["requires"].([]any)
		defaults, _ := group["defaults"].(map[string]any)
		var present, missing []string
		for _, n := range names {
			name, _ := n.(string)
			if _, ok := v[name]; ok {
				present = append(present, name)
			} else {
				missing = append(missing, name)
			}
		}
		if len(present) == 0 {
			continue
		}
		for _, name := range missing {
			if value, ok := defaults[name]; ok {
				v[name] = value
				m.note(
					mendPair,
					"%s was set to %s, because %s needs it",
					fieldPath(at, name),
					describe(value),
					strings.Join(present, " and "),
				)
			}
		}
	}
}

// pathLike reports whether a field holds a path. A schema can say so with
// "x-kind"; otherwise the last word of the name decides, so that file_path is
// one and file_text is not.
func (m *mender) pathLike(key string, schema any) bool {
	for _, f := range m.rules.facets(schema, isString|isArray) {
		if kind, ok := f["x-kind"].(string); ok {
			return strings.Contains(kind, "path") || strings.Contains(kind, "file")
		}
	}
	checkKeywords := strings.FieldsFunc(splitCamel(key), func(r rune) bool { return !unicode.IsLetter(r) })
	if len(checkKeywords) == 0 {
		return false
	}
	switch strings.TrimSuffix(strings.ToLower(checkKeywords[len(checkKeywords)-1]), "s") {
	case "path", "file", "filename", "filepath", "dir", "directory", "directorie", "folder", "cwd", "root":
		return true
	}
	return false
}

// splitCamel puts a space before each capital that follows a small letter.
func splitCamel(s string) string {
	var out strings.Builder
	small := false
	for _, r := range s {
		if small && unicode.IsUpper(r) {
			out.WriteByte(' ')
		}
		small = unicode.IsLower(r)
		out.WriteRune(r)
	}
	return out.String()
}

func fieldPath(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

func place(at string) string {
	if at == "" {
		return "the whole of the arguments"
	}
	return at
}
