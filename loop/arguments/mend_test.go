package arguments

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/loop/internal/casetable"
)

// reader is a tool that only looks, writer one that changes things.
func reader(schema string) *Checker { return New("look", json.RawMessage(schema), true) }

func writer(name, schema string) *Checker { return New(name, json.RawMessage(schema), false) }

// differs lists the rows of the table where this project does something else
// than the system they were taken from, and why. Each row checks the rule
// behind it.
var differs = map[string]string{
	"unbalanced_bracket_string_wrapped": "wrapped as well, but the model is warned, and a tool that writes does " +
		"not run",
	"tr_nested":       "closed as well, but a tool that writes does not run",
	"tr_escape_cut":   "what cannot be closed keeps its text and is refused, instead of becoming {}",
	"tr_tail_garbage": "what cannot be closed keeps its text and is refused, instead of becoming {}",
}

// elsewhere are the kinds of rows that the rooms beside this one test.
var elsewhere = []string{"scavenge", "pairing", "context_decision"}

func TestRepairCases(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(*testing.T, casetable.Row){
		"validate": validateCase, "md_unwrap": linkCase, "truncation": truncationCase,
		"pipeline": pipelineCase, "tool_alias": aliasCase,
	}
	rows := casetable.Read(t, "dirge_repair.jsonl")
	for name := range differs {
		if !slices.ContainsFunc(rows, func(r casetable.Row) bool { return r.Name == name }) {
			t.Errorf("there is no row %s to differ from", name)
		}
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			kind := row.Kind(t)
			if check, ok := kinds[kind]; ok {
				check(t, row)
			} else if !slices.Contains(elsewhere, kind) {
				t.Fatalf("no test for rows of kind %q", kind)
			}
		})
	}
}

func validateCase(t *testing.T, row casetable.Row) {
	var in struct{ Schema, Args json.RawMessage }
	var want struct {
		Args      json.RawMessage
		Repairs   []string
		Notes     *int
		Unchanged bool
		Error     bool
		Mentions  []string
	}
	casetable.Parse(t, row.Input, &in)
	casetable.Parse(t, row.Expected, &want)
	text := string(in.Args)
	args, notes, problem := reader(string(in.Schema)).Mend(text)
	if want.Error != (problem != "") {
		t.Fatalf("problem %q", problem)
	}
	for _, word := range want.Mentions {
		if !strings.Contains(problem, word) {
			t.Errorf("the problem does not mention %s: %s", word, problem)
		}
	}
	if want.Error || want.Unchanged {
		if string(args) != text || notes != nil {
			t.Errorf("changed to %s: %v", args, notes)
		}
		return
	}
	casetable.SameJSON(t, want.Args, args)
	repairs, said := []string{}, 0
	for _, n := range notes {
		if n.kind == mendPair { // they keep these apart
			said++
			continue
		}
		repairs = append(repairs, n.kind)
	}
	if diff := cmp.Diff(want.Repairs, repairs); diff != "" {
		t.Error(diff)
	}
	if want.Notes != nil && said != *want.Notes {
		t.Errorf("%d notes, want %d", said, *want.Notes)
	}
	if strings.HasPrefix(row.Recommend, "suspicious") && !strings.Contains(Tell(notes), "check") {
		t.Errorf("the model is not warned: %s", Tell(notes))
	}
}

func linkCase(t *testing.T, row casetable.Row) {
	var in struct{ Value string }
	var want *string
	casetable.Parse(t, row.Input, &in)
	casetable.Parse(t, row.Expected, &want)
	got, ok := unwrapLink(in.Value)
	if ok != (want != nil) || ok && got != *want {
		t.Errorf("%q became %q, %v", in.Value, got, ok)
	}
}

