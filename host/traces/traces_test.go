package traces_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/traces"
)

const run = plan.RunID("01JD3Q8Z7K4X2V5T9M0R6WYBNE")

// story is a run with a sub-agent, a check, a call that was made again, and a process that
// died in the middle of a phase.
func story() []plan.Event {
	var out []plan.Event
	at := time.Unix(1_700_000_000, 0)
	turn := 0
	add := func(phase plan.Phase, conv, parent string, bodies ...plan.Body) {
		for _, b := range bodies {
			at = at.Add(time.Second)
			ev := plan.Event{
				Run:     run,
				Seq:     int64(len(out) + 1),
				Time:    at,
				Phase:   phase,
				Attempt: 1,
				Conv:    conv,
				Parent:  parent,
				Body:    b,
			}
			if conv != "" {
				ev.Turn = &turn
			}
			out = append(out, ev)
		}
	}
	answer := func(text string) plan.MessageEnd {
		m := plan.MessageEnd{Message: plan.UserText(text), Stop: "stop"}
		m.Role = plan.RoleAssistant
		return m
	}
	used := plan.UsageReport{Model: "m", Usage: plan.Usage{Input: 10, Output: 2}, CostUSD: 0.5, Priced: true}
	add("", "", "", plan.RunStart{Request: "the secret request"})
	add(plan.Implement, "c1", "", plan.PhaseStart{Model: "m"}, plan.TurnStart{}, plan.Request{Model: "m"},
		plan.Retry{Attempt: 1, Reason: "busy"}, answer("the secret answer"), used,
		plan.ToolStart{Call: "t1", Name: "task", Conv: "c2", Args: json.RawMessage(`{"request":"the secret task"}`)})
	add(plan.Implement, "c2", "c1", plan.TurnStart{}, plan.Request{Model: "small"}, answer("x"), used, plan.TurnEnd{})
	add(plan.Implement, "c1", "", plan.ToolEnd{Call: "t1", Name: "task", Output: "the secret output"}, plan.TurnEnd{})
	add(plan.Implement, "c1", "", plan.PhaseStart{Model: "m", Resumed: true}, plan.PhaseEnd{Reason: plan.EndCompleted})
	check := plan.Check{Command: "make test", Required: true}
	add("", "", "", plan.CheckStart{Check: check}, plan.CheckEnd{CheckResult: plan.CheckResult{Check: check, ExitCode: 2}},
		plan.RunEnd{Outcome: plan.Exhausted, ExitCode: plan.ExitNotApproved})
	return out
}

func spansOf(content bool) []traces.Span {
	t := traces.Tracer{Content: content}
	for _, ev := range story() {
		t.Add(ev)
	}
	return append(t.Take(), t.Open()...)
}

// tree is what a collector makes of spans: each as the path of its names.
func tree(spans []traces.Span) map[string]traces.Span {
	byID := map[[8]byte]traces.Span{}
	for _, s := range spans {
		byID[s.ID] = s
	}
	out := map[string]traces.Span{}
	for _, s := range spans {
		path := s.Name
		for up, ok := byID[s.Parent]; ok; up, ok = byID[up.Parent] {
			path = up.Name + " > " + path
		}
		out[path] = s
	}
	return out
}

func TestSpansOfARun(t *testing.T) {
	t.Parallel()
	spans := spansOf(false)
	got := tree(spans)
	for _, path := range []string{
		"plan run",
		"plan run > phase implement",
		"plan run > phase implement > turn",
		"plan run > phase implement > turn > chat m",
		"plan run > phase implement > turn > execute_tool task",
		"plan run > phase implement > turn > execute_tool task > turn",
		"plan run > phase implement > turn > execute_tool task > turn > chat small",
		"plan run > check",
	} {
		s, ok := got[path]
		if !ok {
			t.Errorf("there is no span %s", path)
			continue
		}
		if s.Trace != traces.TraceID(run) || s.Seq == 0 || !s.End.After(s.Start) {
			t.Errorf("%s: %+v", path, s)
		}
		delete(got, path)
	}
	if len(got) > 0 || len(spans) != 8 {
		t.Errorf("there are also %v", got)
	}
	all := tree(spans)
	if !all["plan run"].Failed || !all["plan run > check"].Failed || all["plan run > phase implement"].Failed {
		t.Error("what failed is not told")
	}
	call := all["plan run > phase implement > turn > chat m"]
	attrs := map[string]any{}
	for _, a := range call.Attrs {
		if _, twice := attrs[a.Key]; twice {
			t.Errorf("the call has %s twice", a.Key)
		}
		attrs[a.Key] = a.Value
	}
	if attrs["gen_ai.operation.name"] != "chat" || attrs["gen_ai.usage.input_tokens"] != int64(10) ||
		attrs["plan.retries"] != int64(1) || call.Kind != traces.Client {
		t.Errorf("the call is %+v", call)
	}
	for i, s := range spansOf(false) {
		if s.ID != spans[i].ID {
			t.Error("the same run has other ids")
		}
	}
}

