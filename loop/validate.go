package loop

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plan-engine/plan"
)

// offer is a tool as this conversation may use it.
type offer struct {
	tool Tool
	info Info

	once   sync.Once
	judge  *jsonschema.Resolved
	broken error

	read   sync.Once
	rules  rules
	unread error
}

// shapes is the schema as mend and explain read it.
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
	return quoted, fmt.Sprintf(
		"The arguments are not valid JSON%s: %v. The call was not run; send it again with one complete JSON object.",
		where,
		err,
	)
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
	err := o.judge.Validate(floats(value))
	if err == nil {
		return ""
	}
	return fmt.Sprintf(
		"The arguments of %s do not fit; the call was not run.\n%s",
		o.info.Name,
		strings.Join(explain(o.rules, value, err), "\n"),
	)
}

func (o *offer) compile() {
	rules, err := o.shapes()
	if err == nil {
		o.judge, err = compileSchema(o.info.Schema, rules)
	}
	if err != nil {
		o.broken = fmt.Errorf("the schema of %s is broken: %w", o.info.Name, err)
	}
}

// describe names a value and its type, shortly.
func describe(v any) string {
	data, err := plan.MarshalCompact(v)
	if err != nil {
		return fmt.Sprintf("%T", v)
	}
	text := shortly(string(data), 80)
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

// shortly is the beginning of a text that is longer than n letters.
func shortly(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n]) + "…"
	}
	return text
}
