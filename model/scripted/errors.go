package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/plan-engine/plan"
)

// statusOverloaded is how Anthropic's servers say that they are overloaded.
const statusOverloaded = 529

// refuse is an error response in the words of the wire. The code is for the
// wires that have one; "" is none.
func (w Wire) refuse(status int, message, code string) *performance {
	return document(status, w.errorJSON(status, message, code, ""))
}

// errorJSON is the body of an error response. A code and the parameter that is
// to blame are for the wires that have them; "" is none.
func (w Wire) errorJSON(status int, message, code, param string) string {
	if w == WireAnthropic {
		return encoded(object{
			"type":       "error",
			"error":      object{"type": anthropicError(status), "message": message},
			"request_id": "req_scripted",
		})
	}
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

// anthropicError is the type of an error by its status.
func anthropicError(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusGatewayTimeout:
		return "timeout_error"
	case statusOverloaded:
		return "overloaded_error"
	}
	if status >= http.StatusInternalServerError {
		return "api_error"
	}
	return "invalid_request_error"
}

// What error_frame, garbage, refuse and reasoning_only send when a scenario does not say.
const (
	failureWords = "scripted fault: the model failed"
	refusalWords = "scripted fault: this is not something to help with"

	reasoningWords = "scripted fault: there is more to think about"

	chatFailure      = `{"error":{"message":"` + failureWords + `","type":"server_error","code":"server_error"}}`
	anthropicFailure = `{"type":"error","error":{"type":"api_error","message":"` + failureWords + `"}}`

	chatGarbage      = `{"choices":[{"delta":{"content":<html>`
	responsesGarbage = `{"type":"response.output_text.delta","delta":<html>`
	anthropicGarbage = `{"type":"content_block_delta","delta":<html>`
)

// failure is the body of an answer that failed: the given one or the default.
func (w Wire) failure(body string) string {
	switch {
	case body != "":
		return body
	case w == WireAnthropic:
		return anthropicFailure
	}
	return chatFailure
}

// errorEvent is an error in a stream, as its chunk number at: the given body
// or the default.
func (w Wire) errorEvent(body string, at int) []byte {
	if body == "" && w == WireResponses {
		body = fmt.Sprintf(
			`{"type":"error","code":"server_error","message":%q,"param":null,"sequence_number":%d}`,
			failureWords,
			at,
		)
	}
	return sse(w.eventName(w.failure(body), "error"), w.failure(body))
}

// garbage is something that is not JSON: the given body or the default.
func (w Wire) garbage(body string) string {
	switch {
	case body != "":
		return body
	case w == WireResponses:
		return responsesGarbage
	case w == WireAnthropic:
		return anthropicGarbage
	}
	return chatGarbage
}

// garbageEvent is garbage in a stream.
func (w Wire) garbageEvent(body string) []byte {
	name := "response.output_text.delta"
	if w == WireAnthropic {
		name = "content_block_delta"
	}
	return sse(w.eventName(body, name), w.garbage(body))
}

// eventName is the name of an event with this data, on wires that name them:
// its type, or usual if it has none.
func (w Wire) eventName(data, usual string) string {
	if w == WireChat {
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

// object is a JSON object that is put together by hand.
type object = map[string]any

// encoded is the JSON of something made of strings, numbers and lists, which
// can always be encoded.
func encoded(v any) string {
	data, err := plan.MarshalCompact(v)
	if err != nil {
		return `{"error":{"message":"the answer cannot be encoded"}}`
	}
	return string(data)
}

// wrong is an error in a server's own words, which begin and end as the server
// would have them.
func wrong(format string, args ...any) error { return wordsError(fmt.Sprintf(format, args...)) }

// wordsError is what a client is told.
type wordsError string

// Error implements error.
func (e wordsError) Error() string { return string(e) }
