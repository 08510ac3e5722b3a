package loop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/plan-engine/plan"
)

// offer is a tool as this conversation may use it.
type offer struct {
	tool Tool
	info Info

	once   sync.Once
	schema *jsonschema.Schema
	broken error

	read   sync.Once
	rules  rules
	unread error
}

// shapes is the schema as mend reads it.
func (o *offer) shapes() (rules, error) {
	o.read.Do(func() { o.rules, o.unread = readSchema(o.info.Schema) })
	return o.rules, o.unread
}

// parseArgs reads argument text. The result is always valid JSON, because it
// becomes part of an event: text that is none is kept as a JSON string, and
// the problem says what to tell the model.
func parseArgs(text string) (args json.RawMessage, problem string) {
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("{}"), ""
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(strings.TrimSpace(text)), ""
	}
	var v any
	err := json.Unmarshal([]byte(text), &v)
	quoted, qerr := plan.MarshalCompact(text)
	if qerr != nil {
		quoted = []byte(`""`)
	}
	where := ""
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		where = fmt.Sprintf(" at byte %d of %d", syntax.Offset, len(text))
	}
	return quoted, fmt.Sprintf("The arguments are not valid JSON%s: %v. The call was not run; send it again with one complete JSON object.", where, err)
}

// validate checks arguments against the tool's schema. It returns "" or what
// to tell the model: each field, what was expected and what came.
func (o *offer) validate(args json.RawMessage) string {
	value, err := decodeJSON(string(args))
	if err != nil {
		return fmt.Sprintf("The arguments cannot be read: %v.", err)
	}
	return o.validateValue(value)
}

// validateValue is validate for arguments that were decoded.
func (o *offer) validateValue(value any) string {
	o.once.Do(o.compile)
	if o.broken != nil {
		return o.broken.Error()
	}
	err := o.schema.Validate(value)
	if err == nil {
		return ""
	}
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return fmt.Sprintf("The arguments of %s cannot be checked: %v.", o.info.Name, err)
	}
	var lines []string
	explain(ve, value, &lines)
	slices.Sort(lines)
	return fmt.Sprintf("The arguments of %s do not fit; the call was not run.\n%s", o.info.Name, strings.Join(slices.Compact(lines), "\n"))
}

func (o *offer) compile() {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(o.info.Schema))
	if err != nil {
		o.broken = fmt.Errorf("the schema of %s is broken: %w", o.info.Name, err)
		return
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("args.json", doc); err != nil {
		o.broken = fmt.Errorf("the schema of %s is broken: %w", o.info.Name, err)
		return
	}
	if o.schema, err = c.Compile("args.json"); err != nil {
		o.broken = fmt.Errorf("the schema of %s is broken: %w", o.info.Name, err)
	}
}

// explain turns the leaves of a validation error into one line each.
func explain(ve *jsonschema.ValidationError, value any, lines *[]string) {
	if len(ve.Causes) > 0 {
		for _, c := range ve.Causes {
			explain(c, value, lines)
		}
		return
	}
	field := strings.Join(ve.InstanceLocation, ".")
	if field == "" {
		field = "the arguments"
	}
	got := describe(at(value, ve.InstanceLocation))
	add := func(format string, a ...any) { *lines = append(*lines, "- "+fmt.Sprintf(format, a...)) }
	switch k := ve.ErrorKind.(type) {
	case *kind.Required:
		add("%s: missing %s", field, quoteAll(k.Missing))
	case *kind.AdditionalProperties:
		add("%s: unknown field %s", field, quoteAll(k.Properties))
	case *kind.Type:
		add("%s: expected %s, got %s", field, strings.Join(k.Want, " or "), got)
	case *kind.Enum:
		add("%s: expected one of %v, got %s", field, k.Want, got)
	case *kind.Minimum:
		add("%s: expected at least %s, got %s", field, k.Want.RatString(), got)
	case *kind.Maximum:
		add("%s: expected at most %s, got %s", field, k.Want.RatString(), got)
	default:
		add("%s: %s, got %s", field, ve.Error(), got)
	}
}

func quoteAll(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(out, ", ")
}

// at finds the value that a validation error speaks of.
func at(value any, path []string) any {
	for _, key := range path {
		switch v := value.(type) {
		case map[string]any:
			value = v[key]
		case []any:
			var i int
			if _, err := fmt.Sscan(key, &i); err != nil || i >= len(v) {
				return nil
			}
			value = v[i]
		}
	}
	return value
}

// describe names a value and its type, shortly.
func describe(v any) string {
	data, err := plan.MarshalCompact(v)
	if err != nil {
		return fmt.Sprintf("%T", v)
	}
	text := string(data)
	if r := []rune(text); len(r) > 80 {
		text = string(r[:80]) + "…"
	}
	switch v.(type) {
	case string:
		return "string " + text
	case map[string]any:
		return "object " + text
	case []any:
		return "array " + text
	case nil:
		return "null"
	case bool:
		return "boolean " + text
	}
	return "number " + text
}
