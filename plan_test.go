package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

func TestStates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state plan.State
		phase plan.Phase
		final bool
		code  int
	}{
		{plan.Unstarted, "", false, 1},
		{plan.Exploring, plan.Explore, false, 1},
		{plan.Planning, plan.Plan, false, 1},
		{plan.Implementing, plan.Implement, false, 1},
		{plan.Reviewing, plan.Review, false, 1},
		{plan.Approved, "", true, 0},
		{plan.Planned, "", true, 0},
		{plan.QuestionAnswered, "", true, 0},
		{plan.Failed, "", true, 1},
		{plan.Exhausted, "", true, 3},
		{plan.Blocked, "", true, 3},
		{plan.Cancelled, "", true, 130},
	} {
		if c.state.Phase() != c.phase || c.state.Final() != c.final || c.state.ExitCode() != c.code {
			t.Errorf("%s: phase %q, final %v, exit code %d; want %+v", c.state, c.state.Phase(), c.state.Final(), c.state.ExitCode(), c)
		}
	}
}

func TestExitCodesOfParkedRuns(t *testing.T) {
	t.Parallel()
	for reason, want := range map[plan.ParkReason]int{
		plan.ParkApproval: 4, plan.ParkQuestion: 4,
		plan.ParkLimit: 5, plan.ParkRateLimit: 5, plan.ParkDrift: 5, plan.ParkRefused: 5,
		plan.ParkInterrupted: 130,
	} {
		if got := reason.ExitCode(); got != want {
			t.Errorf("%s: %d, want %d", reason, got, want)
		}
	}
}

func TestMessageText(t *testing.T) {
	t.Parallel()
	m := plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{
		{Type: plan.BlockReasoning, Text: "thinking"},
		{Type: plan.BlockText, Text: "one"},
		{Type: plan.BlockToolCall, Call: "k1", Name: "read"},
		{Type: plan.BlockText},
		{Type: plan.BlockText, Text: "two"},
		{Type: plan.BlockToolCall, Call: "k2", Name: "grep"},
	}}
	if got := m.Text(); got != "one\ntwo" {
		t.Errorf("Text() = %q", got)
	}
	if diff := cmp.Diff([]plan.Block{m.Blocks[2], m.Blocks[5]}, m.Calls()); diff != "" {
		t.Error(diff)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	a := plan.Usage{Requests: 1, Input: 10, Cached: 5, Output: 3, Reasoning: 2}
	b := plan.Usage{Requests: 2, Input: 100, Cached: 50, Output: 30, Reasoning: 20}
	sum := a.Add(b)
	if diff := cmp.Diff(plan.Usage{Requests: 3, Input: 110, Cached: 55, Output: 33, Reasoning: 22}, sum); diff != "" {
		t.Error(diff)
	}
	if sum.Tokens() != 143 {
		t.Errorf("%d tokens; the cached ones are a part of the input and the reasoning a part of the output", sum.Tokens())
	}
}

func TestCheckPassed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		result plan.CheckResult
		want   bool
	}{
		{plan.CheckResult{}, true},
		{plan.CheckResult{ExitCode: 1}, false},
		{plan.CheckResult{Cancelled: true}, false},
		{plan.CheckResult{ExitCode: 124, TimedOut: true}, false},
	} {
		if got := c.result.Passed(); got != c.want {
			t.Errorf("%+v: %v", c.result, got)
		}
	}
}

func TestBlobsAreNamedByTheirContent(t *testing.T) {
	t.Parallel()
	b := plan.NewBlob([]byte("abc"))
	if b.Hash != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" || string(b.Data) != "abc" {
		t.Errorf("%+v", b)
	}
}
