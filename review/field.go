package review

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
)

// object is a JSON object that remembers every value a key was given.
type object map[string]field

// field is the values of one key in order, without repetitions.
type field []json.RawMessage

// last is the value that counts where a contradiction does no harm; nil for a
// key that is absent.
func (f field) last() json.RawMessage {
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
	elements, err := elementsOf(obj[key].last())
	if err != nil {
		return out, refuse("%q %v", key, err)
	}
	for i, el := range elements {
		entry, ok, err := from(el)
		if err != nil {
			return []T{}, refuse("entry %d of %q %v", i+1, key, err)
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

func elementsOf(raw json.RawMessage) ([]element, error) {
	switch kindOfJSON(raw) {
	case 0, 'n':
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

func stringOf(raw json.RawMessage) (string, bool) {
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil || s == nil {
		return "", false
	}
	return *s, true
}

// str reads a string property; an absent or null one is "".
func (o object) str(key string) (string, error) {
	f := o[key]
	if len(f) > 1 {
		return "", fmt.Errorf("gives %q twice with different values", key)
	}
	if k := kindOfJSON(f.last()); k == 0 || k == 'n' {
		return "", nil
	}
	s, ok := stringOf(f.last())
	if !ok {
		return "", fmt.Errorf("has a %q that is not a string", key)
	}
	return strings.TrimSpace(s), nil
}

// strs reads several string properties at once.
func (o object) strs(keys ...string) ([]string, error) {
	out := make([]string, len(keys))
	for i, key := range keys {
		var err error
		if out[i], err = o.str(key); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// checklistFrom reads requirements. One given in words counts as met when the
// reviewer says DONE, unless an open box or a cross marks it.
func checklistFrom(done bool) func(element) (plan.ListItem, bool, error) {
	return func(el element) (plan.ListItem, bool, error) {
		if el.obj == nil {
			text, met := boxed(el.text, done)
			return plan.ListItem{Item: text, Met: met}, text != "", nil
		}
		s, err := el.obj.strs("item", "evidence")
		if err != nil {
			return plan.ListItem{}, false, err
		}
		item := plan.ListItem{Item: s[0], Evidence: s[1]}
		if len(el.obj) == 0 {
			return item, false, nil
		}
		if item.Item == "" {
			return item, false, errors.New(`has no "item"`)
		}
		met := el.obj["met"]
		if len(met) > 1 {
			return item, false, errors.New(`gives "met" twice with different values`)
		}
		if len(met) == 0 || !slices.Contains([]string{"true", "false"}, string(met[0])) {
			return item, false, errors.New(`does not say whether it is "met" with true or false`)
		}
		item.Met = string(met[0]) == "true"
		return item, true, nil
	}
}

// The marks that reviewers put in front of a requirement. One that is neither
// clearly met nor clearly not is not met.
var (
	metMarks  = []string{"[x]", "[X]", "✅", "✓", "✔", "☑", "🗹"}
	openMarks = []string{"[ ]", "[]", "[-]", "[~]", "[?]", "❌", "✗", "✘", "✖", "☒", "☐", "⬜", "❎", "🚫", "⛔", "⚠", "❓"}
)

// boxed takes a check mark off the front of a text and says what it means.
func boxed(text string, met bool) (string, bool) {
	for i, marks := range [][]string{openMarks, metMarks} {
		for _, mark := range marks {
			if rest, ok := strings.CutPrefix(text, mark); ok {
				return strings.TrimSpace(strings.TrimPrefix(rest, "\ufe0f")), i == 1
			}
		}
	}
	return text, met
}

// leadingID is how a reviewer names a known gap in a line of text.
var leadingID = lazy.Regexp(`^(?:[\[(*]+([Gg][0-9]{1,9}):?[\])*]+\s*[:.–—-]?|([Gg][0-9]{1,9})(?:\s*[:.)]|\s+[–—-]|$))(?:\s+|$)`)

// missingFrom reads gaps. What does not say how much it matters must be fixed.
// An object that does not say its gap in the words asked for is kept as it
// stands: a gap that is hard to read is still a gap.
func missingFrom(el element) (plan.Missing, bool, error) {
	if el.obj == nil {
		m := plan.Missing{Gap: el.text, Severity: plan.SeverityMust}
		if id := leadingID().FindStringSubmatch(el.text); id != nil {
			m.ID, m.Gap = strings.ToUpper(id[1]+id[2]), el.text[len(id[0]):]
		}
		return m, m.Gap != "" || m.ID != "", nil
	}
	s, err := el.obj.strs("id", "gap", "severity")
	if err != nil {
		return plan.Missing{}, false, err
	}
	m := plan.Missing{ID: s[0], Gap: s[1], Severity: severityOf(s[2])}
	if m.ID == "" && m.Gap == "" && hasOther(el.obj, "id", "gap", "severity") {
		m.Gap = string(el.raw)
	}
	return m, m.ID != "" || m.Gap != "", nil
}

func severityOf(s string) string {
	if strings.EqualFold(s, plan.SeverityShould) {
		return plan.SeverityShould
	}
	return plan.SeverityMust
}

func hasOther(o object, known ...string) bool {
	for key := range o {
		if !slices.Contains(known, key) {
			return true
		}
	}
	return false
}

// commandFrom reads claimed commands. One without an exit code is claimed to
// have succeeded.
func commandFrom(el element) (plan.RanCommand, bool, error) {
	if el.obj == nil {
		c := plan.RanCommand{Command: strings.TrimSpace(strings.Trim(el.text, "`"))}
		return c, c.Command != "", nil
	}
	command, err := el.obj.str("command")
	if err != nil {
		return plan.RanCommand{}, false, err
	}
	c := plan.RanCommand{Command: command}
	switch code := el.obj["exit_code"]; {
	case len(code) > 1:
		return c, false, errors.New(`gives "exit_code" twice with different values`)
	case len(code) == 1 && kindOfJSON(code[0]) != 'n':
		c.ExitCode, err = strconv.Atoi(strings.Trim(string(code[0]), `"`))
		if err != nil {
			return c, false, errors.New(`has an "exit_code" that is not a whole number`)
		}
	}
	if c.Command == "" && len(el.obj) > 0 {
		return c, false, errors.New(`has no "command"`)
	}
	return c, c.Command != "", nil
}
