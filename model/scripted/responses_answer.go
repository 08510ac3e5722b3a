package scripted

import (
	"encoding/json"
	"fmt"
	"slices"
)

// responsesOutput writes an answer as the items and events of Responses.
type responsesOutput struct {
	a      *answer
	tag    string
	mark   string // at the end of the calls' ids
	secret string // the encrypted reasoning, "" if it is not asked for
	finds  bool   // a search for tools is an item of its own
	items  []object
	chunks []chunk
}

// output works out the items of an answer and the events that they come by.
func (r *responsesRequest) output(a *answer) *responsesOutput {
	o := &responsesOutput{a: a, tag: idTag(a.tag), finds: r.searches()}
	if slices.Contains(r.Include, includeEncrypted) {
		o.secret = sealed("encrypted", o.tag, "")
	}
	if a.reasoning != "" && (o.secret != "" || r.stored()) {
		o.mark = thoughtMark
	}
	o.event("response.created", object{"response": r.response(a, "in_progress", nil)})
	o.event("response.in_progress", object{"response": r.response(a, "in_progress", nil)})
	if a.reasoning != "" {
		o.reasoning()
	}
	o.message()
	for i := range a.calls {
		o.call(i)
	}
	return o
}

// event adds an event.
func (o *responsesOutput) event(name string, fields object) {
	fields["type"] = name
	fields["sequence_number"] = len(o.chunks)
	o.chunks = append(o.chunks, chunk{data: sse(name, encoded(fields))})
}

// begin adds an item that is still empty, end the same item with all that it
// holds.
func (o *responsesOutput) begin(item object) {
	o.event("response.output_item.added", object{"output_index": len(o.items), "item": item})
}

func (o *responsesOutput) end(item object) {
	o.event("response.output_item.done", object{"output_index": len(o.items), "item": item})
	o.items = append(o.items, item)
}

// reasoning adds the item with the reasoning.
func (o *responsesOutput) reasoning() {
	id := "rs_" + o.tag
	begun := object{"id": id, "type": itemReasoning, "summary": []object{}}
	whole := object{"id": id, "type": itemReasoning, "summary": []object{}}
	if o.secret != "" {
		begun["encrypted_content"] = ""
		whole["encrypted_content"] = o.secret
	}
	o.begin(begun)
	if !o.a.redacted {
		at := func(fields object) object {
			fields["item_id"] = id
			fields["output_index"] = len(o.items)
			fields["summary_index"] = 0
			return fields
		}
		part := object{"type": "summary_text", "text": o.a.reasoning}
		o.event(
			"response.reasoning_summary_part.added",
			at(object{"part": object{"type": "summary_text", "text": ""}}),
		)
		for _, p := range pieces(o.a.reasoning, pieceSize) {
			o.event("response.reasoning_summary_text.delta", at(object{"delta": p}))
		}
		o.event("response.reasoning_summary_text.done", at(object{"text": o.a.reasoning}))
		o.event("response.reasoning_summary_part.done", at(object{"part": part}))
		whole["summary"] = []object{part}
	}
	o.end(whole)
}

// message adds the item with the text and the refusal, if there is one.
func (o *responsesOutput) message() {
	text, refusal := o.a.text, o.a.refusal
	if o.a.finish == "refusal" && refusal == "" {
		text, refusal = "", text
	}
	if text == "" && refusal == "" {
		return
	}
	id := "msg_" + o.tag
	item := object{"id": id, "type": itemMessage, "role": "assistant", "status": "in_progress", "content": []object{}}
	o.begin(item)
	content := []object{}
	if text != "" {
		content = append(content, o.part(id, len(content), "output_text", "text", text))
	}
	if refusal != "" {
		content = append(content, o.part(id, len(content), "refusal", "refusal", refusal))
	}
	status := "completed"
	if s, _ := responsesEnd(o.a); s == "incomplete" {
		status = s
	}
	o.end(object{"id": id, "type": itemMessage, "role": "assistant", "status": status, "content": content})
}

// part adds the events of a part of a message, whose words stand in field.
func (o *responsesOutput) part(item string, index int, kind, field, words string) object {
	at := func(fields object) object {
		fields["item_id"] = item
		fields["output_index"] = len(o.items)
		fields["content_index"] = index
		return fields
	}
	begun := object{"type": kind, field: ""}
	whole := object{"type": kind, field: words}
	if kind == "output_text" {
		begun["annotations"] = []string{}
		whole["annotations"] = []string{}
		whole["logprobs"] = []string{}
	}
	o.event("response.content_part.added", at(object{"part": begun}))
	for _, p := range pieces(words, pieceSize) {
		o.event("response."+kind+".delta", at(object{"delta": p}))
	}
	o.event("response."+kind+".done", at(object{field: words}))
	o.event("response.content_part.done", at(object{"part": whole}))
	return whole
}

