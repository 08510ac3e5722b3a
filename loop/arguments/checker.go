// Package arguments reads the arguments of a model's tool calls: it finds the
// tool that a name means, mends what can be meant in one way only, and says of
// the rest, field by field, what does not fit the tool's schema.
//
// It must not know what a tool does, or what becomes of a call.
package arguments

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plan-engine/plan"
)

// Checker reads the arguments of one tool. It is safe for concurrent use.
type Checker struct {
	tool   string // its name
	schema json.RawMessage
	safe   bool // a wrong guess costs nothing but a wrong answer

	read   sync.Once
	rules  rules
	unread error

	compiled  sync.Once // when the first call comes: most tools are never called
	validator *jsonschema.Resolved
	broken    error
}

// New makes the checker of a tool. Safe says that a call may be made by mistake:
// it changes nothing and can be made again.
func New(tool string, schema json.RawMessage, safe bool) *Checker {
	return &Checker{
		tool:   tool,
		schema: schema,
		safe:   safe,
	}
}

// readRules is the schema as mending and explaining read it.
func (c *Checker) readRules() (rules, error) {
	c.read.Do(func() { c.rules, c.unread = readSchema(c.schema) })
	return c.rules, c.unread
}

// Parse reads argument text. The result is always valid JSON, because it
// becomes part of an event: text that is none is kept as a JSON string, and
// the problem says what to tell the model.
func Parse(text string) (args json.RawMessage, problem string) {
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

// Validate checks arguments against the tool's schema. It returns "" or what
// to tell the model: each field, what was expected and what came.
func (c *Checker) Validate(args json.RawMessage) string {
	value, err := Decode(string(args))
	if err != nil {
		return fmt.Sprintf("The arguments cannot be read: %v.", err)
	}
	return c.validateValue(value)
}

// validateValue is validate for arguments that were decoded.
func (c *Checker) validateValue(value any) string {
	c.compiled.Do(c.compile)
	if c.broken != nil {
		return c.broken.Error()
	}
	err := c.validator.Validate(floats(value))
	if err == nil {
		return ""
	}
	return fmt.Sprintf(
		"The arguments of %s do not fit; the call was not run.\n%s",
		c.tool,
		strings.Join(explain(c.rules, value, err), "\n"),
	)
}

func (c *Checker) compile() {
	rules, err := c.readRules()
	if err == nil {
		c.validator, err = compileSchema(rules)
	}
	if err != nil {
		c.broken = fmt.Errorf("the schema of %s is broken: %w", c.tool, err)
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