func truncationCase(t *testing.T, row casetable.Row) {
	var in struct{ Raw string }
	var want struct {
		Repaired          string
		Changed, Fallback bool
		Value             json.RawMessage
	}
	casetable.Parse(t, row.Input, &in)
	casetable.Parse(t, row.Expected, &want)
	closed, ok := closeJSON(in.Raw)
	if ok == want.Fallback {
		t.Fatalf("closed to %q, %v", closed, ok)
	}
	if !ok {
		args, notes, problem := reader(`{}`).Mend(in.Raw)
		if problem == "" || notes != nil || !json.Valid(args) {
			t.Errorf("taken as %s, %v", args, notes)
		}
		return
	}
	if closed != want.Repaired || (closed != in.Raw) != want.Changed {
		t.Errorf("closed to %q", closed)
	}
	casetable.SameJSON(t, want.Value, []byte(closed))
	if strings.Contains(row.Recommend, "write/edit") {
		if _, _, problem := writer("edit", `{}`).Mend(in.Raw); !strings.Contains(problem, "broke off") {
			t.Errorf("a writing tool would run: %q", problem)
		}
	}
}

// pipelineCase checks that text that means the same becomes the same arguments.
// Package storm tests what it makes of them.
func pipelineCase(t *testing.T, row casetable.Row) {
	t.Helper()
	var in struct{ Raws []string }
	var want struct{ Args []json.RawMessage }
	casetable.Parse(t, row.Input, &in)
	casetable.Parse(t, row.Expected, &want)
	for i, raw := range in.Raws {
		args, _, problem := reader(`{}`).Mend(raw)
		if problem != "" {
			t.Errorf("%q: %s", raw, problem)
		}
		casetable.SameJSON(t, want.Args[i], args)
	}
}

const pathSchema = `{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"},"paths":{"type":"array","items":{"type":"string"}},"text":{"type":"string"}},"additionalProperties":false}`

