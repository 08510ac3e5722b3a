package arguments

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// complaints are what a model reads of arguments that do not fit: the lines after the
// first.
func complaints(t *testing.T, schema, args string) []string {
	t.Helper()
	o := reader(schema)
	problem := o.Validate([]byte(args))
	if problem == "" {
		return nil
	}
	head, lines, _ := strings.Cut(problem, "\n")
	if head != "The arguments of look do not fit; the call was not run." {
		t.Fatalf("%s with %s: %s", schema, args, problem)
	}
	return strings.Split(lines, "\n")
}

func TestEachFieldThatIsWrongIsNamed(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{
		"path":{"type":"string","minLength":1},"depth":{"type":"integer","minimum":1,"maximum":5},
		"mode":{"enum":["fast",2]},"note":{"anyOf":[{"type":"string"},{"type":"null"}]},
		"edits":{"type":"array","items":{"$ref":"#/$defs/edit"}}},
		"required":["path","mode"],"additionalProperties":false,
		"$defs":{"edit":{"type":"object","properties":{"line":{"type":"integer"}},"required":["line"],"additionalProperties":false}}}`
	for args, want := range map[string][]string{
		`{"path":"a","mode":2.0,"depth":1e0,"note":null,"edits":[{"line":10e2}]}`: nil,
		`{"depth":9,"why":1,"also":2}`: {
			`- depth: expected at most 5, got number 9`,
			`- the arguments: missing "path", "mode"`,
			`- the arguments: unknown field "also", "why"`,
		},
		`{"path":"","mode":"slow","depth":1.5,"note":7,"edits":[{"line":1},{"row":"2"},3]}`: {
			`- depth: expected integer, got number 1.5`,
			`- edits.1: missing "line"`,
			`- edits.1: unknown field "row"`,
			`- edits.2: expected object, got number 3`,
			`- mode: expected one of [fast 2], got string "slow"`,
			`- note: expected null or string, got number 7`,
			`- path: expected a length of at least 1, got string ""`,
		},
		`[1]`: {`- the arguments: expected object, got array [1]`},
	} {
		if diff := cmp.Diff(want, complaints(t, schema, args)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", args, diff)
		}
	}
}

func TestOddSchemas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, args, want string }{
		{`{"type":"integer"}`, `123456789012345678901234567890`, ``},
		{`{"type":"integer","maximum":9}`, `1e400`, `- the arguments: expected at most 9, got number 1e400`},
		{`{"type":"string"}`, `5`, `- the arguments: expected string, got number 5`},
		{`{"type":["integer","null"]}`, `1.5`, `- the arguments: expected integer or null, got number 1.5`},
		{`{"enum":[1,1.5]}`, `1.0`, ``},
		{`{"const":[1]}`, `[1e0]`, ``},
		{`{"const":[1]}`, `["1"]`, `- the arguments: expected array [1], got array ["1"]`},
		{`{"exclusiveMinimum":0.5}`, `0.5`, `- the arguments: expected more than 0.5, got number 0.5`},
		{`{"exclusiveMaximum":2}`, `2`, `- the arguments: expected less than 2, got number 2`},
		{`{"items":{"maxLength":1},"maxItems":1}`, `["ab","c"]`, "- 0: expected a length of at most 1, got string \"ab\"\n- the arguments: expected at most 1 items, got array [\"ab\",\"c\"]"},
		{`{"prefixItems":[true,{"type":"string"}],"items":false}`, `[1,2,3]`, "- 1: expected string, got number 2\n- 2: nothing is allowed here, got number 3"},
		{`{"pattern":"^a"}`, `"b"`, `- the arguments: expected a match for "^a", got string "b"`},
		{`{"properties":{"a":true},"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}`, `{"a":1,"x-b":2,"c":3}`, "- the arguments: unknown field \"c\"\n- x-b: expected string, got number 2"},
		{`{"additionalProperties":{"type":"string"}}`, `{"a":1}`, `- a: expected string, got number 1`},
		{`{"allOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, "- the arguments: missing \"a\"\n- the arguments: missing \"b\""},
		{`{"oneOf":[{"required":["a"]},{"required":["b"]},{"type":"null"}]}`, `{}`, "- the arguments: missing \"a\"\n- the arguments: missing \"b\""},
		{`{"$ref":"#/definitions/n","definitions":{"n":{"type":"integer"}}}`, `"1"`, `- the arguments: expected integer, got string "1"`},
		{`{"allOf":[{"type":"object","properties":{"a":{"$ref":"#/allOf/0"}}}]}`, `{"a":{"a":1}}`, `- a.a: expected object, got number 1`},
		{`{"$schema":"http://json-schema.org/draft-07/schema","items":[{"type":"string"}]}`, `[1]`, `- 0: expected string, got number 1`},
		{`{"$schema":"http://json-schema.org/draft-06/schema#","$id":"look","type":"string"}`, `1`, `- the arguments: expected string, got number 1`},
		// Fields that are called as keywords are.
		{`{"type":"object","dependentRequired":{"type":["x"],"items":["x"]}}`, `1`, `- the arguments: expected object, got number 1`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","dependencies":{"type":["x"]}}`, `1`, `- the arguments: expected object, got number 1`},
		// What is left to the library.
		{`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[1,1.0]}`, `- /properties/a: uniqueItems: array items 1 and 0 are equal`},
		{`{"contains":{"type":"null"}}`, `["` + strings.Repeat("a", 300) + `"]`, `- contains: [` + strings.Repeat("a", 189) + "…"},
		{`{"not":{"type":"string"}}`, `"a"`, `- not: validated against <anonymous schema>`},
		{`{"anyOf":[{"multipleOf":5},{"multipleOf":7}]}`, `1`, "- /anyOf/0: multipleOf: 1/1 is not a multiple of 5.000000\n- /anyOf/1: multipleOf: 1/1 is not a multiple of 7.000000"},
	} {
		if got := strings.Join(complaints(t, c.schema, c.args), "\n"); got != c.want {
			t.Errorf("%s with %s:\n%s\nwant:\n%s", c.schema, c.args, got, c.want)
		}
	}
}

