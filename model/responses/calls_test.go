package responses_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

func TestCalls(t *testing.T) {
	t.Parallel()
	open := strings.Replace(callItem("fc_1", "a", "read", ""), "completed", "in_progress", 1)
	whole := callItem("fc_1", "a", "read", `{"p":1}`)
	read := []plan.Block{wiretest.CallBlock("a", "read", `{"p":1}`)}
	first, second := argsDelta("fc_1", "0", `{"p"`), argsDelta("fc_1", "0", `:1}`)
	of := func(name string, blocks []plan.Block, events ...string) wiretest.Answer {
		return wiretest.Answer{Name: name, Blocks: blocks, Events: events, Stop: loop.StopTools}
	}
	runAnswers(t, []wiretest.Answer{
		of("streamed", read, added("0", open), first, second, done("0", whole), completed),
		of("and whole at the end", read, added("0", open), first, second, done("0", whole), ended("completed", whole)),
		of("all of it when it begins", read, added("0", whole), completed),
		of("and once more in a delta", read, added("0", whole), argsDelta("fc_1", "0", `{"p":1}`), done("0", whole), completed),
		of("only done", read, done("0", whole), completed),
		of("only at the end", read, ended("completed", whole)),
		of(
			"arguments only in their end",
			read,
			added("0", open),
			said("function_call_arguments.done", "fc_1", "0", "arguments", `{"p":1}`),
			completed,
		),
		of("no end of the item", read, added("0", open), first, second, completed),
		of("deltas before the item", read, first, second, done("0", whole), completed),
		of("deltas alone, and then all", read, first, second, ended("completed", whole)),
		of("arguments that are an object", read, done("0", strings.Replace(whole, `"{\"p\":1}"`, `{"p":1}`, 1)), completed),
		of("no arguments", []plan.Block{wiretest.CallBlock("a", "read", "")}, added("0", open), done("0", open), completed),
		of(
			"no call id",
			[]plan.Block{wiretest.CallBlock("fc_1", "read", `{"p":1}`)},
			added("0", strings.Replace(open, `"call_id":"a",`, "", 1)),
			first,
			done("0", strings.Replace(whole, `"call_id":"a",`, "", 1)),
			completed,
		),
		of(
			"no id at all",
			[]plan.Block{wiretest.CallBlock("call_0", "read", `{"p":1}`)},
			done("", strings.NewReplacer(`"call_id":"a",`, "", `"id":"fc_1",`, "").Replace(whole)),
			completed,
		),
		of(
			"the same id twice",
			[]plan.Block{wiretest.CallBlock("a", "read", `{"p":1}`), wiretest.CallBlock("call_1", "read", "{}")},
			done("0", whole),
			done("1", callItem("fc_2", "a", "read", "{}")),
			completed,
		),
		of(
			"some of them before the end", []plan.Block{
				wiretest.CallBlock("b", "bash", `{"c":2}`),
				wiretest.CallBlock("a", "read", `{"p":1}`),
			},
			done("1", whole), ended("completed", callItem("", "b", "bash", `{"c":2}`), callItem("", "a", "read", `{"p":1}`)),
		),
		of(
			"without ids and numbers", []plan.Block{
				wiretest.CallBlock("a", "read", `{"p":1}`),
				wiretest.CallBlock("b", "bash", `{"c":2}`),
			},
			done("", callItem("", "a", "read", `{"p":1}`)), done("", callItem("", "b", "bash", `{"c":2}`)), completed,
		),
		of("side by side", []plan.Block{wiretest.CallBlock("a", "read", `{"p":1}`), wiretest.CallBlock("b", "bash", `{"c":2}`)},
			added("0", open), added("1", callItem("fc_2", "b", "bash", "")), argsDelta("fc_2", "1", `{"c"`),
			first, second, argsDelta("fc_2", "1", `:2}`), completed),
		of("without numbers", []plan.Block{wiretest.CallBlock("a", "read", `{"p":1}`), wiretest.CallBlock("b", "bash", `{"c":2}`)},
			added("", open), argsDelta("fc_1", "", `{"p":1}`),
			added("", callItem("fc_2", "b", "bash", "")), argsDelta("fc_2", "", `{"c":2}`), completed),
		of(
			"a text first",
			[]plan.Block{wiretest.TextBlock("look"), wiretest.CallBlock("a", "read", `{"p":1}`)},
			done("0", messageItem("msg_1", "look")),
			done("1", whole),
			completed,
		),
		of("what the server adds", []plan.Block{
			with(wiretest.CallBlock("a", "read", `{"p":1}`), `{"caller":{"type":"direct"},"namespace":"n"}`),
		},
			done("0", strings.Replace(whole, `"name"`, `"caller":{"type":"direct"},"namespace":"n",`+
				`"created_by":null,"name"`, 1)), completed),
	})
}

