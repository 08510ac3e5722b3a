package review

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/plan-engine/plan"
)

// answerTemplate is the answer that a reviewer is asked for, in words it can fill in.
const answerTemplate = `{"verdict": "DONE | NEEDS_FIX | BLOCKED",
 "checklist": [{"item": "the requirement", "met": true, "evidence": "a command or file:line"}],
 "missing": [{"id": "G1, or empty for a new gap", "gap": "what is left to do", "severity": "must | should"}],
 "commands": [{"command": "exactly as it ran", "exit_code": 0, "call": "or, for a long one, the id of its call"}],
 "notes": ["a remark that does not block"],
 "no_change": "why nothing had to change, where nothing did; else empty",
 "unchanged": "why no command can tell the work from what was there before; else empty"}`

// Reask is the message that asks a reviewer once more, after Parse failed or
// Judge had a doubt.
func Reask(err error, d *Doubt) string {
	var b strings.Builder
	switch {
	case err != nil:
		b.WriteString(parseFailureText(err))
	case d != nil:
		b.WriteString(d.text())
	default:
		b.WriteString("Your verdict is needed once more.\n")
	}
	b.WriteString(
		"Answer with one JSON object and nothing else, in this shape; missing is [] for DONE:\n" + answerTemplate,
	)
	return b.String()
}

// parseFailureText says why an answer could not be read, and asks about what stood in the
// way.
func parseFailureText(err error) string {
	text := fmt.Sprintf("Your verdict could not be read: %s.\n", reason(err))
	var pe *ParseError
	if !errors.As(err, &pe) || pe.Excerpt == "" {
		return text
	}
	return text + "This is what stands there:\n\n" + fenced(pe.Excerpt) + "\n\n" +
		"Does it name anything that is wrong, missing or not shown? Then the verdict is NEEDS_FIX, with that in " +
		"missing. " +
		"If not, the object alone says so; a remark that does not block belongs in notes.\n"
}

// fenced puts a text in a fence that it cannot close.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}

// Schema is the JSON Schema of a verdict, made from [plan.Verdict] for servers
// that hold answers to a schema strictly: every property is required and no
// other is allowed. The bytes are the same every time.
func Schema() json.RawMessage {
	r := jsonschema.Reflector{Anonymous: true, ExpandedStruct: true}
	s := r.Reflect(plan.Verdict{})
	s.Version = ""
	requireAllProperties(s)
	for _, def := range s.Definitions {
		requireAllProperties(def)
	}
	data, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("encode the verdict schema: %v", err)) // a constant type: a defect of this program
	}
	return data
}

// requireAllProperties makes every property of an object schema required; that no other is
// allowed is the reflector's default. The properties of plan.Verdict are
// objects by reference only, so there is nothing to descend into.
func requireAllProperties(s *jsonschema.Schema) {
	if s.Properties == nil {
		return
	}
	s.Required = nil
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		s.Required = append(s.Required, p.Key)
	}
}
