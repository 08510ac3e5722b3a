package scripted

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// What a server can refuse beside parameters by their names.
const (
	refuseDeveloper = "developer"    // the role
	refuseNull      = "null_content" // an assistant message without content
	refuseStrict    = "strict"       // of a tool or a schema
	refuseImages    = "images"
	refuseRepeated  = "repeated_roles" // two messages of the user or of the model in a row
	refuseSchema    = "schema:"        // and a keyword of JSON Schema, in a tool or a format
)

// isRefusable reports whether name can stand in [Gateway.Refuses]: a parameter
// (max_tokens), one inside another (reasoning.effort), either with a value
// (reasoning_effort=high), or one of the constants above.
func isRefusable(name string) bool {
	name = strings.TrimPrefix(name, refuseSchema)
	name, value, valued := strings.Cut(name, "=")
	if valued && value == "" {
		return false
	}
	for part := range strings.SplitSeq(name, ".") {
		if !validName(strings.TrimPrefix(part, "$")) {
			return false
		}
	}
	return true
}

// refusable is what of a request a gateway can refuse beside parameters.
type refusable struct {
	messages []json.RawMessage
	schemas  []json.RawMessage // of tools and of the answer
	strict   string            // where strict stands; "" for nowhere
}

// addTool adds a tool's schema, and what it says of strict under a name.
func (r *refusable) addTool(schema, strict json.RawMessage, i int, name string) {
	if schema != nil {
		r.schemas = append(r.schemas, schema)
	}
	if strict != nil && r.strict == "" {
		r.strict = fmt.Sprintf("tools[%d].%s", i, name)
	}
}

// addFormat adds the schema that the answer is to fit.
func (r *refusable) addFormat(f schemaFormat) {
	if f.Schema != nil {
		r.schemas = append(r.schemas, f.Schema)
	}
	if f.Strict != nil && r.strict == "" {
		r.strict = "response_format.json_schema.strict"
	}
}

// schemaFormat is how an answer is asked for that fits a schema.
type schemaFormat struct {
	Strict json.RawMessage `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

// refused is the refusal of a request that has something which the gateway
// does not take; nil if it has not.
func (g *Gateway) refused(w *protocol, body []byte) *performance {
	var fields map[string]json.RawMessage
	if len(g.Refuses) == 0 || json.Unmarshal(body, &fields) != nil {
		return nil
	}
	target := w.refusable(body)
	for _, name := range g.Refuses {
		words, code := target.refusal(w, name, fields)
		if words == "" {
			continue
		}
		param, _, _ := strings.Cut(name, "=")
		if g.RefuseWords != "" {
			words = strings.ReplaceAll(g.RefuseWords, "{name}", param)
		}
		return document(http.StatusBadRequest, w.errorJSON(http.StatusBadRequest, words, code, param))
	}
	return nil
}

// refusal is what is said if the request has what name names, and the error's
// code; words is "" if it has not.
func (r *refusable) refusal(w *protocol, name string, fields map[string]json.RawMessage) (words, code string) {
	keyword, isSchema := strings.CutPrefix(name, refuseSchema)
	switch {
	case isSchema:
		for i, schema := range r.schemas {
			if slices.Contains(keywords(schema), keyword) {
				return fmt.Sprintf(
					"Invalid JSON payload received. Unknown name %q at "+
						"'tools[0].function_declarations[%d].parameters': "+
						"Cannot find field.",
					keyword,
					i,
				), "INVALID_ARGUMENT"
			}
		}
		return "", ""
	case name == refuseStrict:
		if r.strict == "" {
			return "", ""
		}
		return r.strict + ": Extra inputs are not permitted", ""
	case name == refuseDeveloper, name == refuseNull, name == refuseImages, name == refuseRepeated:
		return r.refuseMessage(name), ""
	}
	path, value, valued := strings.Cut(name, "=")
	actual, ok := lookUp(fields, path)
	if !ok || valued && !sameValue(actual, value) {
		return "", ""
	}
	return w.refusal(path, value)
}

// refuseMessage is what is said to the first message with what name names.
func (r *refusable) refuseMessage(name string) string {
	before := ""
	for i, raw := range r.messages {
		var m struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		_ = json.Unmarshal(raw, &m)
		repeated := m.Role == before && (m.Role == "user" || m.Role == "assistant")
		before = m.Role
		switch content := string(m.Content); {
		case name == refuseRepeated && repeated:
			return fmt.Sprintf(
				"messages: roles must alternate between \"user\" and \"assistant\", but found multiple %q roles "+
					"in a row",
				m.Role,
			)
		case name == refuseDeveloper && m.Role == "developer":
			return fmt.Sprintf(
				"messages[%d].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`",
				i,
			)
		case name == refuseNull && m.Role == "assistant" && (content == "" || content == "null"):
			return fmt.Sprintf("messages[%d].content: Input should be a valid string", i)
		case name == refuseImages &&
			(strings.Contains(content, `"image_url"`) || strings.Contains(content, `"type":"image"`)):
			return fmt.Sprintf("messages[%d].content: this model does not support image input", i)
		}
	}
	return ""
}

// lookUp finds a parameter, of which a dot leads into another.
func lookUp(fields map[string]json.RawMessage, path string) (json.RawMessage, bool) {
	name, rest, deeper := strings.Cut(path, ".")
	value, ok := fields[name]
	if !ok || !deeper {
		return value, ok
	}
	var inner map[string]json.RawMessage
	if json.Unmarshal(value, &inner) != nil {
		return nil, false
	}
	return lookUp(inner, rest)
}

// sameValue compares a JSON value with how a scenario writes it: words without
// quotation marks.
func sameValue(raw json.RawMessage, value string) bool {
	return string(raw) == value || string(raw) == strconv.Quote(value)
}

// without takes the parameters out of a request that the gateway accepts and
// ignores.
func (g *Gateway) without(body []byte) []byte {
	var fields map[string]json.RawMessage
	if len(g.Accepts) == 0 || json.Unmarshal(body, &fields) != nil {
		return body
	}
	before := len(fields)
	maps.DeleteFunc(fields, func(name string, _ json.RawMessage) bool { return slices.Contains(g.Accepts, name) })
	if len(fields) == before {
		return body
	}
	return []byte(encoded(fields))
}
