package looptest

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// testCase is a scenario and what is expected of it beyond what follows from
// its replies.
type testCase struct {
	Scenario
	// kinds are what a failure may be; every failure is one of them.
	kinds []loop.ErrorKind
	// run replaces the plain conversation.
	run func(context.Context, loop.Model, Scenario) error
}

var usual = plan.Usage{Input: 1200, Output: 40}

func cases() []testCase {
	var cases []testCase
	cases = append(cases, answers()...)
	cases = append(cases, statuses()...)
	cases = append(cases, breaks()...)
	return append(cases, manners()...)
}

// answers are conversations in which nothing goes wrong.
func answers() []testCase {
	read := Call{Name: "read", Args: `{"path":"calc.go"}`}
	bash := Call{Name: "bash", Args: `{"command":"printf '%s\n' \"hé\" < a > b && true"}`}
	of := func(name string, replies ...Reply) testCase {
		for i := range replies {
			if replies[i].Usage == (plan.Usage{}) {
				replies[i].Usage = usual
			}
		}
		return testCase{Scenario: Scenario{Name: name, Replies: replies}}
	}
	unknown := of("unknown_finish", Reply{Text: "All done.", Finish: "because"})
	unknown.Replies[0].Usage = plan.Usage{}
	return []testCase{
		of("text", Reply{Text: "The file splits amounts into shares of whole cents."}),
		of(
			"unicode",
			Reply{
				Text: "Zwei Äpfel 🍏🍎, ein\nUmbruch,\tein Tabulator, “quotes” \"and\" \\slashes\\ <b>&amp;</b> и ещё.",
			},
		),
		of("long_text", Reply{Text: strings.Repeat("Line upon line of an answer that takes its time.\n", 200)}),
		of("reasoning_and_text", Reply{
			Reasoning: "Where would the rounding be? In Split, I think.",
			Text:      "It rounds in Split.",
		}),
		of("reasoning_only", Reply{Reasoning: "There is nothing to say about this."}),
		of("one_call", Reply{Calls: []Call{read}}),
		of("two_calls", Reply{Calls: []Call{read, bash}}),
		of("same_call_twice", Reply{Calls: []Call{read, read}}),
		of("text_and_call", Reply{
			Reasoning: "Look first.",
			Text:      "I look at the file first.",
			Calls:     []Call{read},
		}),
		of("call_without_arguments", Reply{Calls: []Call{{Name: "read", Args: `{}`}}}),
		of("arguments_as_written", Reply{Calls: []Call{{
			Name: "read",
			Args: "{ \"path\" :\n \"calc.go\" , \"limit\": 1.0 }",
		}}}),
		of("broken_arguments", Reply{Calls: []Call{{Name: "read", Args: `{"path": "calc`}}}),
		of("call_then_text", Reply{Calls: []Call{read}}, Reply{Text: "It is in calc.go."}),
		of(
			"conversation",
			Reply{Text: "First these.", Calls: []Call{read, bash}},
			Reply{Calls: []Call{bash}},
			Reply{
				Text: "Both are fine.",
			},
			Reply{Reasoning: "Again?", Calls: []Call{read}},
			Reply{Text: "Still fine."},
		),
		of("empty", Reply{}),
		of("usage", Reply{
			Text: "Counted.",
			Usage: plan.Usage{
				Input:     5000,
				Cached:    4096,
				Output:    300,
				Reasoning: 256,
			},
		}),
		of("length", Reply{Text: "This goes on and on until it", Finish: string(loop.StopLength)}),
		of("refused", Reply{Text: "That is not something to help with.", Finish: string(loop.StopRefused)}),
		of("filtered", Reply{Text: "It begins like", Finish: string(loop.StopFiltered)}),
		unknown,
	}
}

// statuses are requests that the server refuses once.
func statuses() []testCase {
	of := func(name string, kind loop.ErrorKind, fault Fault) testCase {
		fault.Kind, fault.Times = FaultStatus, 1
		replies := []Reply{{Text: "Now it works.", Usage: usual, Fault: &fault}}
		return testCase{Scenario: Scenario{Name: name, Replies: replies}, kinds: []loop.ErrorKind{kind}}
	}
	return []testCase{
		of("rate_limit", loop.ErrRateLimit, Fault{Status: http.StatusTooManyRequests, RetryAfter: 7 * time.Second}),
		of("rate_limit_without_time", loop.ErrRateLimit, Fault{Status: http.StatusTooManyRequests}),
		of("quota", loop.ErrQuota, Fault{Status: http.StatusTooManyRequests, Code: "insufficient_quota"}),
		of("auth", loop.ErrAuth, Fault{Status: http.StatusUnauthorized, Code: "invalid_api_key"}),
		of("forbidden", loop.ErrAuth, Fault{Status: http.StatusForbidden}),
		of("not_found", loop.ErrNotFound, Fault{Status: http.StatusNotFound, Code: "model_not_found"}),
		of("too_long", loop.ErrTooLong, Fault{Status: http.StatusBadRequest, Code: "context_length_exceeded"}),
		of("bad_request", loop.ErrRefused, Fault{Status: http.StatusBadRequest}),
		of("server_error", loop.ErrServed, Fault{Status: http.StatusInternalServerError}),
		of("unavailable", loop.ErrUnserved, Fault{Status: http.StatusServiceUnavailable}),
	}
}

// breaks are answers that break off once.
func breaks() []testCase {
	text := "An answer that is long enough to be sent in several pieces, so that it can break off between two of them."
	spoken := Reply{Text: text, Usage: usual}
	calling := Reply{Calls: []Call{{Name: "bash", Args: `{"command":"` + text + `"}`}}, Usage: usual}
	of := func(name string, kind FaultKind, r Reply, kinds ...loop.ErrorKind) testCase {
		r.Fault = &Fault{Kind: kind, Times: 1}
		return testCase{Scenario: Scenario{Name: name, Replies: []Reply{r}}, kinds: kinds}
	}
	return []testCase{
		of("cut_text", FaultCut, spoken, loop.ErrServed),
		of("cut_call", FaultCut, calling, loop.ErrServed),
		of("reset", FaultReset, spoken, loop.ErrServed, loop.ErrUnserved),
		of("error_frame", FaultErrorFrame, spoken, loop.ErrServed),
		of("garbage", FaultGarbage, spoken, loop.ErrServed),
	}
}

// manners are how a model behaves towards its caller.
func manners() []testCase {
	text := strings.Repeat("Something to say, in several pieces. ", 6)
	plain := []Reply{{Text: text, Usage: usual}}
	hanging := []Reply{{Text: text, Usage: usual, Fault: &Fault{Kind: FaultHang, Times: cancelTries}}}
	return []testCase{
		{Scenario: Scenario{Name: "cancel", Replies: hanging}, run: cancelMidStream},
		{Scenario: Scenario{Name: "cancelled_before", Replies: plain}, run: cancelledBefore},
		{Scenario: Scenario{
			Name: "repeated",
			Replies: []Reply{{
				Reasoning: "Twice the same?",
				Text:      text,
				Calls:     []Call{{Name: "read", Args: `{"path":"a"}`}},
				Usage:     usual,
			}},
		}, run: repeated},
		{Scenario: Scenario{Name: "unwatched", Replies: plain}, run: unwatched},
		{Scenario: Scenario{Name: "at_the_same_time", Replies: plain}, run: atTheSameTime},
	}
}