// call adds the item with the i-th call.
func (o *responsesOutput) call(i int) {
	c := o.a.calls[i]
	tail := fmt.Sprintf("_%s_%d%s", o.tag, i, o.mark)
	if o.finds && c.name == findTools {
		o.search("tsc"+tail, "call"+tail, c.args)
		return
	}
	id := "fc" + tail
	item := func(status, args string) object {
		return object{
			"id":        id,
			"type":      itemCall,
			"status":    status,
			"call_id":   "call" + tail,
			"name":      c.name,
			"arguments": args,
		}
	}
	o.begin(item("in_progress", ""))
	for _, p := range argPieces(c.args) {
		o.event(
			"response.function_call_arguments.delta",
			object{"item_id": id, "output_index": len(o.items), "delta": p},
		)
		o.chunks[len(o.chunks)-1].args = i == len(o.a.calls)-1
	}
	o.event("response.function_call_arguments.done", object{
		"item_id": id, "output_index": len(o.items), "name": c.name, "arguments": c.args,
	})
	o.end(item("completed", c.args))
}

// search adds the item with a search for tools.
func (o *responsesOutput) search(id, call, args string) {
	item := func(status string, args json.RawMessage) object {
		return object{
			"id":        id,
			"type":      itemSearch,
			"execution": "client",
			"status":    status,
			"call_id":   call,
			"arguments": args,
		}
	}
	o.begin(item("in_progress", json.RawMessage(`{}`)))
	o.end(item("completed", json.RawMessage(args)))
}

// responsesEnd is how an answer ended: completed, incomplete or failed, and
// why, if it is incomplete.
func responsesEnd(a *answer) (status, reason string) {
	switch {
	case a.failed:
		return "failed", ""
	case a.finish == "length" || a.finish == finishWindow:
		return "incomplete", "max_output_tokens"
	case a.finish == "content_filter" || a.finish == "safety" || a.finish == "recitation":
		return "incomplete", "content_filter"
	}
	return "completed", ""
}

// response is the document of an answer, so far or as a whole.
func (r *responsesRequest) response(a *answer, status string, items []object) object {
	if items == nil {
		items = []object{}
	}
	doc := object{
		"id":                  "resp_" + idTag(a.tag),
		"object":              "response",
		"created_at":          created,
		"status":              status,
		"model":               a.model,
		"output":              items,
		"error":               nil,
		"incomplete_details":  nil,
		"store":               r.stored(),
		"parallel_tool_calls": r.ParallelCalls == nil || *r.ParallelCalls,
		"usage":               nil,
	}
	if status == "in_progress" {
		return doc
	}
	doc["usage"] = responsesUsage(a.usage, r.gateway.Cost)
	if _, reason := responsesEnd(a); reason != "" {
		doc["incomplete_details"] = object{"reason": reason}
	}
	if a.failed {
		doc["error"] = object{"code": "server_error", "message": failureWords}
	}
	return doc
}

// responsesUsage is the usage object of an answer, with its cost in dollars if
// that is said.
func responsesUsage(u Usage, cost *float64) object {
	out := object{
		"input_tokens": u.Input,
		"input_tokens_details": object{
			"cached_tokens":      u.Cached,
			"cache_write_tokens": u.Written + u.WrittenHour,
		},
		"output_tokens":         u.Output,
		"output_tokens_details": object{"reasoning_tokens": u.Reasoning},
		"total_tokens":          u.Input + u.Output,
	}
	if cost != nil {
		out["cost"] = *cost
	}
	return out
}

// streamed implements question.
func (r *responsesRequest) streamed(a *answer) ([]chunk, error) {
	o := r.output(a)
	status, _ := responsesEnd(a)
	o.event("response."+status, object{"response": r.response(a, status, o.items)})
	return o.chunks, nil
}

// plain implements question.
func (r *responsesRequest) plain(a *answer) ([]byte, error) {
	status, _ := responsesEnd(a)
	return []byte(encoded(r.response(a, status, r.output(a).items))), nil
}