// TestABrokenSchemaIsCalledBroken where the library would judge by it wrongly,
// or go round in it for ever.
func TestABrokenSchemaIsCalledBroken(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		``:                                    "EOF",
		`{"type":`:                            "unexpected",
		`null`:                                "null is no schema",
		`{"type":"strin"}`:                    `no type "strin"`,
		`{"type":["int"]}`:                    "not all types",
		`{"required":"path"}`:                 "cannot unmarshal",
		`{"pattern":"("}`:                     "missing closing",
		`{"properties":{"a":{"items":[{}]}}}`: "prefixItems",
		`{"properties":{"default":{"items":[{}]}}}`:                  "prefixItems",
		`{"properties":{"x-a":{"type":"strin"}}}`:                    `no type "strin"`,
		`{"$ref":"#/$defs/none","$defs":{}}`:                         "none",
		`{"$ref":"http://example.com/s"}`:                            "is not a place in it",
		`{"$ref":"#"}`:                                               "itself without end",
		`{"properties":{"default":{"$ref":"#/properties/default"}}}`: "itself without end",
		`{"$defs":{"a":{"anyOf":[{"not":{"$ref":"#/$defs/a"}}]}}}`:   "itself without end",
		`{"$dynamicRef":"#a","$dynamicAnchor":"a"}`:                  "itself without end",
		`{"items":{"$dynamicRef":"#a"},"$defs":{"a":{"$dynamicAnchor":"a"},"b":{"$dynamicAnchor":"a"}}}`: "dynamic",
		`{"items":{"$ref":"http://example.com/b"},"$defs":{"a":{"$id":"http://example.com/a"}}}`:         "is not a place in it",
		`{"$schema":"http://json-schema.org/draft-03/schema#"}`:                                          "04, 06, 07, 2019-09 and 2020-12",
	} {
		o := reader(schema)
		got := o.Validate([]byte(`{}`))
		if !strings.HasPrefix(got, "the schema of look is broken: ") || !strings.Contains(got, want) {
			t.Errorf("%s: %s, which does not say %q", schema, got, want)
		}
	}
	o := reader(`{"properties":{"type":{"default":{"type":"of mine","items":[1]}},"x-hints":{"type":"string"}},"x-hints":{"type":7,"$ref":"out"}}`)
	if got := o.Validate([]byte(`{}`)); got != "" {
		t.Errorf("values taken for keywords: %s", got)
	}
}

