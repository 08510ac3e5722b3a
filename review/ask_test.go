package review_test

import (
	"bytes"
	"encoding/json"
	"flag"
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
	for text, ok := range map[string]bool{
		`{"verdict":"DONE","checklist":[` + item + `],"missing":[],"commands":[{"command":"a","exit_code":1}]}`:          true,
		`{"verdict":"BLOCKED","checklist":[],"missing":[{"id":"","gap":"a","severity":"should"}],"commands":[]}`:         true,
		`{"verdict":"done","checklist":[],"missing":[],"commands":[]}`:                                                   false,
		`{"verdict":"DONE","checklist":[],"missing":[]}`:                                                                 false,
		`{"verdict":"DONE","checklist":[],"missing":[],"commands":[],"more":1}`:                                          false,
		`{"verdict":"DONE","checklist":[{"item":"a","met":true}],"missing":[],"commands":[]}`:                            false,
		`{"verdict":"NEEDS_FIX","checklist":[],"missing":[{"id":"","gap":"a","severity":"nice to have"}],"commands":[]}`: false,
		`{"verdict":"NEEDS_FIX","checklist":[],"missing":[{"id":"","gap":"a","severity":"must","x":1}],"commands":[]}`:   false,
	} {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != ok {
			t.Errorf("%s: %v; want valid: %v", text, err, ok)
		}
		if _, err := review.Parse(text); ok && err != nil {
			t.Errorf("%s fits the schema and is not read: %v", text, err)
		}
	}
	if s := string(review.Schema()); strings.Contains(s, "$schema") || strings.Contains(s, "$id") {
		t.Errorf("schema %s", s)
	}
}

func TestReask(t *testing.T) {
	t.Parallel()
	_, err := review.Parse(`{"verdict":"MAYBE"}`)
	_, d := review.Judge(doneWith(ran("make test", 0)), review.Evidence{})
	if d == nil {
		t.Fatal("no doubt")
	}
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"malformed": {review.Reask(err, nil), []string{`could not be read: the verdict is "MAYBE"`}},
		"doubt":     {review.Reask(nil, d), []string{"does not show 1 claimed command", "- `make test` is said", "Run now"}},
		"neither":   {review.Reask(nil, nil), []string{"once more"}},
	} {
		for _, want := range append(tt.want, "one JSON object and nothing else", `"missing": [{"id"`) {
			if !strings.Contains(tt.text, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, tt.text)
			}
		}
		if len(tt.text) > 1500 {
			t.Errorf("%s: %d bytes is long", name, len(tt.text))
		}
	}
	// The shape that is shown must never be taken for an answer.
	if v, err := review.Parse(review.Reask(nil, d)); err == nil || v.Verdict != plan.NoVerdict {
		t.Errorf("the question reads as %+v", v)
	}
}
