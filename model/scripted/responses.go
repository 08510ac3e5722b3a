package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// WireResponses is OpenAI's Responses, at /responses.
const WireResponses Wire = "responses"

// responsesProtocol is what Responses says about itself.
func responsesProtocol() *protocol {
	return &protocol{
		wire:          WireResponses,
		path:          "/v1/responses",
		read:          func(body []byte, _ http.Header, g *Gateway) (question, error) { return readResponses(body, g) },
		refusable:     responsesRefusable,
		refusal:       openAIRefusal,
		models:        openAIModels,
		errorJSON:     openAIError,
		wrongKey:      "the bearer token is missing or wrong",
		tooLong:       "Your input exceeds the context window of this model. Please adjust your input and try again.",
		tooLongParam:  "input",
		failure:       openAIFailure,
		failureEvent:  responsesFailureEvent,
		statesFailure: true,
		garbage:       `{"type":"response.output_text.delta","delta":<html>`,
		garbageType:   "response.output_text.delta",
		namesEvents:   true,
	}
}

// responsesFailureEvent is an error in a stream, as its chunk number at.
func responsesFailureEvent(at int) string {
	return fmt.Sprintf(
		`{"type":"error","code":"server_error","message":%q,"param":null,"sequence_number":%d}`,
		failureWords,
		at,
	)
}

// responsesRefusable finds what a gateway can refuse.
func responsesRefusable(body []byte) refusable {
	var req struct {
		Input json.RawMessage `json:"input"`
		Tools []struct {
			Strict     json.RawMessage `json:"strict"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"tools"`
		Text struct {
			Format schemaFormat `json:"format"`
		} `json:"text"`
	}
	_ = json.Unmarshal(body, &req) // what is wrong with it is found later
	var out refusable
	_ = json.Unmarshal(req.Input, &out.messages) // text has no messages
	for i, t := range req.Tools {
		out.addTool(t.Parameters, t.Strict, i, "strict")
	}
	out.addFormat(req.Text.Format)
	return out
}
