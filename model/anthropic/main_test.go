package anthropic_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/anthropic"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clientOf makes a client for a server.
func clientOf(t testing.TB, s *wiretest.Server, change ...func(*anthropic.Config)) *wire.Client {
	t.Helper()
	cfg := anthropic.Config{Config: s.Config()}
	cfg.Provider = "house"
	return wiretest.Open(t, anthropic.New, cfg, change...)
}

func withKey(key string) func(*anthropic.Config) {
	return func(c *anthropic.Config) {
		c.Key = wiretest.Key(key)
	}
}

// event writes one event.
func event(kind, fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, fields)
}

// begun begins a message.
const begun = "event: message_start\n" +
	`data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-1","content":[],` +
	`"usage":{"input_tokens":3,"output_tokens":1}}}` +
	"\n\n"

// said is a whole block that comes in pieces.
func said(index int, block string, deltas ...string) string {
	out := event("content_block_start", fmt.Sprintf(`"index":%d,"content_block":%s`, index, block))
	for _, d := range deltas {
		out += event("content_block_delta", fmt.Sprintf(`"index":%d,"delta":%s`, index, d))
	}
	return out + event("content_block_stop", fmt.Sprintf(`"index":%d`, index))
}

// words is a block of text.
func words(index int, text string) string {
	return said(index, `{"type":"text","text":""}`, delta("text_delta", "text", text))
}

// delta is a piece of a block.
func delta(kind, field, text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"type":%q,%q:%s}`, kind, field, raw)
}

// ended ends a message.
func ended(why string) string {
	return event(
		"message_delta",
		fmt.Sprintf(`"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":5}`, why),
	) +
		event("message_stop", "")
}

// answered is a short answer.
var answered = begun + words(0, "ok") + ended("end_turn")

// call is a request of one user message.
func call(text string) loop.Call {
	return wiretest.Call("claude-opus-4-6", text)
}
