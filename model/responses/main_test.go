package responses_test

import (
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/responses"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clientOf makes a client for a server.
func clientOf(t testing.TB, s *wiretest.Server, change ...func(*responses.Config)) *wire.Client {
	t.Helper()
	return wiretest.Open(t, responses.New, responses.Config{Config: s.Config()}, change...)
}

// sse writes events, each with its type as its name.
func sse(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		var of struct{ Type string }
		if json.Unmarshal([]byte(e), &of) == nil && of.Type != "" {
			b.WriteString("event: " + of.Type + "\n")
		}
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

// ended is the last event of a stream: a response with a status and its output.
func ended(status string, output ...string) string {
	return event(status, `"id":"resp_1","object":"response","model":"m-1","status":"`+status+`","error":null,"output":[`+
		strings.Join(output, ",")+`]`)
}

// event is an event about the response, with the fields given.
func event(name, fields string) string {
	return `{"type":"response.` + name + `","sequence_number":9,"response":{` + fields + `}}`
}

var completed = ended("completed")

// call is a request of one user message.
func call(text string) loop.Call {
	return wiretest.Call("m", text)
}

// inputOf returns the items of a request.
func inputOf(t testing.TB, body string) []string {
	t.Helper()
	var items []json.RawMessage
	if err := json.Unmarshal([]byte(wiretest.Field(t, body, "input")), &items); err != nil {
		t.Fatalf("the input is no list: %v\n%s", err, body)
	}
	out := make([]string, len(items))
	for i := range items {
		out[i] = string(items[i])
	}
	return out
}
