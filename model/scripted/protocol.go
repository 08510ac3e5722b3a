package scripted

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// Wire names a protocol that the server speaks.
type Wire string

// protocols lists the wires that the server speaks. A request that no other one
// knows as its own counts as one of the first.
func protocols() []*protocol {
	return []*protocol{
		chatProtocol(),
		responsesProtocol(),
		messagesProtocol(),
	}
}

// protocol is what one wire says about itself: everything that the server does
// otherwise for it than for the others.
type protocol struct {
	wire Wire
	path string // where requests for answers are sent
	// header is one that only clients of this wire send, with which they ask for
	// the list of models; "" for none.
	header string

	// read decodes a request and checks everything that a strict server checks.
	// The error is what the client is told.
	read func(body []byte, h http.Header, g *Gateway) (question, error)
	// refusable finds in a request what a gateway can refuse beside parameters.
	refusable func(body []byte) refusable
	// refusal is what is said to a parameter, or to its value where there is one,
	// and the code of the error.
	refusal func(path, value string) (words, code string)
	// models is the list of models.
	models func(g *Gateway) string

	// errorJSON is the body of an error response. A code and the parameter that is
	// to blame are for the wires that have them; "" is none.
	errorJSON func(status int, message, code, param string) string
	wrongKey  string // is said about a missing or wrong key
	// tooLong is said about a request that is too long, and blames a parameter.
	tooLong, tooLongParam string

	// failure is the body of an answer that failed, and failureEvent that of an
	// error in a stream as its chunk number at; nil: as failure.
	failure      string
	failureEvent func(at int) string
	// statesFailure says that a plain answer can say itself that it failed.
	statesFailure bool
	// garbage is something that is not JSON, in an event of the type garbageType.
	garbage, garbageType string
	namesEvents          bool // the events of a stream have their types as names
}

// Wires lists the names of the wires that the server speaks.
func Wires() []string {
	var out []string
	for _, p := range protocols() {
		out = append(out, string(p.wire))
	}
	return out
}

// protocolOf finds the wire that a request was sent by: by its path or, for the
// list of models, by its headers.
func protocolOf(r *http.Request) *protocol {
	list := protocols()
	for _, p := range list {
		if r.URL.Path == p.path {
			return p
		}
	}
	for _, p := range list {
		if p.header != "" && r.Header.Get(p.header) != "" {
			return p
		}
	}
	return list[0]
}

// refuse is an error response in the words of the wire. The code is for the
// wires that have one; "" is none.
func (p *protocol) refuse(status int, message, code string) *performance {
	return document(status, p.errorJSON(status, message, code, ""))
}

// failed is the response of a status fault.
func (p *protocol) failed(f *Fault) *performance {
	body := f.Body
	if body == "" {
		body = p.errorJSON(f.Status, "scripted fault: "+cmp.Or(http.StatusText(f.Status), "Overloaded"), "", "")
	}
	out := document(f.Status, body)
	if f.RetryAfter != "" {
		out.header["Retry-After"] = f.RetryAfter
	}
	maps.Copy(out.header, f.Headers)
	return out
}

// errorEvent is an error in a stream, as its chunk number at: the given body
// or the default.
func (p *protocol) errorEvent(body string, at int) []byte {
	if body == "" && p.failureEvent != nil {
		body = p.failureEvent(at)
	}
	body = cmp.Or(body, p.failure)
	return sse(p.eventName(body, "error"), body)
}

// garbageEvent is garbage in a stream.
func (p *protocol) garbageEvent(body string) []byte {
	return sse(p.eventName(body, p.garbageType), cmp.Or(body, p.garbage))
}

// eventName is the name of an event with this data, on wires that name them:
// its type, or usual if it has none.
func (p *protocol) eventName(data, usual string) string {
	if !p.namesEvents {
		return ""
	}
	var typed struct {
		Type string `json:"type"`
	}
	if json.Unmarshal([]byte(data), &typed) == nil && validName(strings.ReplaceAll(typed.Type, ".", "_")) {
		return typed.Type
	}
	return usual
}

// openAIError is the body of an error response on OpenAI's wires.
func openAIError(status int, message, code, param string) string {
	kind := "invalid_request_error"
	switch {
	case status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case status >= http.StatusInternalServerError:
		kind = "server_error"
	}
	type detail struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	d := detail{Message: message, Type: kind}
	if code != "" {
		d.Code = &code
	}
	if param != "" {
		d.Param = &param
	}
	return encoded(map[string]detail{"error": d})
}

// openAIRefusal is what OpenAI's wires say to a parameter.
func openAIRefusal(path, value string) (words, code string) {
	if value != "" {
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

// openAIModels is the list of models as OpenAI has it.
func openAIModels(g *Gateway) string {
	window := ""
	if g.WindowField != "" {
		window = fmt.Sprintf(",%q:%d", g.WindowField, g.Window)
	}
	return fmt.Sprintf(
		`{"object":"list","data":[{"id":%q,"object":"model","created":%d,"owned_by":"scripted"%s}]}`,
		Model,
		created,
		window,
	)
}