func TestMend(t *testing.T) {
	t.Parallel()
	object := `{"type":"object","properties":{"o":{"type":"object","properties":{"n":{"type":["integer","null"]},"s":{"type":"string"}}}}}`
	either := `{"type":"object","properties":{"v":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]},"w":{"$ref":"#/$defs/list"},"x":{"type":["string","array"]},"y":{"oneOf":[{"$ref":"#/$defs/list"},{"const":null}]}},"$defs":{"list":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}}}}}}`
	scalars := `{"type":"object","properties":{"all":{"type":"boolean"},"some":{"type":["string","number"]},"part":{"type":"number"},` +
		`"lines":{"type":"array","items":{"type":"integer"}}}}`
	tests := []struct{ name, schema, text, want, kinds string }{
		{"white space stays", pathSchema, `{ "path" : "a" }`, `{ "path" : "a" }`, ""},
		{
			"numbers keep their digits",
			pathSchema,
			`{"limit":12345678901234567890,"path":null}`,
			`{"limit":12345678901234567890}`,
			mendNull,
		},
		{"null for a field that nobody knows", pathSchema, `{"path":"a","other":null}`, `{"path":"a"}`, mendNull},
		{"null deep inside", object, `{"o":{"s":null,"n":null}}`, `{"o":{"n":null}}`, mendNull},
		{"null in a list element", either, `{"w":[{"a":null},{"a":"b"}]}`, `{"w":[{},{"a":"b"}]}`, mendNull},
		{"an object in a string", object, `{"o":"{\"s\":\"x\"}"}`, `{"o":{"s":"x"}}`, mendObject},
		{"all of it in a string", object, `"{\"o\":{\"s\":\"x\"}}"`, `{"o":{"s":"x"}}`, mendObject},
		{"a list in a string, broken inside as " +
			"well", either, `{"w":"[{\"a\":null}]"}`, `{"w":[{}]}`, mendArray + " " + mendNull},
		{"through alternatives", either, `{"v":"x"}`, `{"v":["x"]}`, mendWrap},
		{"inside the one alternative that fits", either, `{"y":[{"a":null}]}`, `{"y":[{}]}`, mendNull},
		{"a string where a string is fine", either, `{"x":"[1]"}`, `{"x":"[1]"}`, ""},
		{"{} for a list", pathSchema, `{"paths":{}}`, `{"paths":[]}`, mendEmpty},
		{"a link that fits the schema", pathSchema, `{"path":"[a.go](http://a.go)"}`, `{"path":"a.go"}`, mendLink},
		{"links in a list of paths", pathSchema, `{"paths":["[a.go](http://a.go)","b"]}`, `{"paths":["a.go","b"]}`, mendLink},
		{"a link in text", pathSchema, `{"text":"[a.go](http://a.go)"}`, `{"text":"[a.go](http://a.go)"}`, ""},
		{"cut, with a key that has no value", pathSchema, `{"path":"a","limit":`, `{"path":"a"}`, mendClosed + " " + mendNull},
		{"cut after à", pathSchema, `{"path":"voilà`, `{"path":"voilà"}`, mendClosed},
		{"cut after х", pathSchema, `{"path":"мех`, `{"path":"мех"}`, mendClosed},
		{"cut inside a character", pathSchema, "{\"path\":\"a\xd1", `{"path":"a"}`, mendClosed},
		{"cut after white space in a string", pathSchema, `{"path":"a ,: `, `{"path":"a ,: "}`, mendClosed},
		{"cut after an escaped quote", pathSchema, `{"path":"a\"b`, `{"path":"a\"b"}`, mendClosed},
		{"cut deep inside", pathSchema, `{"paths":["a","b`, `{"paths":["a","b"]}`, mendClosed},
		{"two lists in a string", pathSchema, `{"paths":"[\"a\"] [\"b\"]"}`, `{"paths":["[\"a\"] [\"b\"]"]}`, mendWrap},
		{"nothing", pathSchema, " \n", `{}`, ""},
		{"a number in a string", pathSchema, `{"limit":"10"}`, `{"limit":10}`, mendNumber},
		{"true in a string", scalars, `{"all":"True"}`, `{"all":true}`, mendBool},
		{"a number where a string is fine", scalars, `{"some":"10"}`, `{"some":"10"}`, ""},
		{"one object for a list", either, `{"w":{"a":"b"}}`, `{"w":[{"a":"b"}]}`, mendItem},
		{"one number for a list", scalars, `{"lines":7}`, `{"lines":[7]}`, mendItem},
		{"numbers in strings in a list", scalars, `{"lines":["7",8]}`, `{"lines":[7,8]}`, mendNumber},
		{"a whole number with a point", pathSchema, `{"limit":10.0}`, `{"limit":10}`, mendWhole},
		{"a whole number with an exponent", pathSchema, `{"limit":1e1}`, `{"limit":10}`, mendWhole},
		{"a whole number in a string", pathSchema, `{"limit":"10.0"}`, `{"limit":10}`, mendNumber + " " + mendWhole},
		{"a number with a point", scalars, `{"part":10.0}`, `{"part":10.0}`, ""},
		{"a code block", pathSchema, "```json\n{\"path\":\"a\"}\n```", `{"path":"a"}`, mendFence},
		{"a code block on one line", pathSchema, "```{\"path\":\"a\"}```", `{"path":"a"}`, mendFence},
		{"a comma at the end", pathSchema, `{"path":"a,}", }`, `{"path":"a,}"}`, mendComma},
		{"commas inside and out, in a block", pathSchema, "```\n{\"paths\":[\"a\",],}\n```", `{"paths":["a"]}`, mendFence + " " + mendComma},
		{"a field twice in a call that looks", pathSchema, `{"path":"a","path":"b"}`, `{"path":"a","path":"b"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args, notes, problem := reader(tt.schema).Mend(tt.text)
			if problem != "" {
				t.Fatal(problem)
			}
			var kinds []string
			for _, n := range notes {
				kinds = append(kinds, n.kind)
			}
			if got := strings.Join(kinds, " "); string(args) != tt.want || got != tt.kinds {
				t.Errorf("got %s (%s)", args, got)
			}
			if said := Tell(notes); (said != "") != (tt.kinds != "") {
				t.Errorf("the model reads %q", said)
			}
		})
	}
}

func TestMendRefuses(t *testing.T) {
	t.Parallel()
	needs := `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"lines":{"type":"array","items":{"type":"integer"}},"names":{"type":"array","items":{"type":"string"}},"list":{"type":"array","minItems":1}},"required":["path"]}`
	tests := []struct {
		name    string
		tool    *Checker
		text    string
		problem string
	}{
		{"a cut write", writer("write", needs), `{"path":"a","content":"half`, "write broke off"},
		{"a write without its last bracket", writer("write", needs), `{"path":"a","content":"all"`, "write broke off"},
		{"a cut edit", writer("edit", needs), `{"path":"a","old_string":"x","new_string":"`, "edit broke off"},
		{"a cut patch", writer("apply_patch", needs), `{"patch":"*** Begin`, "apply_patch broke off"},
		{"a cut command", writer("bash", needs), `{"command":"rm -rf /tmp/x`, "bash broke off"},
		{"a cut call with an effect elsewhere", writer("send", needs), `{"path":"a`, "send broke off"},
		{"a write with a list that looks cut", writer("write", needs), `{"path":"a","names":"[\"x"}`, "expected array"},
		{"a field that is needed", reader(needs), `{"path":`, "not valid JSON"},
		{"a string for a list of numbers", reader(needs), `{"path":"a","lines":"x"}`, "expected array"},
		{"an object with something in it", reader(needs), `{"path":"a","lines":{"x":1}}`, "expected array"},
		{"a repair that does not fit", reader(needs), `{"path":"a","list":{}}`, "expected array"},
		{"a cut word", reader(needs), `{"path":"a","x":tru`, "not valid JSON"},
		{"a cut escape", reader(needs), `{"path":"a\u00`, "not valid JSON"},
		{
			"a field twice in a call that writes",
			writer("write", needs),
			`{"path":"a","content":"x","content":"y"}`,
			`name "content" more than once`,
		},
		{"a field twice deep inside", writer("write", needs), `{"path":"a","list":[{"x":1,"x":1}]}`, `name "x" more than once`},
		{
			"a field twice, all of it in a string",
			writer("write", needs),
			`"{\"path\":\"a\",\"content\":\"x\",\"content\":\"y\"}"`,
			`name "content" more than once`,
		},
		{"a field twice in a list in a string", writer("write", needs), `{"path":"a","list":"[{\"x\":1,\"x\":1}]"}`, `name "x" more than once`},
		{"a number in words", reader(needs), `{"path":"a","lines":["one"]}`, "expected integer"},
		{"half a code block", reader(needs), "```json\n{\"path\":\"a\"}", "not valid JSON"},
		{"two commas", reader(needs), `{"path":"a",,}`, "not valid JSON"},
		{"prose", reader(needs), `Sure! {"path":"a"}`, "not valid JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args, notes, problem := tt.tool.Mend(tt.text)
			if !strings.Contains(problem, tt.problem) || notes != nil {
				t.Errorf("problem %q, notes %v", problem, notes)
			}
			want, _ := Parse(tt.text)
			if !bytes.Equal(args, want) {
				t.Errorf("the arguments became %s", args)
			}
		})
	}
}

