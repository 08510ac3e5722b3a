package makeup_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/makeup"
)

func result(tool, text string) plan.Message {
	return plan.Message{
		Role:   plan.RoleTool,
		Blocks: []plan.Block{{Type: plan.BlockToolResult, Name: tool, Text: text}},
	}
}

func TestEachMessageIsToldOnce(t *testing.T) {
	t.Parallel()
	file := "package a\n\nfunc First() {}\n\nfunc Second() {}\n"
	read := "1\tpackage a\n2\t\n3\tfunc First() {}\n4\t\n5\tfunc Second() {}\n"
	steer := plan.UserText("faster")
	steer.Origin = plan.OriginSteering
	messages := []plan.Message{
		plan.UserText("Do it. It looks so:\n" + file),
		{Role: plan.RoleAssistant, Blocks: []plan.Block{
			{Type: plan.BlockText, Text: "yes"},
			{Type: plan.BlockToolCall, Name: "read", Args: `{"path":"a.go"}`},
		}},
		result("read", read+"6\tand one more line\n"),
		steer,
		{Role: plan.RoleAssistant, Blocks: []plan.Block{
			{Type: plan.BlockToolCall, Name: "write", Args: `{"content":"one line\nthe next line\nits last line\n"}`},
		}},
		result("write", read),
		result("bash", "a new line\none line\nthe next line\nits last line\n"),
		result("read", "3\tfunc First() {}\n4\t\n"), // a line or two can be chance
		result("read", read),
	}
	shows := func(tool string) bool { return tool != "write" }
	m := makeup.Makeup{Shows: shows}
	var got []plan.Part
	for n := 1; n <= len(messages); n++ {
		got = append(got, m.Of(messages[:n], n-1)...)
	}
	want := []plan.Part{
		{Kind: plan.PartInstructions, Bytes: 20 + int64(len(file))},
		{Kind: plan.PartAnswer, Bytes: 22},
		{Kind: plan.PartResult, Tool: "read", Bytes: int64(len(read)) + 20, Again: int64(len(read))},
		{Kind: plan.PartLetter, Bytes: 6},
		{Kind: plan.PartAnswer, Bytes: 59},
		{Kind: plan.PartResult, Tool: "write", Bytes: int64(len(read))},
		{Kind: plan.PartResult, Tool: "bash", Bytes: 48, Again: 37},
		{Kind: plan.PartResult, Tool: "read", Bytes: 21},
		{Kind: plan.PartResult, Tool: "read", Bytes: int64(len(read)), Again: int64(len(read))},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// Another process knows the messages, and is asked about the last.
	again := makeup.Makeup{Shows: shows}
	if diff := cmp.Diff(want[8:], again.Of(messages, 8)); diff != "" {
		t.Errorf("in another process:\n%s", diff)
	}
	// What was taken out is no longer there to be shown again.
	shorter := []plan.Message{plan.UserText("Go on."), result("read", read)}
	if got := m.Of(shorter, 0); len(got) != 2 || got[1].Again != 0 {
		t.Errorf("after the history was rewritten: %v", got)
	}
}

// BenchmarkOf is what a long conversation costs a process that takes it up.
func BenchmarkOf(b *testing.B) {
	text := strings.Repeat("\tif err != nil { return err }\n", 400)
	var messages []plan.Message
	for range 200 {
		messages = append(messages, result("read", text))
	}
	for b.Loop() {
		var m makeup.Makeup
		m.Of(messages, len(messages)-1)
	}
}
