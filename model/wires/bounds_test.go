package wires_test

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan/internal/sampling"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/anthropic"
	"github.com/plan-engine/plan/model/chat"
	"github.com/plan-engine/plan/model/responses"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

// speaker is a wire, with what its server sends; %s is a piece.
type speaker struct {
	open                            wire.Opener
	begin, text, thought, arguments string
	call                            string // a whole call; %d is its number
	end                             string
}

func event(data string) string { return "data: " + data + "\n\n" }

func speakers() map[string]speaker {
	return map[string]speaker{
		"chat": {
			open:    chat.Open,
			text:    event(`{"choices":[{"index":0,"delta":{"content":"%s"}}]}`),
			thought: event(`{"choices":[{"index":0,"delta":{"reasoning_content":"%s"}}]}`),
			arguments: event(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":` +
				`{"name":"look","arguments":"%s"}}]}}]}`),
			call: event(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%[1]d,"id":"c%[1]d","function":` +
				`{"name":"look","arguments":"{}"}}]}}]}`),
			end: event(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`),
		},
		"responses": {
			open:    responses.Open,
			text:    event(`{"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"%s"}`),
			thought: event(`{"type":"response.reasoning_text.delta","item_id":"r","output_index":0,"content_index":0,"delta":"%s"}`),
			arguments: event(`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f",`+
				`"call_id":"c","name":"look"}}`) +
				event(`{"type":"response.function_call_arguments.delta","item_id":"f","output_index":0,"delta":"%s"}`),
			call: event(`{"type":"response.output_item.done","output_index":%[1]d,"item":{"type":"function_call","id":"f%[1]d",` +
				`"call_id":"c%[1]d","name":"look","arguments":"{}"}}`),
			end: event(`{"type":"response.completed","response":{"status":"completed"}}`),
		},
		"anthropic": {
			open:    anthropic.Open,
			begin:   event(`{"type":"message_start","message":{"type":"message","role":"assistant"}}`),
			text:    event(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%s"}}`),
			thought: event(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"%s"}}`),
			arguments: event(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"look",`+
				`"input":{}}}`) +
				event(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"%s"}}`),
			call: event(`{"type":"content_block_start","index":%[1]d,"content_block":{"type":"tool_use","id":"c%[1]d",` +
				`"name":"look","input":{}}}`),
			end: event(`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`) + event(`{"type":"message_stop"}`),
		},
	}
}

// bounded is what a server sends, and how much of it may be read.
type bounded struct {
	next   func(n int) string
	status int
	kind   loop.ErrorKind
	read   int
}

// flood is a body that repeats what next makes, and notes the largest heap while
// it is read.
type flood struct {
	next func(n int) string
	most int // bytes

	n, sent int
	rest    []byte
	looked  int
	heap    uint64
}

func (f *flood) Read(p []byte) (int, error) {
	if f.sent >= f.looked {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		f.heap = max(f.heap, m.HeapAlloc)
		f.looked += 1 << 20
	}
	if len(f.rest) == 0 {
		if f.sent >= f.most {
			return 0, io.EOF
		}
		f.rest = []byte(f.next(f.n))
		f.n++
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	f.sent += n
	return n, nil
}

func (*flood) Close() error { return nil }

// TestAnswersAreBounded has servers whose answers have 200 MB, in every place that
// there is. None of it is taken for a limit of rates, or fills the memory. The
// heap is measured, so nothing runs beside it. A sample has each place over one wire.
//
//nolint:paralleltest // see above
func TestAnswersAreBounded(t *testing.T) {
	const (
		all  = 130 << 20
		kept = 8 << 20
		heap = 160 << 20
	)
	type place struct {
		wire, what string
		speaker
		bounded
	}
	var places []place
	piece := strings.Repeat("x", 4<<10)
	for name, s := range speakers() {
		repeats := func(form string) func(int) string {
			text := fmt.Sprintf(form, piece)
			return func(n int) string {
				if n == 0 {
					return s.begin + text
				}
				return text
			}
		}
		begins := func(with string) func(n int) string {
			return func(n int) string {
				if n == 0 {
					return with
				}
				return piece
			}
		}
		document := begins(`{"x":"`)
		cases := map[string]bounded{
			"text":        {repeats(s.text), 200, loop.ErrOverlong, 2 * kept},
			"reasoning":   {repeats(s.thought), 200, loop.ErrOverlong, 2 * kept},
			"arguments":   {repeats(s.arguments), 200, loop.ErrOverlong, 2 * kept},
			"one line":    {begins(`data: {"x":"`), 200, loop.ErrOverlong, 2 * kept},
			"many lines":  {func(int) string { return "data: " + piece + "\n" }, 200, loop.ErrOverlong, 2 * kept},
			"a document":  {document, 200, loop.ErrOverlong, 2 * kept},
			"a page":      {begins(`<html><title>`), 200, loop.ErrNotFound, 2 << 20},
			"an error":    {document, 500, loop.ErrServed, 2 << 20},
			"blank":       {func(int) string { return strings.Repeat(" ", 4<<10) }, 200, loop.ErrOverlong, 2 * kept},
			"many events": {func(int) string { return event(`{"type":"ping","x":"` + piece + `"}`) }, 200, loop.ErrOverlong, 5 * kept},
		}
		if name == "chat" { // before any wire has a say
			cases["comments"] = bounded{func(int) string { return ": " + piece + "\n\n" }, 200, loop.ErrOverlong, all - 1}
		}
		for what, c := range cases {
			places = append(places, place{name, what, s, c})
		}
		t.Run(name+", too many calls", func(t *testing.T) {
			body := &flood{next: func(n int) string {
				if n == 0 {
					return s.begin
				}
				return fmt.Sprintf(s.call, n-1)
			}, most: all}
			_, err := s.client(t, 200, body).Generate(t.Context(), wiretest.Call("m", "hi"), nil)
			wiretest.ModelError(t, err, loop.ErrOverlong)
		})
		t.Run(name+", as long as may be", func(t *testing.T) {
			const pieces = 3 << 19 / (4 << 10) // 1.5 MiB: three times the longest answer of a model today
			stream := s.begin + strings.Repeat(fmt.Sprintf(s.text, piece), pieces) + s.end + event("[DONE]")
			body := &flood{next: func(int) string { return stream }, most: 1}
			ans, err := s.client(t, 200, body).Generate(t.Context(), wiretest.Call("m", "hi"), nil)
			if err != nil || len(ans.Message.Text()) != pieces*len(piece) {
				t.Errorf("the answer has %d bytes, %v", len(ans.Message.Text()), err)
			}
		})
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.what, b.what), cmp.Compare(a.wire, b.wire)) })
	for _, c := range sampling.PickEach(sampling.New(t), 1, places, func(c place) string { return c.what }) {
		t.Run(c.wire+", "+c.what, func(t *testing.T) {
			runtime.GC()
			body := &flood{next: c.next, most: all}
			_, err := c.client(t, c.status, body).Generate(t.Context(), wiretest.Call("m", "hi"), nil)
			me := wiretest.ModelError(t, err, c.kind)
			if c.kind == loop.ErrOverlong && (me.Bound == "" || !me.Transient()) {
				t.Errorf("the model is told nothing: %+v", me)
			}
			if body.sent > c.read || body.heap > heap {
				t.Errorf("%d MiB were read, the heap had %d MiB", body.sent>>20, body.heap>>20)
			}
		})
	}
}