func TestARepairThatSpoilsValidArgumentsIsNotMade(t *testing.T) {
	t.Parallel()
	tool := reader(`{"type":"object","properties":{"path":{"type":"string","minLength":10}}}`)
	text := `{"path":"[a.go](http://a.go)"}`
	args, notes, problem := tool.Mend(text)
	if string(args) != text || notes != nil || problem != "" {
		t.Errorf("%s, %v, %s", args, notes, problem)
	}
}

func TestPairsFillWhatHasADefault(t *testing.T) {
	t.Parallel()
	tool := reader(
		`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":["integer","null"]}},"x-hints":{"relational":[{"requires":["a","b","c"],"defaults":{"b":2}}]}}`,
	)
	for text, want := range map[string]string{
		`{"a":1}`:          `{"a":1,"b":2}`,
		`{"c":null}`:       `{"b":2,"c":null}`,
		`{"a":1,"b":null}`: `{"a":1,"b":2}`,
		`{"b":5}`:          `{"b":5}`,
	} {
		args, notes, problem := tool.Mend(text)
		if string(args) != want || problem != "" {
			t.Errorf("%s became %s: %v %s", text, args, notes, problem)
		}
	}
}

func TestPathLike(t *testing.T) {
	t.Parallel()
	m := &mender{}
	plain := map[string]any{"type": "string"}
	for key, want := range map[string]bool{
		"path": true, "paths": true, "file_path": true, "filePath": true, "target-file": true, "cwd": true, "directories": true,
		"file_text": false, "pattern": false, "command": false, "profile": false, "": false,
	} {
		if got := m.pathLike(key, plain); got != want {
			t.Errorf("%q: %v", key, got)
		}
	}
	if !m.pathLike("where", map[string]any{"x-kind": "path"}) || m.pathLike("path", map[string]any{"x-kind": "regexp"}) {
		t.Error("x-kind does not decide")
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"[src/a.go](http://src/a.go)":            "src/a.go",
		"/w/[a.go](http://a.go)":                 "/w/a.go",
		"[my notes.md](http://my%20notes.md)":    "my notes.md",
		"[a.go](https://h.io/aa.go)":             "",
		"see [a.go](http://a.go)":                "",
		"[a.go](http://a.go) please":             "",
		"[a.go](http://a.go)[b.go](http://b.go)": "",
		"[](http://)":                            "",
		"[a.go](a.go)":                           "",
		"a[0].go":                                "",
		"[":                                      "",
	} {
		got, ok := unwrapLink(in)
		if got != want || ok != (want != "") {
			t.Errorf("%q became %q, %v", in, got, ok)
		}
	}
}

