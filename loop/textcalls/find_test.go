package textcalls

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/arguments"
	"github.com/plan-engine/plan/loop/internal/casetable"
)

// tools are tools whose arguments are text, except for n.
func tools(names ...string) []Tool {
	var out []Tool
	for _, n := range names {
		out = append(out, Tool{Name: n, Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},` +
			`"n":{"type":"integer"},"on":{"type":"boolean"}}}`)})
	}
	return out
}

func harmless(string) bool { return true }

// found writes calls as text, one a line.
func found(blocks []plan.Block) string {
	var lines []string
	for _, b := range blocks {
		lines = append(lines, b.Name+" "+b.Args)
	}
	return strings.Join(lines, "\n")
}

func TestFindCases(t *testing.T) {
	t.Parallel()
	for _, row := range casetable.ReadKind(t, "dirge_repair.jsonl", "scavenge") {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			findCase(t, row)
		})
	}
}

func findCase(t *testing.T, row casetable.Row) {
	var in struct {
		Text    string
		Allowed []string
		Max     int
	}
	var want [][2]json.RawMessage
	casetable.Parse(t, row.Input, &in)
	casetable.Parse(t, row.Expected, &want)
	got := Find(in.Text, tools(in.Allowed...), harmless)
	if in.Max > 0 { // ours is always four
		got = got[:min(len(got), in.Max)]
	}
	if len(got) != len(want) {
		t.Fatalf("took %s", found(got))
	}
	for i := range want {
		var name string
		casetable.Parse(t, want[i][0], &name)
		if got[i].Name != name {
			t.Errorf("call %d is of %s", i, got[i].Name)
		}
		casetable.SameJSON(t, want[i][1], []byte(got[i].Args))
	}
}

const (
	oneCall = `<tool_call>{"name":"read","arguments":{"path":"a"}}</tool_call>`
	invoked = `<invoke name="read"><parameter name="path">a</parameter></invoke>`
	read    = `read {"path":"a"}`
)

func TestFind(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"a tagged call", oneCall, read},
		{"over several lines", "I look.\n\n<tool_call>\n{\"name\": \"read\",\n \"arguments\": {\"path\": \"a\"}}\n</tool_call>\n", read},
		{"parameters for arguments", `<tool_call>{"name":"read","parameters":{"path":"a"}}</tool_call>`, read},
		{"arguments as a string", `<tool_call>{"name":"read","arguments":"{\"path\":\"a\"}"}</tool_call>`, read},
		{"in an envelope", `<tool_call>{"type":"function","function":{"name":"read","arguments":{"path":"a"}}}</tool_call>`, read},
		{"no arguments", `<tool_call>{"name":"read"}</tool_call>`, "read {}"},
		{"a server that stops at the closing tag", `<tool_call>{"name":"read","arguments":{"path":"a"}}` + "\n", read},
		{"a closing tag inside the arguments", `<tool_call>{"name":"read","arguments":{"path":"</tool_call>"}}</tool_call>`, `read ` +
			`{"path":"</tool_call>"}`},
		{"a fence for calls", "```tool_call\n{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}\n```", read},
		{"a fence with several", "~~~ tool_calls\n[{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}," +
			"{\"name\":\"grep\"}]\n{\"name\":\"grep\"}\n~~~\n", read + "\ngrep {}\ngrep {}"},
		{"a function tag with JSON", `<function=read>{"path":"a"}</function>`, read},
		{"a function tag with parameters", "<tool_call>\n<function=read>\n<parameter=path>\na\n</parameter>\n<parameter=n>\n " +
			"3 \n</parameter>\n</function>\n</tool_call>", `read {"n":3,"path":"a"}`},
		{"a function tag with nothing", `<function=read></function>`, "read {}"},
		{"an invocation", invoked, read},
		{"an invocation in its wrapper", "<function_calls>\n" + invoked + "\n</function_calls>", read},
		{"an invocation with a namespace", strings.NewReplacer("<invoke", "<x:invoke", "</invoke", "</x:invoke", "<param", "<x:param", "</param", "</x:param").Replace(invoked), read},
		{"the schema says what a value is", `<invoke name="read"><parameter name="path">12</parameter><parameter ` +
			`name="n">12</parameter><parameter name="on">true</parameter></invoke>`, `read {"n":12,"on":true,"path":"12"}`},
		{"the tag says what a value is", `<|DSML|invoke name="read"><|DSML|parameter name="path" ` +
			`string="true">1</|DSML|parameter><|DSML|parameter name="x" string="false">[1]</|DSML|parameter></|DSML|invoke>`, `read ` +
			`{"path":"1","x":[1]}`},
		{"marked with wide bars, after words", `I look <｜DSML｜function_calls><｜DSML｜invoke ` +
			`name="read"></｜DSML｜invoke></｜DSML｜function_calls>`, "read {}"},
		{"after a sentence", "Let me look. " + oneCall, read},
		{"after thinking", "<think>Hm, a</think>" + oneCall, ""},
		{"after a thought that is a sentence", "<think>Look at a.</think>" + oneCall, read},
		{"two on a line", oneCall + " " + invoked, read + "\n" + read},
		{"at most four", strings.Repeat(oneCall+"\n", 6), strings.Repeat(read+"\n", 3) + read},
		{"only what is offered", `<tool_call>{"name":"rm","arguments":{}}</tool_call>` + oneCall, read},
		{"a call after a code span", "`x` is there.\n" + oneCall, read},
		{"a call after code about tags", "`<example>` begins one.\n" + oneCall, read},
		{"at most four from a fence", "```tool_call\n" + strings.Repeat("{\"name\":\"grep\"}\n", 6) + "```", strings.Repeat("grep "+
			"{}\n", 3) + "grep {}"},
		{"JSON at the end", `So call {"name":"read","arguments":{"path":"a"}}` + "\n", read},
		{"JSON over lines", "I look.\n{\n \"name\": \"read\",\n \"arguments\": {\"path\": \"a\"}\n}", read},
		{"JSON twice, and words between", `{"name":"read","arguments":{"path":"a"}} and {"name":"grep","arguments":{}}`, read + "\ngrep {}"},
		{"JSON of a tool that is not offered, too", `{"name":"rm","arguments":{}} {"name":"read","arguments":{"path":"a"}}`, read},
		{"JSON beside a tagged call", `{"name":"grep","arguments":{}}` + "\n" + oneCall, read},
		{"JSON after code", "`x {\"name\"` is it: {\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}", read},
		{"a name in another case", `<tool_call>{"name":"Read","arguments":{"path":"a"}}</tool_call>`, read},
		{"a name of another system", `<tool_call>{"name":"functions.read_file","arguments":{"path":"a"}}</tool_call>`, read},
		{"JSON with a name of another system", `{"name":"view_file","arguments":{"path":"a"}}`, read},
		{"Mistral's list", mistralTag + `[{"name":"read","arguments":{"path":"a"}},{"name":"grep","arguments":{}}]`, read + "\ngrep {}"},
		{"Mistral's list, spaced, after a sentence", "I look. " + mistralTag + ` [{"name": "read", "arguments": {"path": "a"}}]</s>`, read},
		{"Mistral's name", mistralTag + `read{"path":"a"}` + mistralTag + `grep{}`, read + "\ngrep {}"},
		{"Mistral's name with marks", mistralTag + `read[CALL_ID]x9y8z7[ARGS]{"path":"a"}`, read},
		{"Mistral's object", mistralTag + `{"name":"read","arguments":{"path":"a"}}`, read},
		{"Llama's object", pythonTag + `{"type":"function","name":"read","parameters":{"path":"a"}}<|eom_id|>`, read},
		{"Llama's call", pythonTag + `read.call(path="a", n=3, on=True, x=[1, "b"], y=None, z='it\'s')`, `read {"n":3,"on":true,` +
			`"path":"a","x":[1,"b"],"y":null,"z":"it's"}`},
		{"Llama's call of nothing", pythonTag + `read.call()`, "read {}"},
		{"Llama's call as a function", pythonTag + `read(path="a")` + "<|eot_id|>\n", read},
		{"Harmony", `<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path":"a"}<|call|>`, read},
		{"Harmony, the tool first", `<|start|>assistant to=functions.read<|channel|>commentary json<|message|>{"path":"a"}<|call|>`, read},
		{"Harmony after a thought", `<|channel|>analysis<|message|>I look<|end|><|start|>assistant<|channel|>commentary ` +
			`to=functions.read<|message|>{"path":"a"}`, read},
		{"Harmony without its tokens", `commentary to=functions.read json {"path":"a"}`, read},
		{"Kimi", `<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{"path":"a"}<|tool_call_end|><|tool_call_begin|>functions.grep:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>`, read + "\ngrep {}"},
		{"a function with its name space", "I look:\n" + `functions.read({"path":"a"})`, read},
		{"a function with its number", `functions.read:0{"path":"a"}`, read},
		{"a call after code", "```go\nx\n```\n" + oneCall, read},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			blocks := Find(tt.text, tools("read", "grep"), harmless)
			if diff := cmp.Diff(tt.want, found(blocks)); diff != "" {
				t.Error(diff)
			}
			for _, b := range blocks {
				if b.Type != plan.BlockToolCall || b.Call != "" {
					t.Errorf("made %+v", b)
				}
			}
		})
	}
}

