package scripted

import (
	"encoding/json"
	"net/http"
)

// WireChat is OpenAI's Chat Completions, at /chat/completions.
const WireChat Wire = "chat"

// openAIFailure is the body of an answer that failed, on OpenAI's wires.
const openAIFailure = `{"error":{"message":"` + failureWords + `","type":"server_error","code":"server_error"}}`

// chatProtocol is what Chat Completions says about itself.
func chatProtocol() *protocol {
	return &protocol{
		wire:      WireChat,
		path:      "/v1/chat/completions",
		read:      func(body []byte, _ http.Header, g *Gateway) (question, error) { return readChat(body, g) },
		refusable: chatRefusable,
		refusal:   openAIRefusal,
		models:    openAIModels,
		errorJSON: openAIError,
		wrongKey:  "the bearer token is missing or wrong",
		tooLong: "This model's maximum context length is {window} tokens. However, your messages resulted in " +
			"{sent} tokens. " +
			"Please reduce the length of the messages.",
		tooLongParam: "messages",
		failure:      openAIFailure,
		garbage:      `{"choices":[{"delta":{"content":<html>`,
	}
}

// chatRefusable finds what a gateway can refuse.
func chatRefusable(body []byte) refusable {
	var req struct {
		Messages []json.RawMessage `json:"messages"`
		Tools    []struct {
			Function struct {
				Strict     json.RawMessage `json:"strict"`
				Parameters json.RawMessage `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
		Format struct {
			Schema schemaFormat `json:"json_schema"`
		} `json:"response_format"`
	}
	_ = json.Unmarshal(body, &req) // what is wrong with it is found later
	out := refusable{messages: req.Messages}
	for i, t := range req.Tools {
		out.addTool(t.Function.Parameters, t.Function.Strict, i, "function.strict")
	}
	out.addFormat(req.Format.Schema)
	return out
}
