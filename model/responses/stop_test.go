package responses_test

import (
	"fmt"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

func TestStopReasons(t *testing.T) {
	t.Parallel()
	text, tool := done("0", messageItem("msg_1", "x")), done("0", callItem("fc_1", "a", "read", "{}"))
	cutTool := done(
		"0",
		`{"id":"fc_1","type":"function_call","status":"incomplete","call_id":"a","name":"read","arguments":"{}"}`,
	)
	refusal := done("0", `{"id":"msg_1","type":"message","status":"completed","content":[{"type":"refusal","refusal":"x"}]}`)
	incomplete := func(reason string) string {
		return event("incomplete", `"model":"m-1","status":"incomplete","incomplete_details":{"reason":"`+reason+`"},"output":[]`)
	}
	x, read := []plan.Block{wiretest.TextBlock("x")}, []plan.Block{wiretest.CallBlock("a", "read", "{}")}
	var tests []wiretest.Answer
	for i, tt := range []struct {
		first, end string
		blocks     []plan.Block
		stop       loop.StopReason
		finish     string
	}{
		{text, completed, x, loop.StopEnd, ""},
		{tool, completed, read, loop.StopTools, ""},
		{refusal, completed, x, loop.StopRefused, ""},
		{refusal, incomplete("max_output_tokens"), x, loop.StopRefused, "max_output_tokens"},
		{text, incomplete("max_output_tokens"), x, loop.StopLength, "max_output_tokens"},
		{tool, incomplete("max_tokens"), read, loop.StopLength, "max_tokens"},
		{text, incomplete("length"), x, loop.StopLength, ""},
		{text, incomplete("content_filter"), x, loop.StopFiltered, ""},
		{tool, incomplete("Content-Filter"), read, loop.StopFiltered, "content-filter"},
		{refusal, incomplete("content_filter"), x, loop.StopFiltered, ""},
		{text, incomplete("because"), x, loop.StopEnd, "because"},
		{tool, incomplete("because"), read, loop.StopTools, "because"},
		{cutTool, incomplete("because"), read, loop.StopLength, "because"},
		{cutTool, completed, read, loop.StopTools, ""},
		{text, event("incomplete", `"model":"m-1"`), x, loop.StopEnd, "incomplete"},
		{
			text,
			event("completed", `"model":"m-1","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}`),
			x,
			loop.StopLength,
			"max_output_tokens",
		},
	} {
		tests = append(tests, wiretest.Answer{
			Name: fmt.Sprint(i, " ", tt.stop, " ", tt.finish), Events: []string{tt.first, tt.end},
			Blocks: tt.blocks, Stop: tt.stop, Finish: tt.finish,
		})
	}
	runAnswers(t, tests)
}

func TestUsage(t *testing.T) {
	t.Parallel()
	of := func(name, usage string, want plan.Usage, cost float64) wiretest.Answer {
		return wiretest.Answer{
			Name:   name,
			Events: []string{event("completed", `"model":"m-1","status":"completed","usage":`+usage)},
			Usage:  want,
			Cost:   cost,
		}
	}
	runAnswers(t, []wiretest.Answer{
		of("all of it", `{"input_tokens":5000,"input_tokens_details":{"cached_tokens":4096,"cache_write_tokens":512},"output_tokens":300,`+
			`"output_tokens_details":{"reasoning_tokens":256},"total_tokens":5300}`,
			plan.Usage{Input: 5000, Cached: 4096, Written: 512, Output: 300, Reasoning: 256}, 0),
		of("without details", `{"input_tokens":5,"output_tokens":3}`, plan.Usage{Input: 5, Output: 3}, 0),
		of("output without its reasoning",
			`{"input_tokens":5,"output_tokens":3,"output_tokens_details":{"reasoning_tokens":90},"total_tokens":98}`,
			plan.Usage{Input: 5, Output: 93, Reasoning: 90}, 0),
		of("more than there is", `{"input_tokens":5,"input_tokens_details":{"cached_tokens":9,"cache_write_tokens":9},"output_tokens":-3}`,
			plan.Usage{Input: 5, Cached: 5}, 0),
		of("null", `null`, plan.Usage{}, 0),
		of("a cost", `{"input_tokens":5,"output_tokens":3,"cost":0.0125}`, plan.Usage{Input: 5, Output: 3}, 0.0125),
		of(
			"a cost in ticks",
			`{"input_tokens":5,"output_tokens":3,"cost_in_usd_ticks":37756000}`,
			plan.Usage{Input: 5, Output: 3},
			0.0037756,
		),
		of("a cost of parts", `{"input_tokens":5,"output_tokens":3,"cost":{"total":1}}`, plan.Usage{Input: 5, Output: 3}, 0),
	})
}
