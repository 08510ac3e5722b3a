package scripted

import (
	"encoding/json"
	"fmt"
)

// messagesOutput writes an answer as the content and events of Messages.
type messagesOutput struct {
	a       *answer
	tag     string
	omitted bool // the thinking is not shown
	content []object
	chunks  []chunk
}

// output works out the content of an answer and the events that it comes by.
func (r *messagesRequest) output(a *answer) *messagesOutput {
	o := &messagesOutput{
		a:       a,
		tag:     idTag(a.tag),
		omitted: r.Thinking != nil && r.Thinking.Display == "omitted",
	}
	begun := o.message([]object{})
	begun["stop_reason"] = nil
	delete(begun, "stop_details")
	begun["usage"] = o.usage(1)
	o.event("message_start", object{"message": begun})
	if a.reasoning != "" {
		o.thinking()
	}
	if a.text != "" {
		o.text()
	}
	for i := range a.calls {
		o.call(i)
	}
	if len(o.content) == 0 {
		o.event("ping", object{})
	}
	return o
}

// event adds an event.
func (o *messagesOutput) event(name string, fields object) {
	fields["type"] = name
	o.chunks = append(o.chunks, chunk{data: sse(name, encoded(fields))})
}

// begin adds a block that is still empty, delta a piece of it, end the same
// block with all that it holds.
func (o *messagesOutput) begin(b object) {
	o.event("content_block_start", object{"index": len(o.content), "content_block": b})
	if len(o.content) == 0 {
		o.event("ping", object{})
	}
}

func (o *messagesOutput) delta(kind, field, piece string) {
	o.event("content_block_delta", object{"index": len(o.content), "delta": object{"type": kind, field: piece}})
}

func (o *messagesOutput) end(b object) {
	o.event("content_block_stop", object{"index": len(o.content)})
	o.content = append(o.content, b)
}

// thinking adds the block of reasoning.
func (o *messagesOutput) thinking() {
	if o.a.redacted {
		b := object{"type": blockRedacted, "data": sealed("redacted", o.tag, "")}
		o.begin(b)
		o.end(b)
		return
	}
	text := o.a.reasoning
	if o.omitted {
		text = ""
	}
	signature := sealed("thinking", o.tag, text)
	o.begin(object{"type": blockThinking, "thinking": "", "signature": ""})
	for _, p := range pieces(text, pieceSize) {
		o.delta("thinking_delta", "thinking", p)
	}
	o.delta("signature_delta", "signature", signature)
	o.end(object{"type": blockThinking, "thinking": text, "signature": signature})
}

// text adds the block of text.
func (o *messagesOutput) text() {
	o.begin(object{"type": blockText, "text": ""})
	for _, p := range pieces(o.a.text, pieceSize) {
		o.delta("text_delta", "text", p)
	}
	o.end(object{"type": blockText, "text": o.a.text})
}

// call adds the i-th call.
func (o *messagesOutput) call(i int) {
	c := o.a.calls[i]
	id := fmt.Sprintf("toolu_%s_%d", o.tag, i)
	if o.a.reasoning != "" {
		id += thoughtMark
	}
	o.begin(object{"type": blockCall, "id": id, "name": c.name, "input": object{}})
	o.delta("input_json_delta", "partial_json", "")
	for _, p := range argPieces(c.args) {
		o.delta("input_json_delta", "partial_json", p)
		o.chunks[len(o.chunks)-1].args = i == len(o.a.calls)-1
	}
	// A plain answer cannot hold arguments that are no JSON but as text.
	var input any = c.args
	if json.Valid([]byte(c.args)) {
		input = json.RawMessage(c.args)
	}
	o.end(object{"type": blockCall, "id": id, "name": c.name, "input": input})
}

// usage is the usage object, with so many tokens of output so far.
func (o *messagesOutput) usage(output int64) object {
	u := o.a.usage
	return object{
		"input_tokens":                u.Input - u.Cached - u.Written - u.WrittenHour,
		"cache_read_input_tokens":     u.Cached,
		"cache_creation_input_tokens": u.Written + u.WrittenHour,
		"cache_creation": object{
			"ephemeral_5m_input_tokens": u.Written,
			"ephemeral_1h_input_tokens": u.WrittenHour,
		},
		"output_tokens": output,
		"service_tier":  "standard",
	}
}

// stop is why the answer ended, and in a refusal's words if it is one.
func (o *messagesOutput) stop() (reason string, details object) {
	switch finish := o.a.finish; {
	case o.a.refusal != "",
		finish == "content_filter",
		finish == "refusal",
		finish == "safety",
		finish == "recitation":
		reason = "refusal"
	case finish == "stop":
		return "end_turn", nil
	case finish == "tool_calls":
		return "tool_use", nil
	case finish == "length":
		return "max_tokens", nil
	default:
		return finish, nil
	}
	details = object{"type": "refusal", "category": nil, "explanation": nil}
	if o.a.refusal != "" {
		details["explanation"] = o.a.refusal
	}
	return reason, details
}

// message is the document of an answer.
func (o *messagesOutput) message(content []object) object {
	if content == nil {
		content = []object{}
	}
	reason, details := o.stop()
	doc := object{
		"id":            "msg_" + o.tag,
		"type":          "message",
		"role":          "assistant",
		"model":         o.a.model,
		"content":       content,
		"stop_reason":   reason,
		"stop_sequence": nil,
		"usage":         o.usage(o.a.usage.Output),
	}
	if details != nil {
		doc["stop_details"] = details
	}
	return doc
}

// streamed implements question.
func (r *messagesRequest) streamed(a *answer) ([]chunk, error) {
	o := r.output(a)
	reason, details := o.stop()
	delta := object{"stop_reason": reason, "stop_sequence": nil}
	if details != nil {
		delta["stop_details"] = details
	}
	if a.failed {
		delta["stop_reason"] = nil
	}
	usage := o.usage(a.usage.Output)
	delete(usage, "cache_creation")
	delete(usage, "service_tier")
	if a.usage.Reasoning > 0 {
		usage["output_tokens_details"] = object{"thinking_tokens": a.usage.Reasoning}
	}
	o.event("message_delta", object{"delta": delta, "usage": usage})
	if a.failed {
		return append(o.chunks, chunk{data: messagesProtocol().errorEvent("", len(o.chunks))}), nil
	}
	o.event("message_stop", object{})
	return o.chunks, nil
}

// plain implements question.
func (r *messagesRequest) plain(a *answer) ([]byte, error) {
	o := r.output(a)
	return []byte(encoded(o.message(o.content))), nil
}
