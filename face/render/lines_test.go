package render

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

func TestNarratorsWords(t *testing.T) {
	t.Parallel()
	wake := time.Date(2026, 3, 14, 12, 0, 0, 0, time.FixedZone("x", 3600))
	judged := func(j plan.Judgement) plan.Body { return plan.VerdictGiven{Judgement: j} }
	checked := func(r plan.CheckResult) plan.Body {
		r.Check = plan.Check{Command: "make test", Required: true}
		return plan.CheckEnd{CheckResult: r}
	}
	tests := map[string]struct {
		body plan.Body
		want string
	}{
		"a shorter way": {
			plan.WayTaken{Way: plan.WayShort, Why: "nothing is left to decide"},
			"  • way         short: nothing is left to decide",
		},
		"a limit of cost":   {plan.LimitHit{Kind: "cost", Value: 1.25, Max: 1}, "  ■ limit       cost: $1.2500 of $1.0000"},
		"a limit of time":   {plan.LimitHit{Kind: "time", Value: 90, Max: 60}, "  ■ limit       time: 1m30s of 1m00s"},
		"a limit of tokens": {plan.LimitHit{Kind: "tokens", Value: 12000, Max: 10000}, "  ■ limit       tokens: 12.0k of 10.0k"},
		"a retry with status": {plan.Retry{Attempt: 2, Reason: "overloaded", Status: 529, WaitMS: 1500}, " " +
			" ↻ retry       2 in 1.5s: overloaded (HTTP 529)"},
		"status said already": {plan.Retry{Attempt: 2, Reason: "answered 529", Status: 529, WaitMS: 1500}, " " +
			" ↻ retry       2 in 1.5s: answered 529"},
		"a retry at once": {plan.Retry{Attempt: 1, Reason: "the run was resumed"}, "  ↻ retry       1: the run was resumed"},
		"parked with a time": {plan.Parked{Reason: plan.ParkRateLimit, WakeAt: &wake}, "  ■ parked      rate_limit," +
			" go on after 2026-03-14 11:00:00 UTC"},
		"done but not proven": {judged(plan.Judgement{Verdict: plan.Done, Why: "Nothing was run."}), "  ✗ verdict     DONE," +
			" not approved  Nothing was run."},
		"no verdict":  {judged(plan.Judgement{Why: "It was empty."}), "  ✗ verdict     no verdict  It was empty."},
		"blocked":     {judged(plan.Judgement{Verdict: plan.CannotSay, Why: "No network."}), "  ✗ verdict     BLOCKED  No network."},
		"a gap again": {plan.GapChange{Gap: plan.Gap{ID: "G1", Gap: "x", Status: plan.GapReopened}}, "  ↻ gap         G1 reopened: x"},
		"an error with advice": {
			plan.Failure{Error: "no key", Hint: "set OPENAI_API_KEY"},
			"  ✗ error       no key\n                set OPENAI_API_KEY",
		},
		"a check that was stopped": {checked(plan.CheckResult{ExitCode: -1, Cancelled: true, Output: "x"}), " " +
			" ? check       ---- make test           stopped, will run again     0ms"},
		"a check that hung": {checked(plan.CheckResult{ExitCode: 124, TimedOut: true, Hung: true, DurationMS: 60000}), " " +
			" ✗ check       FAIL make test                              hung   1m00s"},
		"a hang that went away": {checked(plan.CheckResult{ExitCode: 124, TimedOut: true, Hung: true, Flaky: true, DurationMS: 60000}), "  ✗ check       FAIL make test                       hung, flaky   1m00s"},
		"a check out of time": {checked(plan.CheckResult{ExitCode: 124, TimedOut: true, DurationMS: 60000}), " " +
			" ✗ check       FAIL make test                         timed out   1m00s"},
		"a call out of time": {plan.ToolEnd{Name: "bash", Error: true, Status: "timeout", Output: "killed"}, " " +
			" ✗ bash                                                 timeout     0ms\n      killed"},
		"guidance":       {plan.Steering{Text: "mind the spelling"}, "  • you         guidance: mind the spelling"},
		"a follow-up":    {plan.FollowUp{Text: "then\na note"}, "  • you         follow-up: then a note"},
		"a letter":       {plan.Filtered{Action: "reject", Why: "a key"}, "  • letter      reject: a key"},
		"a yes":          {plan.ApprovalResolved{Call: "c1", Approved: true, Scope: plan.ScopeRun}, "  ✓ allowed     c1 (and what is like it, for this run)"},
		"a no of a rule": {plan.ApprovalResolved{Call: "c1", By: "policy", Reason: "no"}, "  ⊘ denied      c1 (by policy): no"},
		"a call of old": {plan.ToolEnd{Name: "write", Error: true, Status: "unknown"}, "  ? write " +
			"                                               unknown     0ms"},
		"a call without a name": {plan.ToolEnd{}, "  ✓ tool                                                             0ms"},
		"a part that is refused": {
			plan.Adjusted{Model: "b/m", Part: "reasoning_effort", From: "high", Why: "Unsupported value"},
			"  • note        b/m: the server refuses reasoning_effort high; went on …",
		},
		"a part under another name": {
			plan.Adjusted{Model: "m", Part: "max_tokens", To: "max_completion_tokens", Why: "x"},
			"  • note        m: the server refuses max_tokens; sent max_completion_t…",
		},
		"a window that is too small": {
			plan.Adjusted{Model: "m", Part: plan.PartContext, Why: "the server read 4,096 of about 55,000 tokens: raise its window"},
			"  ■ context     m: the server read 4,096 of about 55,000 tokens: raise\n                its window",
		},
		"a chosen model": {
			plan.Route{For: "review", Model: "b/m", Why: "@strong, as [phase.review] asks"},
			"  • model       review with b/m: @strong, as [phase.review] asks",
		},
		"a model that is not taken yet": {
			plan.Route{For: "implement", Model: "a/m", Asked: "b/m", Why: "it keeps its provider"},
			"  • model       implement with a/m, not b/m: it keeps its provider",
		},
		"a model for summaries":  {plan.Route{For: "compact", Model: "s", Why: "@cheap"}, "  • model       summaries with s: @cheap"},
		"a model for sub-agents": {plan.Route{For: "task", Model: "s"}, "  • model       sub-agents with s"},
		"a window that was said": {
			plan.CompactionStart{Tokens: 41200, Window: 32000, Learnt: plan.WindowSaid},
			"  • context     the server takes 32.0k tokens, as it said; about 41.2k\n                are made shorter",
		},
		"a window that was not said": {
			plan.CompactionStart{Tokens: 41200, Window: 37080, Learnt: plan.WindowGuessed},
			"  • context     the server found the request too long and named no\n" +
				"                window, so 37.1k tokens are taken for it; about 41.2k\n" +
				"                are made shorter",
		},
		"a window known before": {plan.CompactionStart{Tokens: 41200, Window: 32000}, ""},
		"nowhere to be reached": {plan.Parked{Reason: plan.ParkUnreachable, Detail: "no such host"}, "  ■ " +
			"parked      unreachable: no such host"},
		"nothing to say":         {plan.StateChange{From: plan.Exploring, To: plan.Planning}, ""},
		"an event of the future": {plan.Unknown{Kind: "storm"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNarrator(Options{Width: fixedWidth(73)})
			got := strings.Join(n.lines(plan.Event{Run: storyRun, Body: test.body}), "\n")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNarratorTellsHowAPhaseEnded(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		plan.EndCompleted: "completed after 5.0s", plan.EndError: "failed after 5.0s", plan.EndParked: "parked after 5.0s",
		plan.EndLimit: "stopped by a limit after 5.0s", plan.EndCancelled: "cancelled after 5.0s",
	} {
		s := newStory()
		s.begin(plan.Explore, 1, "c1", "m")
		s.end(5*time.Second, reason)
		n := newNarrator(Options{})
		var got []string
		for _, e := range s.events {
			got = append(got, n.lines(e)...)
		}
		if last := got[len(got)-1]; last != "  "+want+" · 0 turns" {
			t.Errorf("%s: %q, want %q", reason, last, want)
		}
	}
}

func TestStanding(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tally Tally
		want  string
		ink   Ink
	}{
		"nothing yet":   {Tally{}, "not started", InkYellow},
		"on its way":    {Tally{state: plan.Planning}, "not finished: planning", InkYellow},
		"planned":       {Tally{state: plan.Planned}, "planned", InkGreen},
		"answered":      {Tally{state: plan.QuestionAnswered}, "answered", InkGreen},
		"failed":        {Tally{state: plan.Failed}, "failed", InkRed},
		"cancelled":     {Tally{state: plan.Cancelled}, "cancelled", InkYellow},
		"parked":        {Tally{state: plan.Planning, parked: &plan.Parked{Reason: plan.ParkApproval}}, "parked: approval", InkYellow},
		"not available": {Tally{state: plan.Blocked}, "blocked", InkYellow},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, k, _ := test.tally.status("·"); got != test.want || k != test.ink {
				t.Errorf("got %q in %q, want %q in %q", got, k, test.want, test.ink)
			}
		})
	}
}
