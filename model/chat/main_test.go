package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/chat"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clientOf makes a client for a server.
func clientOf(t testing.TB, s *wiretest.Server, change ...func(*chat.Config)) *wire.Client {
	t.Helper()
	return wiretest.Open(t, chat.New, chat.Config{Config: s.Config()}, change...)
}

func withKey(key string) func(*chat.Config) {
	return func(c *chat.Config) {
		c.Key = wiretest.Key(key)
	}
}

// sse writes events, each in a data line, with [DONE] at the end.
func sse(events ...string) string {
	var b strings.Builder
	for _, e := range append(events, "[DONE]") {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

// deltaOf makes a chunk with a delta and a finish reason ("" for none).
func deltaOf(delta, finish string) string {
	reason := "null"
	if finish != "" {
		reason = `"` + finish + `"`
	}
	return fmt.Sprintf(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[{"index":0,"delta":%s,`+
		`"finish_reason":%s}]}`, delta, reason)
}

const stopped = `{"id":"c1","model":"m-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

// call is a request of one user message.
func call(text string) loop.Call {
	return wiretest.Call("m", text)
}