// What was shown of a call cannot be taken back.
func TestCallsThatEndOtherwise(t *testing.T) {
	t.Parallel()
	begun := added("0", callItem("fc_1", "a", "read", ""))
	for _, args := range []string{"{}", `{"path":2}`, `{"p":1,"q":2}`} {
		runAnswers(t, []wiretest.Answer{{
			Name:   args,
			Events: []string{begun, argsDelta("fc_1", "0", `{"p":1}`), done("0", callItem("fc_1", "a", "read", args)), completed},
			Blocks: []plan.Block{wiretest.CallBlock("a", "read", args)},
			Stop:   loop.StopTools,
			Late:   true,
		}})
	}
}

func TestReasoning(t *testing.T) {
	t.Parallel()
	open := `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"half"}`
	whole := thoughtItem("rs_1", "gA", "think", "hard")
	kept := `{"encrypted_content":"gA","id":"rs_1","summary":[{"type":"summary_text","text":"think"},` +
		`{"type":"summary_text","text":"hard"}]}`
	hm := with(thought("think\n\nhard"), kept)
	part := func(n int, text string) string {
		return fmt.Sprintf(
			`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":%d,"delta":%q}`,
			n,
			text,
		)
	}
	runAnswers(t, []wiretest.Answer{
		{
			Name:   "streamed",
			Blocks: []plan.Block{hm},
			Events: []string{
				added("0", open),
				part(0, "thi"),
				part(0, "nk"),
				part(1, "ha"),
				part(1, "rd"),
				done("0", whole),
				completed,
			},
		},
		{Name: "only at the end", Blocks: []plan.Block{hm}, Events: []string{ended("completed", whole)}},
		{
			Name:   "without a summary",
			Blocks: []plan.Block{with(thought(""), `{"encrypted_content":"gA","id":"rs_1","summary":[]}`)},
			Events: []string{added("0", open), done("0", thoughtItem("rs_1", "gA")), completed},
		},
		{
			Name:   "what began is not kept",
			Blocks: []plan.Block{thought("think")},
			Events: []string{added("0", open), part(0, "think"), completed},
		},
		{
			Name:   "a summary alone is not kept",
			Blocks: []plan.Block{thought("think")},
			Events: []string{
				done(
					"0",
					`{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"think"}],"encrypted_content":null}`,
				),
				completed,
			},
		},
		{
			Name:   "the end has left it out",
			Blocks: []plan.Block{hm},
			Events: []string{
				done("0", whole),
				ended("completed", `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":null}`),
			},
		},
		{Name: "in the open", Blocks: []plan.Block{
			with(thought("think"), `{"content":[{"type":"reasoning_text","text":"think"}],"id":"rs_1","summary":[]}`),
		}, Events: []string{
			said("reasoning_text.delta", "rs_1", "0", "delta", "think"), done(
				"0",
				`{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"think"}]}`,
			), completed,
		}},
		{
			Name: "the ids of what it led to", Stop: loop.StopTools,
			Events: []string{
				done("0", whole),
				done("1", messageItem("msg_1", "look")),
				done("2", thoughtItem("rs_2", "gB")),
				done("3", callItem("fc_1", "a", "read", "{}")),
				done("4", callItem("item/2", "b", "read", "{}")),
				completed,
			},
			Blocks: []plan.Block{
				hm, with(wiretest.TextBlock("look"), `{"id":"msg_1"}`), with(
					thought(""),
					`{"encrypted_content":"gB","id":"rs_2","summary":[]}`,
				),
				with(wiretest.CallBlock("a", "read", "{}"), `{"id":"fc_1"}`), wiretest.CallBlock("b", "read", "{}"),
			},
		},
	})
}
