package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/costs"
)

// sentStory is a conversation whose first call fails once, which reads again what it
// had read, is summarised and goes on, and one at a server that reports nothing.
func sentStory() []plan.Event {
	in := func(conv string, b plan.Body) plan.Event {
		return plan.Event{Run: storyRun, Phase: plan.Explore, Attempt: 1, Conv: conv, Body: b}
	}
	part := func(kind string, bytes int64) plan.Part { return plan.Part{Kind: kind, Bytes: bytes} }
	used := func(input, cached int64) plan.UsageReport {
		return plan.UsageReport{Model: "m", Usage: plan.Usage{Requests: 1, Input: input, Cached: cached}}
	}
	answer := plan.MessageEnd{Message: plan.Message{Role: plan.RoleAssistant}}
	read := plan.Part{Kind: plan.PartResult, Tool: "read", Bytes: 1000, Again: 400}
	return []plan.Event{
		in("c1", plan.Request{Whole: true, Parts: []plan.Part{
			part(plan.PartSchemas, 400), part(plan.PartSystem, 200), part(plan.PartInstructions, 400),
		}}),
		in("c1", used(50, 10)), // billed, and no answer
		in("c1", plan.Retry{Attempt: 1}),
		in("c1", answer),
		in("c1", used(500, 300)), // of which 200 for the schemas, 100 for the system prompt
		in("c1", plan.Request{Parts: []plan.Part{part(plan.PartAnswer, 100), read}}),
		in("c1", answer),
		in("c1", used(1050, 500)), // the first request, and nothing of what came since
		in("c1", plan.CompactionStart{}),
		in("c1", used(70, 0)),
		in("c1", plan.CompactionEnd{}),
		in("c1", plan.Request{Whole: true, Moved: "messages", Parts: []plan.Part{part(plan.PartSummary, 100)}}),
		in("c1", answer),
		in("c1", used(60, 0)),
		in("s1", plan.Request{Whole: true, Parts: []plan.Part{part(plan.PartLetter, 400)}}),
		in("s1", answer),
		in("s1", used(0, 0)),
	}
}

func TestInputIsToldByWhatItIsFor(t *testing.T) {
	t.Parallel()
	c := costsOf(sentStory())
	var got []string
	for _, r := range c.Input() {
		got = append(got, fmt.Sprint(r.Phase, r.Attempt, " ", kindName(r), " ", r.For, costs.Round(r.New), "+", costs.Round(r.Cached)))
	}
	slices.Sort(got)
	want := []string{
		"explore1 instructions 200+200",
		"explore1 its own answers 50+0",
		"explore1 letters and notices 100+0",
		"explore1 making summaries compact70+0",
		"explore1 re-reads 200+0",
		"explore1 results of read 300+0",
		"explore1 retries 40+10",
		"explore1 system prompt 0+200",
		"explore1 tool schemas 0+400",
		"explore1 what was summarised 60+0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var sum float64
	for _, r := range c.InputKinds() {
		sum += r.Tokens()
	}
	if reported := float64(c.Total().Usage.Input); sum != reported+100 {
		t.Errorf("%v tokens are told, %v were reported and 100 guessed", sum, reported)
	}
	doc := costs.NewDocument("R1", c)
	if len(doc.Input) != len(want) || len(doc.Kinds) != len(want) || doc.Kinds[0].New+doc.Kinds[0].Cached != 400 {
		t.Errorf("as JSON: %+v", doc)
	}
	var out strings.Builder
	if err := WriteCosts(&out, c, Options{}); err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "costs_input.txt", out.String())
	if strings.Contains(out.String(), "not told") {
		t.Error("everything was told, and it is said that something was not")
	}
}
