package estimate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
)

func TestEstimator(t *testing.T) {
	t.Parallel()
	var e Estimator
	messages := []plan.Message{plan.UserText(strings.Repeat("word ", 800)), plan.UserText("Go on.")}
	n := e.System("You are careful.") + e.Tool("read", "Reads.", json.RawMessage(`{"type":"object"}`)) + e.Messages(messages)
	if n <= e.Messages(messages) || e.Tokens(n) != n {
		t.Errorf("%d counted", n)
	}
	if more := e.Messages(append(slices.Clone(messages), plan.Message{
		Role:   plan.RoleExtension,
		Blocks: []plan.Block{{Type: plan.BlockText, Text: "never sent"}},
	})); more != e.Messages(messages) {
		t.Error("an extension message was counted")
	}
	e.observe(1000, 1300)
	if got := e.Tokens(2000); got != 2600 {
		t.Errorf("after the first report: %d", got)
	}
	for range 40 {
		e.observe(1000, 800)
	}
	if got := e.Tokens(2000); got < 1590 || got > 1610 {
		t.Errorf("after many reports: %d", got)
	}
	before := e.Tokens(2000)
	e.observe(0, 100)
	e.observe(100, 0)
	if e.Tokens(2000) != before {
		t.Error("a report without numbers changed something")
	}
	e.observe(10, 1_000_000)
	if e.Tokens(1000) > 2000 {
		t.Error("one report beyond belief moved the estimate too far")
	}
	words := Estimator{exact: true, Count: func(s string) int64 { return int64(len(strings.Fields(s))) }}
	if got := words.Messages([]plan.Message{plan.UserText("one two three")}); got != tokensPerMessage+3 {
		t.Errorf("with a tokenizer: %d", got)
	}
	image := []plan.Message{{
		Role:   plan.RoleUser,
		Blocks: []plan.Block{{Type: plan.BlockImage, Data: strings.Repeat("A", 1<<20)}},
	}}
	if got := e.Messages(image); got > 5000 {
		t.Errorf("an image: %d", got)
	}
}

// TestCountingIsExactOnlyNearTheLimit, because it is dear.
func TestCountingIsExactOnlyNearTheLimit(t *testing.T) {
	t.Parallel()
	asked := 0
	e := Estimator{Count: func(s string) int64 { asked++; return int64(len(s)) }}
	messages := []plan.Message{plan.UserText(strings.Repeat("word ", 800))} // roughly 1000 tokens
	n := e.Messages(messages)
	if e.Refine(n, 1500) || asked != 0 {
		t.Error("far from the limit it was counted exactly")
	}
	e.observe(n, 2*n)
	if !e.Refine(n, 1500) || e.Tokens(100) != 100 {
		t.Error("near the limit it was not counted anew")
	}
	if got := e.Messages(messages); got != 4000+tokensPerMessage || asked == 0 {
		t.Errorf("%d tokens", got)
	}
	if e.Refine(n, 1500) {
		t.Error("it was refined twice")
	}
}