// client is a client of a server that answers every request with body.
func (s speaker) client(t *testing.T, status int, body io.ReadCloser) *wire.Client {
	t.Helper()
	client, err := s.open(wire.Config{
		BaseURL: "http://model.test/v1",
		HTTP: &http.Client{Transport: wiretest.RoundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: body}, nil
		})},
	}, func(string) wire.Model { return wire.Model{} })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// TestADrip: a server that never falls silent and never ends is given up when the
// time for the whole is over, and no patience makes that longer. The ticker is the
// server's, nothing is timed by the test.
func TestADrip(t *testing.T) {
	t.Parallel()
	for name, s := range speakers() {
		for _, what := range []string{s.begin + "data: {", "{", s.begin + s.text} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				server := wiretest.Serve(t, func(w http.ResponseWriter, r *http.Request, _ int, _ string) {
					tick := time.NewTicker(20 * time.Millisecond)
					defer tick.Stop()
					for out := what; ; out = " " {
						if _, err := io.WriteString(w, out); err != nil {
							return
						}
						_ = http.NewResponseController(w).Flush()
						select {
						case <-r.Context().Done():
							return
						case <-tick.C:
						}
					}
				})
				cfg := server.Config()
				cfg.Whole = time.Second // and it has begun by then
				client, err := s.open(cfg, func(string) wire.Model { return wire.Model{} })
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(client.Close)
				call := wiretest.Call("m", "hi")
				call.Patience = 2
				_, err = client.Generate(t.Context(), call, nil)
				me := wiretest.ModelError(t, err, loop.ErrIdle)
				if me.Bound != "did not come to an end within 1s" || !strings.Contains(me.Message, "timeouts.answer") {
					t.Errorf("error = %+v", me)
				}
			})
		}
	}
}
