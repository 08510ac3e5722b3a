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

// refusable reports whether name can stand in [Gateway.Refuses]: a parameter
// (max_tokens), one inside another (reasoning.effort), either with a value
// (reasoning_effort=high), or one of the constants above.
func refusable(name string) bool {
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

// envelope is what of a request has to be known to refuse it, by any wire.
type envelope struct {
	Messages []json.RawMessage `json:"messages"`
	Input    json.RawMessage   `json:"input"`
	Tools    []struct {
		Strict      json.RawMessage `json:"strict"`
		Parameters  json.RawMessage `json:"parameters"`
		InputSchema json.RawMessage `json:"input_schema"`
		Function    struct {
			Strict     json.RawMessage `json:"strict"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	ResponseFormat struct {
		Schema schemaFormat `json:"json_schema"`
	} `json:"response_format"`
	Text struct {
		Format schemaFormat `json:"format"`
	} `json:"text"`
	OutputConfig struct {
		Format schemaFormat `json:"format"`
	} `json:"output_config"`
}

type schemaFormat struct {
	Strict json.RawMessage `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

// refused is the refusal of a request that has something which the gateway
// does not take; nil if it has not.
func (g *Gateway) refused(w Wire, body []byte) *performance {
	var fields map[string]json.RawMessage
	if len(g.Refuses) == 0 || json.Unmarshal(body, &fields) != nil {
		return nil
	}
	var env envelope
	_ = json.Unmarshal(body, &env) // what is wrong with it is found later
	for _, name := range g.Refuses {
		words, code := env.refusal(w, name, fields)
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
func (e *envelope) refusal(w Wire, name string, fields map[string]json.RawMessage) (words, code string) {
	keyword, isSchema := strings.CutPrefix(name, refuseSchema)
	switch {
	case isSchema:
		for i, schema := range e.schemas() {
			if slices.Contains(keywords(schema), keyword) {
				return fmt.Sprintf(
					"Invalid JSON payload received. Unknown name %q at 'tools[0].function_declarations[%d].parameters': "+
						"Cannot find field.",
					keyword,
					i,
				), "INVALID_ARGUMENT"
			}
		}
		return "", ""
	case name == refuseStrict:
		return e.refuseStrict(), ""
	case name == refuseDeveloper, name == refuseNull, name == refuseImages, name == refuseRepeated:
		return e.refuseMessage(name), ""
	}
	path, value, valued := strings.Cut(name, "=")
	found, ok := lookUp(fields, path)
	switch {
	case !ok, valued && !sameValue(found, value):
		return "", ""
	case w == WireAnthropic && valued:
		return fmt.Sprintf("%s: Input should not be '%s'", path, value), ""
	case w == WireAnthropic:
		return path + ": Extra inputs are not permitted", ""
	case valued:
		return fmt.Sprintf(
			"Unsupported value: '%s' does not support '%s' with this model.",
			path,
			value,
		), "unsupported_value"
	}
	words = fmt.Sprintf("Unsupported parameter: '%s' is not supported with this model.", path)
	switch path {
	case "max_tokens":
		words += " Use 'max_completion_tokens' instead."
	case "max_completion_tokens":
		words += " Use 'max_tokens' instead."
	}
	return words, "unsupported_parameter"
}

// refuseStrict is what is said to strict, wherever it stands.
func (e *envelope) refuseStrict() string {
	for i, t := range e.Tools {
		if t.Strict != nil {
			return fmt.Sprintf("tools[%d].strict: Extra inputs are not permitted", i)
		}
		if t.Function.Strict != nil {
			return fmt.Sprintf("tools[%d].function.strict: Extra inputs are not permitted", i)
		}
	}
	for _, f := range e.formats() {
		if f.Strict != nil {
			return "response_format.json_schema.strict: Extra inputs are not permitted"
		}
	}
	return ""
}

// refuseMessage is what is said to the first message with what name names.
func (e *envelope) refuseMessage(name string) string {
	list := e.Messages
	if list == nil {
		_ = json.Unmarshal(e.Input, &list) // text has no messages
	}
	before := ""
	for i, raw := range list {
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
				"messages: roles must alternate between \"user\" and \"assistant\", but found multiple %q roles in a row",
				m.Role,
			)
		case name == refuseDeveloper && m.Role == "developer":
			return fmt.Sprintf(
				"messages[%d].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`",
				i,
			)
		case name == refuseNull && m.Role == "assistant" && (content == "" || content == "null"):
			return fmt.Sprintf("messages[%d].content: Input should be a valid string", i)
		case name == refuseImages && (strings.Contains(content, `"image_url"`) || strings.Contains(content, `"type":"image"`)):
			return fmt.Sprintf("messages[%d].content: this model does not support image input", i)
		}
	}
	return ""
}

// formats are where a request can ask for a schema.
func (e *envelope) formats() []schemaFormat {
	return []schemaFormat{e.ResponseFormat.Schema, e.Text.Format, e.OutputConfig.Format}
}

// schemas are all schemas of the request.
func (e *envelope) schemas() []json.RawMessage {
	var out []json.RawMessage
	for _, t := range e.Tools {
		out = append(out, t.Parameters, t.InputSchema, t.Function.Parameters)
	}
	for _, f := range e.formats() {
		out = append(out, f.Schema)
	}
	return slices.DeleteFunc(out, func(raw json.RawMessage) bool { return raw == nil })
}

// lookUp finds a parameter, of which a dot leads into another.
func lookUp(fields map[string]json.RawMessage, path string) (json.RawMessage, bool) {
	name, rest, deeper := strings.Cut(path, ".")
	found, ok := fields[name]
	if !ok || !deeper {
		return found, ok
	}
	var inner map[string]json.RawMessage
	if json.Unmarshal(found, &inner) != nil {
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
