package anthropic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/loop/looptest"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	looptest.Run(t, play)
}

// play makes a model for a server that plays a scenario.
func play(t *testing.T, s looptest.Scenario) loop.Model {
	t.Helper()
	p := &player{scenario: s, struck: map[int]int{}}
	f := wiretest.Serve(t, func(w http.ResponseWriter, r *http.Request, _ int, body string) { p.play(t, w, r, body) })
	client := clientOf(t, f)
	t.Cleanup(client.Close)
	return client
}

// player plays a scenario over the Messages wire.
type player struct {
	scenario looptest.Scenario
	struck   map[int]int // how often the fault of a reply has struck
}

func (p *player) play(t *testing.T, w http.ResponseWriter, r *http.Request, body string) {
	t.Helper()
	var req struct {
		Messages []struct {
			Role string `json:"role"`
		} `json:"messages"`
	}
	if err := json.Unmarshal([]byte(body), &req); err != nil {
		t.Errorf("request: %v", err)
	}
	// An answer of which nothing can be sent back leaves two messages of the user.
	n := -1
	for _, m := range req.Messages {
		if m.Role == "user" {
			n++
		}
	}
	if n < 0 || n >= len(p.scenario.Replies) {
		t.Errorf("request for the reply %d: %s", n, body)
		return
	}
	reply := p.scenario.Replies[n]
	fault := reply.Fault
	if fault != nil && p.struck[n] < fault.Times {
		p.struck[n]++
	} else {
		fault = nil
	}
	if fault != nil && fault.Kind == looptest.FaultStatus {
		refuse(w, *fault)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	events := replied(reply)
	if fault == nil {
		for _, e := range events {
			fmt.Fprint(w, e)
			w.(http.Flusher).Flush()
		}
		return
	}
	strike(w, r, *fault, events)
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, fault looptest.Fault) {
	if fault.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(fault.RetryAfter/time.Second)))
	}
	kind := fault.Code
	if kind == "" {
		kind = map[int]string{
			400: "invalid_request_error",
			403: "permission_error",
			429: "rate_limit_error",
			500: "api_error",
			503: "overloaded_error",
		}[fault.Status]
	}
	w.WriteHeader(fault.Status)
	fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":"It did not work."},"request_id":"req_1"}`, kind)
}

// strike sends a part of an answer, and then what goes wrong.
func strike(w http.ResponseWriter, r *http.Request, fault looptest.Fault, events []string) {
	for _, e := range events[:len(events)/2] {
		fmt.Fprint(w, e)
	}
	w.(http.Flusher).Flush()
	switch fault.Kind {
	case looptest.FaultReset:
		panic(http.ErrAbortHandler)
	case looptest.FaultErrorFrame:
		fmt.Fprint(w, event("error", `"error":{"type":"overloaded_error","message":"Overloaded"}`))
	case looptest.FaultGarbage:
		fmt.Fprint(w, "event: content_block_delta\ndata: {\"type\": garbage\n\n")
	case looptest.FaultHang:
		<-r.Context().Done()
	}
}

// replied is a reply as a stream, in pieces of some letters.
func replied(r looptest.Reply) []string {
	u := r.Usage
	events := []string{
		fmt.Sprintf("event: message_start\ndata: "+
			`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-1","content":[],`+
			`"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":0,`+
			`"output_tokens":0}}}`+"\n\n", u.Input-u.Cached, u.Cached),
		event("ping", ""),
	}
	index := 0
	add := func(block, kind, field, text string) {
		events = append(events, event("content_block_start", fmt.Sprintf(`"index":%d,"content_block":%s`, index, block)))
		for _, piece := range pieces(text) {
			events = append(
				events,
				event("content_block_delta", fmt.Sprintf(`"index":%d,"delta":%s`, index, delta(kind, field, piece))),
			)
		}
		if kind == "thinking_delta" {
			events = append(events, event("content_block_delta", fmt.Sprintf(`"index":%d,`+
				`"delta":%s`, index, delta("signature_delta", "signature", "c2ln"))))
		}
		events = append(events, event("content_block_stop", fmt.Sprintf(`"index":%d`, index)))
		index++
	}
	if r.Reasoning != "" {
		add(`{"type":"thinking","thinking":"","signature":""}`, "thinking_delta", "thinking", r.Reasoning)
	}
	if r.Text != "" {
		add(`{"type":"text","text":""}`, "text_delta", "text", r.Text)
	}
	for i, c := range r.Calls {
		add(
			fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":%q,"input":{}}`, i, c.Name),
			"input_json_delta",
			"partial_json",
			c.Args,
		)
	}
	return append(events, event("message_delta", fmt.Sprintf(
		`"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":%d,"output_tokens_details":{"thinking_tokens":%d}}`,
		stopOf(r), u.Output, u.Reasoning)), event("message_stop", ""))
}

// stopOf is the reason for stopping in the words of the wire.
func stopOf(r looptest.Reply) string {
	switch r.Finish {
	case "":
		if len(r.Calls) > 0 {
			return "tool_use"
		}
		return "end_turn"
	case string(loop.StopLength):
		return "max_tokens"
	}
	return r.Finish
}

// pieces cuts a text.
func pieces(text string) (out []string) {
	const long = 7
	runes := []rune(text)
	for len(runes) > long {
		out = append(out, string(runes[:long]))
		runes = runes[long:]
	}
	return append(out, string(runes))
}