func TestTextAboutCallsIsNotACall(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"JSON with words behind it":       `{"name":"read","arguments":{"path":"a"}} reads it.`,
		"JSON without arguments":          `call {"name":"read"}`,
		"JSON in quotes":                  `"{"name":"read","arguments":{"path":"a"}}`,
		"JSON in inline code":             "`{\"name\":\"read\",\"arguments\":{}}`",
		"JSON in a quotation":             `> {"name":"read","arguments":{}}`,
		"JSON in a list":                  `[{"name":"read","arguments":{}}]`,
		"JSON in an object":               `{"calls":[{"name":"read","arguments":{}}]}`,
		"JSON in a call's arguments":      `{"name":"other","arguments":{"name":"read","arguments":{}}}`,
		"JSON with other fields":          `{"name":"read","arguments":{},"age":3}`,
		"JSON that is cut off":            `{"name":"read","arguments":{"path":"a"`,
		"JSON in a fence":                 "```json\n{\"name\":\"read\",\"arguments\":{}}\n```",
		"a fence":                         "```\n" + oneCall + "\n```",
		"a fence of its own kind inside":  "````md\n```tool_call\n{\"name\":\"read\"}\n```\n````",
		"a shorter fence inside":          "````md\n```\n" + oneCall + "\n```\n````",
		"tags of two kinds":               `<invoke name="read"><x:parameter name="path">a</parameter></invoke>`,
		"after many that are broken":      strings.Repeat("<tool_call>{\n", mostTries) + oneCall,
		"a fence that is open":            "```xml\n" + oneCall + "\n",
		"a tilde fence":                   "~~~\n" + invoked + "\n~~~",
		"inline code":                     "`" + oneCall + "`",
		"inline code with two ticks":      "Done. ``" + oneCall + "``",
		"a quotation":                     "> " + oneCall,
		"indented code":                   "So:\n\n    " + oneCall,
		"quoted":                          `Write "` + oneCall + `"`,
		"quoted with the mark":            `Write "<|DSML|invoke name="read"></|DSML|invoke>`,
		"inside a sentence":               "To read, write " + oneCall + " and wait.",
		"a sentence that goes on":         "Like this. " + oneCall + " Then wait.",
		"before words":                    oneCall + oneCall + " is how",
		"an example":                      "<example>\n" + oneCall + "\n</example>",
		"an example on one line":          "<example>" + oneCall + "</example>",
		"pre":                             "<pre class=\"x\">\n" + oneCall + "\n</pre>",
		"what a tool said":                "<tool_response>\n" + oneCall + "\n</tool_response>",
		"cut off":                         `<tool_call>{"name":"read","arguments":{"path":"a`,
		"cut off after a parameter":       `<invoke name="read"><parameter name="path">a</parameter>`,
		"closed by something else":        `<tool_call>{"name":"read","arguments":{}}</function>`,
		"something between":               `<tool_call>{"name":"read","arguments":{}} please</tool_call>`,
		"text between parameters":         `<invoke name="read"><parameter name="path">a</parameter> or <parameter name="n">1</parameter></invoke>`,
		"a parameter twice":               `<invoke name="read"><parameter name="path">a</parameter><parameter name="path">b</parameter></invoke>`,
		"arguments that are no object":    `<tool_call>{"name":"read","arguments":[1]}</tool_call>`,
		"arguments and parameters":        `<tool_call>{"name":"read","arguments":{},"parameters":{}}</tool_call>`,
		"other fields":                    `<tool_call>{"name":"read","arguments":{},"note":"like so"}</tool_call>`,
		"an envelope in an envelope":      `<tool_call>{"function":{"function":{"name":"read"}}}</tool_call>`,
		"a fence with something else too": "```tool_call\n{\"name\":\"read\"}\nas you see\n```",
		"a name that could be several":    `<tool_call>{"name":"search","arguments":{}}</tool_call>`,
		"Mistral's mark in a sentence":    "It writes " + mistralTag + `[{"name":"read","arguments":{}}] then.`,
		"Mistral's mark in code":          "`" + mistralTag + `[{"name":"read","arguments":{}}]` + "`",
		"Mistral's mark in quotes":        `"` + mistralTag + `read{"path":"a"}`,
		"Mistral's mark and no call":      mistralTag + `[{"nome":"read"}]`,
		"Mistral's mark, cut off":         mistralTag + `read{"path":"a`,
		"Llama's tag in a sentence":       "Write " + pythonTag + `{"name":"read","parameters":{}} to read.`,
		"Llama's tag and a program":       pythonTag + "import os\nprint(os.listdir())",
		"Llama's tag, a value twice":      pythonTag + `read.call(path="a", path="b")`,
		"Llama's tag, text that is open":  pythonTag + `read.call(path="a)`,
		"Llama's tag, a value by place":   pythonTag + `read.call("a")`,
		"Harmony in a fence":              "```\n<|channel|>commentary to=functions.read<|message|>{}<|call|>\n```",
		"Harmony to nobody":               `<|channel|>commentary<|message|>{"path":"a"}<|call|>`,
		"Harmony to a tool of its own":    `<|channel|>commentary to=browser.open<|message|>{"path":"a"}<|call|>`,
		"a function in a sentence":        `Use functions.read({"path":"a"}) for it.`,
		"a function, and words after it":  `functions.read({"path":"a"})` + "\nis how to read.",
		"a function that is open":         `functions.read({"path":"a"}`,
		"too long":                        oneCall + strings.Repeat(" ", mostBytes),
		"nothing":                         "",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Find(text, tools("read"), harmless); got != nil {
				t.Errorf("took %s", found(got))
			}
		})
	}
}