// TestOpenSpans: of a run that goes on, what is open ends with its last event.
func TestOpenSpans(t *testing.T) {
	t.Parallel()
	var tr traces.Tracer
	events := story()[:4]
	for _, ev := range events {
		tr.Add(ev)
	}
	open := tr.Open()
	if len(tr.Take()) != 0 || len(open) != 2 || !open[0].End.Equal(events[3].Time) || open[0].Seq != 0 {
		t.Errorf("open are %+v", open)
	}
}

// TestWhatIsSent: a collector gets the protocol's JSON, and of what was said nothing unless
// that is asked for.
func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	var bodies []string
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []struct {
						TraceID           string
						SpanID            string
						ParentSpanID      string
						StartTimeUnixNano string
					}
				}
			}
		}
		var raw json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&raw); err != nil || json.Unmarshal(raw, &got) != nil {
			t.Errorf("what is sent is %s, %v", raw, err)
		}
		for _, s := range got.ResourceSpans[0].ScopeSpans[0].Spans {
			if len(s.TraceID) != 32 || len(s.SpanID) != 16 || len(s.StartTimeUnixNano) != 19 {
				t.Errorf("a span is %+v", s)
			}
		}
		if r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-Key") != "a b" {
			t.Errorf("the headers are %v", r.Header)
		}
		bodies = append(bodies, r.URL.Path+" "+string(raw))
		w.WriteHeader(status)
	}))
	defer server.Close()
	env := map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL + "/",
		"OTEL_EXPORTER_OTLP_HEADERS":  "x-key=a%20b, other=1",
	}
	getenv := func(name string) string { return env[name] }
	c, ok := traces.CollectorOf(getenv)
	if !ok {
		t.Fatal("the environment names a collector")
	}
	many := spansOf(false)
	for len(many) < 1001 {
		many = append(many, many...)
	}
	if err := c.Send(t.Context(), server.Client(), many); err != nil || len(bodies) < 3 {
		t.Errorf("%d spans went in %d requests, %v", len(many), len(bodies), err)
	}
	if !strings.HasPrefix(bodies[0], "/v1/traces ") || strings.Contains(strings.Join(bodies, ""), "the secret") {
		t.Errorf("what is sent is %.500s", bodies[0])
	}
	env["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "true"
	if c, err := traces.CollectorAt(server.URL, getenv); err != nil || !c.Content || c.URL != server.URL+"/v1/traces" {
		t.Errorf("the collector is %+v, %v", c, err)
	}
	bodies = nil
	if err := c.Send(t.Context(), server.Client(), spansOf(true)); err != nil ||
		strings.Count(strings.Join(bodies, ""), "the secret") != 4 {
		t.Errorf("asked for, what is sent is %v, %v", bodies, err)
	}
	status = http.StatusForbidden
	if err := c.Send(t.Context(), server.Client(), spansOf(false)); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("refused, it says %v", err)
	}
	for _, address := range []string{"127.0.0.1:4318", "ftp://x", ""} {
		if _, err := traces.CollectorAt(address, getenv); err == nil {
			t.Errorf("%q passes as an address", address)
		}
	}
	if _, ok := traces.CollectorOf(func(string) string { return "" }); ok {
		t.Error("an environment without one names a collector")
	}
}