// TestOlderDraftsAndNames: schemas of every draft, with names inside, are read as
// their draft means them.
func TestOlderDraftsAndNames(t *testing.T) {
	t.Parallel()
	const (
		four     = `"$schema":"http://json-schema.org/draft-04/schema#"`
		seven    = `"$schema":"http://json-schema.org/draft-07/schema#"`
		nineteen = `"$schema":"https://json-schema.org/draft/2019-09/schema"`
	)
	for _, c := range []struct{ schema, args, want string }{
		{`{` + four + `,"id":"http://e.com/s","minimum":1,"exclusiveMinimum":true}`, `1`, `- the arguments: expected more than 1, got number 1`},
		{`{` + four + `,"maximum":1,"exclusiveMaximum":false}`, `1`, ``},
		{`{` + four + `,"properties":{"id":{"type":"string"}}}`, `{"id":1}`, `- id: expected string, got number 1`},
		{`{` + four + `,"items":[{"type":"string"}],"additionalItems":false}`, `["a"]`, ``},
		{`{` + four + `,"properties":{"a":{"$ref":"#n"}},"definitions":{"n":{"id":"#n","type":"integer"}}}`, `{"a":"1"}`, `- a: expected integer, got string "1"`},
		{`{` + nineteen + `,"items":[{"type":"string"}],"additionalItems":{"type":"null"}}`, `["a",1]`, `- 1: expected null, got number 1`},
		{`{` + nineteen + `,"type":"object","properties":{"next":{"$recursiveRef":"#"}},"required":["v"],"$recursiveAnchor":true}`, `{"v":1,"next":{}}`, `- next: missing "v"`},
		{`{"properties":{"a":{"$ref":"item"}},"$defs":{"i":{"$id":"item","$ref":"#/$defs/n","$defs":{"n":{"type":"integer"}}}}}`, `{"a":"1"}`, `- a: expected integer, got string "1"`},
		{`{"$id":"http://e.com/s","properties":{"a":{"$ref":"http://e.com/s#/$defs/a~1b"}},"$defs":{"a/b":{"type":"null"}}}`, `{"a":1}`, `- a: expected null, got number 1`},
		{`{"properties":{"a":{"$ref":"#x"}},"$defs":{"50%":{"$anchor":"x","type":"null"}}}`, `{"a":1}`, `- a: expected null, got number 1`},
		{`{"type":"object","properties":{"next":{"$dynamicRef":"#node"}},"$dynamicAnchor":"node"}`, `{"next":1}`, `- next: expected object, got number 1`},
		{`{` + seven + `,"definitions":{"$id":{"$id":"named","type":"string"}},"properties":{"$id":{"$ref":"named"}}}`, `{"$id":1}`, `- $id: expected string, got number 1`},
		{`{"default":{"$id":"x","$ref":"nowhere"},"enum":[{"$ref":"nowhere"}]}`, `{"$ref":"nowhere"}`, ``},
	} {
		if got := strings.Join(complaints(t, c.schema, c.args), "\n"); got != c.want {
			t.Errorf("%s with %s:\n%s\nwant:\n%s", c.schema, c.args, got, c.want)
		}
	}
}