// TestJSONAloneRunsOnlyWhatLooks: what may have been an example must not change
// anything.
func TestJSONAloneRunsOnlyWhatLooks(t *testing.T) {
	t.Parallel()
	looks := func(tool string) bool { return tool == "read" }
	text := `Never send {"name":"write","arguments":{"path":"a"}}`
	if got := Find(text, tools("read", "write"), looks); got != nil {
		t.Errorf("took %s", found(got))
	}
	text += ` {"name":"read","arguments":{"path":"a"}}`
	if got := found(Find(text, tools("read", "write"), looks)); got != read {
		t.Errorf("took %s", got)
	}
}

// BenchmarkFindHostile searches what is written to keep the search busy:
// the time must grow with the text, not with its square.
func BenchmarkFindHostile(b *testing.B) {
	for _, part := range []string{
		"{\"name\":", "{\"name\":\"read\",\"arguments\":{}}", "<tool_call>{\"", "<tool_call>{\"a\":", "<function=read></function>", "<invoke name=\"read\"><parameter name=\"a\">", "`a", "``` `` ` ", "<", "<code", "\n<",
	} {
		text := strings.Repeat(part, mostBytes/len(part)-1) + "x"
		b.Run(part, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Find(text, tools("read"), harmless)
			}
		})
	}
}

