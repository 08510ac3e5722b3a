package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/plan-engine/plan/model/scripted"
)

func TestCount(t *testing.T) {
	t.Parallel()
	body := func(messages ...string) []byte {
		return []byte(`{"model":"m","tools":[{"type":"function"}],"messages":[` + strings.Join(messages, ",") + `]}`)
	}
	const (
		system = `{"role":"system","content":"Be careful."}`
		asked  = `{"role":"user","content":"Look at this:\none line\nthe next line\nthe last line\n"}`
		// It begins like the first message of Explore.
		planned = `{"role":"user","content":"Look at this:\nPlan."}`
		called  = `{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"read","arguments":"{}"}}]}`
		read    = `{"role":"tool","tool_call_id":"c1","content":"1\tone line\n2\tthe next line\n3\tthe last line\n"}`
	)
	seen := []scripted.Seen{
		{Method: "GET"},
		{Method: "POST", Header: http.Header{"X-Plan-Phase": {"explore"}}, Body: body(system, asked)},
		{Method: "POST", Header: http.Header{"X-Plan-Phase": {"explore"}}, Body: body(system, asked, called, read)},
		{Method: "POST", Header: http.Header{"X-Plan-Phase": {"plan"}}, Body: body(system, planned)},
	}
	got, err := count(seen)
	if err != nil {
		t.Fatal(err)
	}
	explore, plan := got.phases[0], got.phases[1]
	switch {
	case got.requests != 3 || explore.requests != 2 || plan.requests != 1:
		t.Errorf("%d requests, %d and %d", got.requests, explore.requests, plan.requests)
	case explore.input-explore.fresh != explore.schemas+explore.system+explore.first:
		t.Errorf("the second request repeats more or less than the first: %+v", explore)
	case plan.fresh >= plan.first-4 || plan.fresh < 3 || plan.schemas != explore.schemas || plan.first >= explore.first:
		t.Errorf("what all phases begin with is new again: %+v", plan)
	case got.results["read"] == 0 || got.again != got.results["read"]:
		t.Errorf("%d tokens were read, %d of them again", got.results["read"], got.again)
	case got.input != explore.input+plan.input || weighted(got.input, got.fresh) >= got.input:
		t.Errorf("%d in all", got.input)
	}
	text := report([]*tally{got})
	for _, want := range []string{"## Whole runs", "| way | program | read |", "| plan | "} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}
