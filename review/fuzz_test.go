package review_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/review"
)

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", done, needs, "```json\n" + done + "\n```", "{\"verdict\":\"DONE\",\"missing\":\"- a\\n- b\"}", "[" + done + "]",
		`{"verdict":"blocked","checklist":["[ ] a"],"commands":["go test"]}`, `{"verdict":"DONE","verdict":"NEEDS_FIX"}`,
		"{{[[\"\\{}]]", "{\"a\":{\"verdict\":\"DONE\"}", "'{' \"{\" " + needs,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parse(text)
		if err != nil {
			var pe *review.ParseError
			if !errors.As(err, &pe) || pe.Why == "" {
				t.Fatalf("error %#v is not a *ParseError with a reason", err)
			}
			j := review.Final(text, err, review.Evidence{})
			if j.Approved || j.Why == "" || len(j.Gaps) != 1 || !utf8.ValidString(j.Gaps[0].Gap) || len(j.Gaps[0].Gap) > 4200 {
				t.Fatalf("final judgement %+v", j)
			}
			return
		}
		if v.Verdict == plan.Done && !strings.Contains(text, `\u`) && !strings.Contains(strings.ToLower(text), "done") {
			t.Fatalf("DONE out of %q", text)
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		v2, err := parse(string(again))
		if err != nil {
			t.Fatalf("parse %s: %v", again, err)
		}
		prose := cmpopts.IgnoreFields(plan.ListItem{}, "Prose") // it tells how an item was given
		if diff := cmp.Diff(v, v2, prose); diff != "" {
			t.Fatalf("not stable (-first +second):\n%s", diff)
		}
		if j, d := review.Judge(v, review.Evidence{Text: text}); j.Approved || j.Why == "" || (d != nil && d.Why == "") {
			t.Fatalf("judged without any evidence: %+v, %+v", j, d)
		}
	})
}
