package review_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/review"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestSchemaGolden(t *testing.T) {
	t.Parallel()
	const path = "testdata/schema.json"
	got := review.Schema()
	if !bytes.Equal(got, review.Schema()) {
		t.Error("the bytes differ from call to call")
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, got, "", "  "); err != nil {
		t.Fatal(err)
	}
	pretty.WriteByte('\n')
	if *update {
		if err := os.WriteFile(path, pretty.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), pretty.String()); diff != "" {
		t.Errorf("run with -update and read the change (-want +got):\n%s", diff)
	}
}

func TestSchemaIsStrict(t *testing.T) {
	t.Parallel()
	var s jsonschema.Schema
	if err := json.Unmarshal(review.Schema(), &s); err != nil {
		t.Fatal(err)
	}
	schema, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	const item = `{"item":"a","met":true,"evidence":"b"}`
	full := func(kind, checklist, missing, commands string) string {
		return fmt.Sprintf(`{"verdict":%s,"checklist":%s,"missing":%s,"commands":%s,"notes":["n"],"no_change":"","unchanged":""}`,
			kind, checklist, missing, commands)
	}
	for text, ok := range map[string]bool{
		full(`"DONE"`, "["+item+"]", "[]", `[{"command":"a","exit_code":1,"call":""}]`):    true,
		full(`"DONE"`, "["+item+"]", "[]", `[{"command":"","exit_code":1,"call":"b7"}]`):   true,
		full(`"BLOCKED"`, "[]", `[{"id":"","gap":"a","severity":"should"}]`, "[]"):         true,
		full(`"done"`, "[]", "[]", "[]"):                                                   false,
		`{"verdict":"DONE","checklist":[],"missing":[],"commands":[]}`:                     false,
		strings.Replace(full(`"DONE"`, "[]", "[]", "[]"), "{", `{"more":1,`, 1):            false,
		full(`"DONE"`, `[{"item":"a","met":true}]`, "[]", "[]"):                            false,
		full(`"DONE"`, "[]", "[]", `[{"command":"a","exit_code":1}]`):                      false,
		full(`"NEEDS_FIX"`, "[]", `[{"id":"","gap":"a","severity":"nice to have"}]`, "[]"): false,
		full(`"NEEDS_FIX"`, "[]", `[{"id":"","gap":"a","severity":"must","x":1}]`, "[]"):   false,
	} {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != ok {
			t.Errorf("%s: %v; want valid: %v", text, err, ok)
		}
		if _, err := parse(text); ok && err != nil {
			t.Errorf("%s fits the schema and is not read: %v", text, err)
		}
	}
	if s := string(review.Schema()); strings.Contains(s, "$schema") || strings.Contains(s, "$id") {
		t.Errorf("schema %s", s)
	}
}

func TestReask(t *testing.T) {
	t.Parallel()
	_, err := parse(`{"verdict":"MAYBE"}`)
	_, behind := parse(done + "\nBut it ```x```\n")
	_, d := review.Judge(doneWith(ran("make test", 0)), review.Evidence{})
	if d == nil {
		t.Fatal("no doubt")
	}
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"in the way": {review.Reask(behind, nil), []string{"text follows", "````\nBut it ```x```\n````", "wrong, missing"}},
		"malformed":  {review.Reask(err, nil), []string{`could not be read: the verdict is "MAYBE"`}},
		"doubt":      {review.Reask(nil, d), []string{"nothing that ran shows it", "- `make test` was not run again", "Claim in `commands`"}},
		"neither":    {review.Reask(nil, nil), []string{"once more"}},
	} {
		for _, want := range append(tt.want, "one JSON object and nothing else", `"missing": [{"id"`) {
			if !strings.Contains(tt.text, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, tt.text)
			}
		}
		if len(tt.text) > 2000 {
			t.Errorf("%s: %d bytes is long", name, len(tt.text))
		}
	}
	for _, text := range []string{done + done + "\nBut " + needs, needs + "\nBut " + done, doneAnd(`"gaps":["{"]`)} {
		_, err := parse(text)
		if v, err := second(review.Reask(err, nil)); err == nil {
			t.Errorf("the question about %q reads as %+v", text, v)
		}
	}
	// The shape that is shown must never be taken for an answer.
	if v, err := parse(review.Reask(nil, d)); err == nil || v.Verdict != plan.NoVerdict {
		t.Errorf("the question reads as %+v", v)
	}
}