func TestTellIsBounded(t *testing.T) {
	t.Parallel()
	notes := slices.Repeat([]Note{{mendNull, "x was null"}}, 100)
	if got := Tell(notes); strings.Count(got, "\n") != mostNotes+3 || !strings.Contains(got, "92 more") {
		t.Error(got)
	}
}

func FuzzMend(f *testing.F) {
	schemas := []string{
		pathSchema, `{}`, `false`, `{"$ref":"#"}`, `{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`,
		`{"type":"object","properties":{"edits":{"type":"array","items":{"type":"object","properties":{"path":{"type":"string"},"repl":{"type":"array","items":{"type":"string"}}},"required":["path"]}}},"x-hints":{"relational":[{"requires":["edits","n"],"defaults":{"n":1}}]}}`,
	}
	for i := range schemas {
		for _, text := range []string{
			`{"path":"[a](http://a)","limit":null}`, `{"edits":"[{\"path\":\"x\",\"repl\":\"y\"}]"}`, `{"path":"voilà`,
			`{"paths":"[a`, `{"paths":{}}`, "[1,[2,", `"{\"path\":1}"`, "{\"a\":\xff",
		} {
			f.Add(i, text, true)
		}
	}
	f.Fuzz(func(t *testing.T, i int, text string, writes bool) {
		tool := New("look", json.RawMessage(schemas[uint(i)%uint(len(schemas))]), !writes)
		args, notes, problem := tool.Mend(text)
		if !json.Valid(args) {
			t.Fatalf("%q became %q", text, args)
		}
		if problem != "" {
			if notes != nil {
				t.Fatalf("repaired and refused: %v", notes)
			}
			return
		}
		if writes && slices.ContainsFunc(notes, func(n Note) bool { return n.kind == mendClosed }) {
			t.Fatalf("a writing tool would run with %s", args)
		}
		again, more, problem := tool.Mend(string(args))
		if problem != "" || more != nil || !bytes.Equal(args, again) {
			t.Fatalf("%s: the repaired arguments are repaired again to %s, %v, %s", args, again, more, problem)
		}
	})
}
