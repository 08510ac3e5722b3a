package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// WireAnthropic is Anthropic's Messages, at /messages.
const WireAnthropic Wire = "anthropic"

// statusOverloaded is how Anthropic's servers say that they are overloaded.
const statusOverloaded = 529

// messagesProtocol is what Messages says about itself.
func messagesProtocol() *protocol {
	return &protocol{
		wire:        WireAnthropic,
		path:        "/v1/messages",
		header:      "Anthropic-Version",
		read:        func(body []byte, h http.Header, _ *Gateway) (question, error) { return readMessages(body, h) },
		refusable:   messagesRefusable,
		refusal:     messagesRefusal,
		models:      messagesModels,
		errorJSON:   messagesError,
		wrongKey:    "invalid x-api-key",
		tooLong:     "prompt is too long: {sent} tokens > {window} maximum",
		failure:     `{"type":"error","error":{"type":"api_error","message":"` + failureWords + `"}}`,
		garbage:     `{"type":"content_block_delta","delta":<html>`,
		garbageType: "content_block_delta",
		namesEvents: true,
	}
}

// messagesError is the body of an error response, which has no code and blames
// no parameter.
func messagesError(status int, message, _, _ string) string {
	return encoded(object{
		"type":       "error",
		"error":      object{"type": messagesErrorType(status), "message": message},
		"request_id": "req_scripted",
	})
}

// messagesErrorType is the type of an error by its status.
func messagesErrorType(status int) string {
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

// messagesRefusal is what is said to a parameter.
func messagesRefusal(path, value string) (words, code string) {
	if value != "" {
		return fmt.Sprintf("%s: Input should not be '%s'", path, value), ""
	}
	return path + ": Extra inputs are not permitted", ""
}

// messagesModels is the list of models as Anthropic has it.
func messagesModels(g *Gateway) string {
	model := object{
		"type":         "model",
		"id":           Model,
		"display_name": "Scripted",
		"created_at":   "2023-11-14T22:13:20Z",
	}
	if g.WindowField != "" {
		model[g.WindowField] = g.Window
	}
	return encoded(object{
		"data":     []object{model},
		"has_more": false,
		"first_id": Model,
		"last_id":  Model,
	})
}

// messagesRefusable finds what a gateway can refuse.
func messagesRefusable(body []byte) refusable {
	var req struct {
		Messages []json.RawMessage `json:"messages"`
		Tools    []struct {
			Strict json.RawMessage `json:"strict"`
			Schema json.RawMessage `json:"input_schema"`
		} `json:"tools"`
		Output struct {
			Format schemaFormat `json:"format"`
		} `json:"output_config"`
	}
	_ = json.Unmarshal(body, &req) // what is wrong with it is found later
	out := refusable{messages: req.Messages}
	for i, t := range req.Tools {
		out.addTool(t.Schema, t.Strict, i, "strict")
	}
	out.addFormat(req.Output.Format)
	return out
}
