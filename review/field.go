package review

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// object is a JSON object that remembers every value a key was given.
type object map[string]field

// field is the values of one key in order, without repetitions.
type field []json.RawMessage

// effective is the value that counts where a contradiction does no harm; nil for a
// key that is absent.
func (f field) effective() json.RawMessage {
	if len(f) == 0 {
		return nil
	}
	return f[len(f)-1]
}

// decodeObject reads data, which must be one JSON object and nothing else.
func decodeObject(data []byte) (object, error) {
	if !json.Valid(data) {
		return nil, syntaxError(data)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, errors.New("it is not a JSON object")
	}
	obj := object{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("read a key: %w", err)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, fmt.Errorf("read the value of %v: %w", key, err)
		}
		name, _ := key.(string)
		if f := obj[name]; !slices.ContainsFunc(f, func(r json.RawMessage) bool { return bytes.Equal(r, raw) }) {
			obj[name] = append(f, raw)
		}
	}
	return obj, nil
}

// syntaxError says in the decoder's words what is wrong with data.
func syntaxError(data []byte) error {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("%w", err)
	}
	return errors.New("it cannot be read")
}

// readField reads a part of the verdict that may be absent, one string, one
// object or a list of either. The result is never nil. from makes an entry of
// one element and reports whether there is anything in it.
func readField[T any](obj object, key string, from func(element) (T, bool, error)) ([]T, error) {
	out := []T{}
	elements, err := elementsOf(obj[key].effective())
	if err != nil {
		return out, refuse("%q %v", key, err)
	}
	for i, el := range elements {
		entry, ok, err := from(el)
		if err != nil {
			return []T{}, refuse("entry %d of %q %v", i+1, key, err).at(el.source())
		}
		if ok {
			out = append(out, entry)
		}
	}
	if len(obj[key]) > 1 {
		return out, refuse("%q is given twice with different values", key)
	}
	return out, nil
}

// element is one entry of a list: a line of text, or an object.
type element struct {
	text string
	obj  object
	raw  json.RawMessage
}

// source is the element as it stands in the answer.
func (e element) source() string {
	if e.obj == nil {
		return e.text
	}
	return string(e.raw)
}

func elementsOf(raw json.RawMessage) ([]element, error) {
	switch kindOfJSON(raw) {
	case 0, 'n', 'f':
		return nil, nil
	case '"':
		text, _ := stringOf(raw)
		var out []element
		for _, item := range splitItems(text) {
			out = append(out, element{text: item})
		}
		return out, nil
	case '{':
		obj, err := decodeObject(raw)
		return []element{{obj: obj, raw: raw}}, err
	case '[':
		return listOf(raw)
	}
	return nil, errors.New("must be a list or a string")
}

func listOf(raw json.RawMessage) ([]element, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	var out []element
	for i, raw := range list {
		switch kindOfJSON(raw) {
		case 'n':
		case '"':
			text, _ := stringOf(raw)
			out = append(out, element{text: stripBullet(text)})
		case '{':
			obj, err := decodeObject(raw)
			if err != nil {
				return nil, fmt.Errorf("cannot be read at entry %d: %w", i+1, err)
			}
			out = append(out, element{obj: obj, raw: raw})
		default:
			return nil, fmt.Errorf("must hold objects or strings, and entry %d is neither", i+1)
		}
	}
	return out, nil
}

// kindOfJSON is the first byte of a JSON value, 0 for none.
func kindOfJSON(raw json.RawMessage) byte {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return 0
	}
	return raw[0]
}

func isList(raw json.RawMessage) bool {
	k := kindOfJSON(raw)
	return k == '[' || k == '{'
}

// hasContent reports whether a value says something that may speak against a DONE.
// Words for nothing, zero, and lists and objects of nothing else do not.
func hasContent(raw json.RawMessage) bool {
	var value any
	return len(raw) > 0 && json.Unmarshal(raw, &value) == nil && contentOf(value)
}

func contentOf(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case string:
		return !namesNoGap(v)
	case float64:
		return v != 0
	case []any:
		return slices.ContainsFunc(v, contentOf)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), contentOf)
	}
	return true
}

func stringOf(raw json.RawMessage) (string, bool) {
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil || s == nil {
		return "", false
	}
	return *s, true
}

// stringField reads a string property; an absent or null one is "".
func (o object) stringField(key string) (string, error) {
	f := o[key]
	if len(f) > 1 {
		return "", fmt.Errorf("gives %q twice with different values", key)
	}
	if k := kindOfJSON(f.effective()); k == 0 || k == 'n' {
		return "", nil
	}
	s, ok := stringOf(f.effective())
	if !ok {
		return "", fmt.Errorf("has a %q that is not a string", key)
	}
	return strings.TrimSpace(s), nil
}

// stringFields reads several string properties at once.
func (o object) stringFields(keys ...string) ([]string, error) {
	out := make([]string, len(keys))
	for i, key := range keys {
		var err error
		if out[i], err = o.stringField(key); err != nil {
			return nil, err
		}
	}
	return out, nil
}
