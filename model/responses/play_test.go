package responses_test

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/loop/looptest"
)

type object map[string]any

// script is an answer as the events of a stream.
type script struct {
	events []object
	output []object
	half   int // where a fault strikes
}

func (s *script) add(kind string, fields object) {
	fields["type"] = kind
	fields["sequence_number"] = len(s.events)
	s.events = append(s.events, fields)
}

// item adds an item that grows by deltas.
func (s *script) item(begun, whole object, delta string, pieces []string, at object) {
	index := len(s.output)
	s.add("response.output_item.added", object{"output_index": index, "item": begun})
	for i, piece := range pieces {
		fields := object{"item_id": whole["id"], "output_index": index, "delta": piece}
		for name, value := range at {
			fields[name] = value
		}
		s.add(delta, fields)
		if i == 0 {
			s.half = len(s.events)
		}
	}
	s.add("response.output_item.done", object{"output_index": index, "item": whole})
	s.output = append(s.output, whole)
}

// write writes an answer.
func write(r looptest.Reply, n int) *script {
	s := &script{}
	s.add(
		"response.created",
		object{"response": object{"status": "in_progress", "model": "m-1", "output": []any{}, "usage": nil}},
	)
	mark := ""
	if r.Reasoning != "" {
		id := fmt.Sprintf("rs_%d", n)
		summary := []object{{"type": "summary_text", "text": r.Reasoning}}
		s.item(
			object{"id": id, "type": "reasoning", "summary": []any{}, "encrypted_content": "half"},
			object{"id": id, "type": "reasoning", "summary": summary, "encrypted_content": "sealed-" + id, "status": nil},
			"response.reasoning_summary_text.delta", cut(r.Reasoning), object{"summary_index": 0},
		)
		mark = "_r"
	}
	if r.Text != "" {
		id := fmt.Sprintf("msg_%d", n)
		content, delta := object{"type": "output_text", "text": r.Text, "annotations": []any{}}, "response.output_text.delta"
		if r.Finish == string(loop.StopRefused) {
			content, delta = object{"type": "refusal", "refusal": r.Text}, "response.refusal.delta"
		}
		s.item(
			object{"id": id, "type": "message", "role": "assistant", "status": "in_progress", "content": []any{}},
			object{"id": id, "type": "message", "role": "assistant", "status": "completed", "content": []object{content}},
			delta, cut(r.Text), object{"content_index": 0},
		)
	}
	for i, c := range r.Calls {
		item := func(args, status string) object {
			return object{
				"id": fmt.Sprintf("fc_%d_%d", n, i), "type": "function_call", "call_id": fmt.Sprintf("call_%d_%d%s", n, i, mark),
				"name": c.Name, "arguments": args, "status": status,
			}
		}
		s.item(item("", "in_progress"), item(c.Args, "completed"), "response.function_call_arguments.delta", cut(c.Args), nil)
	}
	return s
}

// cut cuts text into pieces, at least two where there are two bytes.
func cut(text string) []string {
	var out []string
	runes := []rune(text)
	size := max(1, min(17, len(runes)/2))
	for len(runes) > size {
		out = append(out, string(runes[:size]))
		runes = runes[size:]
	}
	return append(out, string(runes))
}

// response is the whole response of a reply.
func (s *script) response(r looptest.Reply) object {
	status := "completed"
	var details any
	switch loop.StopReason(r.Finish) {
	case "", loop.StopEnd, loop.StopTools, loop.StopRefused:
	case loop.StopLength:
		status, details = "incomplete", object{"reason": "max_output_tokens"}
	default:
		status, details = "incomplete", object{"reason": r.Finish}
	}
	output := s.output
	if output == nil {
		output = []object{}
	}
	return object{
		"id":                 "resp_1",
		"object":             "response",
		"model":              "m-1",
		"status":             status,
		"incomplete_details": details,
		"error":              nil,
		"output":             output,
		"usage": object{
			"input_tokens": r.Usage.Input, "input_tokens_details": object{"cached_tokens": r.Usage.Cached},
			"output_tokens": r.Usage.Output, "output_tokens_details": object{"reasoning_tokens": r.Usage.Reasoning},
			"total_tokens": r.Usage.Input + r.Usage.Output,
		},
	}
}

// play sends a reply, or as much of it as the fault lets through.
func play(w http.ResponseWriter, r *http.Request, reply looptest.Reply, fault *looptest.Fault, n int, whole bool) {
	s := write(reply, n)
	if fault == nil && whole {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.response(reply))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(e object) {
		data, _ := json.Marshal(e)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], data)
		_ = http.NewResponseController(w).Flush()
	}
	end := s.response(reply)
	s.add("response."+end["status"].(string), object{"response": end})
	for i, e := range s.events {
		if fault != nil && i == s.half {
			break
		}
		send(e)
	}
	if fault == nil {
		return
	}
	switch fault.Kind {
	case looptest.FaultReset:
		panic(http.ErrAbortHandler)
	case looptest.FaultErrorFrame:
		send(object{"type": "error", "code": "server_error", "message": "The server had an error.", "param": nil, "sequence_number": 9})
	case looptest.FaultGarbage:
		fmt.Fprint(w, "data: {\"type\":\"response.outp\n\n")
	case looptest.FaultHang:
		<-r.Context().Done()
	}
}
