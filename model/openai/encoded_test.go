package openai

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// What is kept of a message is only taken for one that says the same.
func TestKeptEncodings(t *testing.T) {
	t.Parallel()
	client, err := New(Config{Caps: func(model string) Caps { return Caps{SendReasoning: model == "thinks"} }})
	if err != nil {
		t.Fatal(err)
	}
	sent := func(model string, refused nameSet, messages ...plan.Message) string {
		t.Helper()
		body, err := client.encode(loop.Call{Model: model, Messages: messages}, refused)
		if err != nil {
			t.Fatal(err)
		}
		data, err := body.bytes()
		if err != nil {
			t.Fatal(err)
		}
		if refused == nil && slices.Contains(body.optional, paramReasoning) != strings.Contains(string(data), paramReasoning) {
			t.Errorf("optional %v of %s", body.optional, data)
		}
		return string(data)
	}
	said := plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockReasoning, Text: "hm"}, {Type: plan.BlockText, Text: "one"}}}
	for range 2 {
		if got := sent("m", nil, said); strings.Contains(got, "hm") || !strings.Contains(got, "one") {
			t.Errorf("to a model that is not sent reasoning: %s", got)
		}
		if got := sent("thinks", nil, said); !strings.Contains(got, "hm") {
			t.Errorf("to one that is: %s", got)
		}
		if got := sent("thinks", nameSet{paramReasoning: true}, said); strings.Contains(got, "hm") {
			t.Errorf("to one that refused it: %s", got)
		}
	}
	said.Blocks[1].Text = "two"
	if got := sent("m", nil, said); !strings.Contains(got, "two") {
		t.Errorf("changed in place: %s", got)
	}
}

// However much is said, no more is kept than the bound allows.
func TestKeptEncodingsAreBounded(t *testing.T) {
	t.Parallel()
	client, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		text := fmt.Sprint(i) + strings.Repeat("x", maxKept/10)
		if _, err := client.encode(loop.Call{Messages: []plan.Message{plan.UserText(text)}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	size := 0
	for _, kept := range client.said.kept {
		size += len(kept.raw)
	}
	if size > maxKept || size < maxKept/2 {
		t.Errorf("%d bytes are kept, bounded by %d", size, maxKept)
	}
}