func FuzzFind(f *testing.F) {
	for _, text := range []string{
		oneCall,
		invoked,
		"```tool_call\n{\"name\":\"read\"}\n```",
		"`" + oneCall + "`",
		`<function=read>{"a":1}</function>`,
		`<｜DSML｜invoke name="read"></｜DSML｜invoke>`,
		mistralTag + `[{"name":"read","arguments":{}}]`,
		mistralTag + `read[ARGS]{"path":"a"}` + mistralTag + `grep{}`,
		pythonTag + `read.call(path="a", n=[1], on=True, x='\'')`,
		`<|start|>assistant to=functions.read<|channel|>commentary<|message|>{}<|call|>`,
		`<|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{}<|tool_call_end|>`,
		`functions.read({"path":"a"})`,
	} {
		f.Add(text)
	}
	offered := tools("read", "grep")
	f.Fuzz(func(t *testing.T, text string) {
		got := Find(text, offered, harmless)
		if len(got) > mostCalls {
			t.Fatalf("took %d calls", len(got))
		}
		for _, b := range got {
			if !slices.ContainsFunc(offered, func(s Tool) bool { return s.Name == b.Name }) || !arguments.IsObject(json.RawMessage(b.Args)) {
				t.Fatalf("took %+v", b)
			}
		}
		if last := findAtEnd(text, offered, harmless); len(last) > 0 && found(last) != found(got) {
			t.Fatalf("took %s, and %s at the end", found(got), found(last))
		}
		fence := strings.Repeat("`", strings.Count(text, "`")+3)
		if taken := Find(fence+"\n"+text+"\n"+fence, offered, harmless); taken != nil {
			t.Fatalf("took %s out of code", found(taken))
		}
	})
}
