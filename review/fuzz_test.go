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

// FuzzDone holds what is true of every text that reads as a DONE: other words
// beside it change that, and reasoning in front of it does not.
func FuzzDone(f *testing.F) {
	for _, text := range []string{
		done, "All holds.\n" + done, "```json\n" + done + "\n```", done + "\n" + done, `{"a": "x\` + "\n" + done,
		doneAnd(`"missing":"No gaps.","checklist":["builds"],"notes":["a"]`), "`<think>` is gone. " + done,
	} {
		f.Add(text, "I would say "+needs+" or {\"a\": \"")
	}
	f.Fuzz(func(t *testing.T, text, other string) {
		v, err := parse(text)
		if err != nil || v.Verdict != plan.Done {
			return
		}
		if tags := text + other; strings.ContainsAny(tags, "<◁") || strings.Contains(tags, "THINK]") {
			return // it has reasoning of its own
		}
		if got, err := parse("<think>" + other + "</think>\n" + text); err != nil || !cmp.Equal(v, got) {
			t.Errorf("with reasoning %q: %+v, %v", other, got, err)
		}
		for name, with := range map[string]string{
			"before":   needs + "\n" + text,
			"behind":   text + "\n" + needs,
			"in prose": text + "\nBut not `" + `{"verdict":"BLOCKED"}` + "` yet.",
			"prose":    text + "\nBut the docs are wrong.",
		} {
			if got, err := parse(with); err == nil && got.Verdict == plan.Done {
				t.Errorf("%s: DONE out of %q", name, with)
			}
		}
		for _, with := range []string{needs + "\n" + text, text + "\n" + needs} {
			if got, err := second(with); err == nil {
				t.Errorf("a second answer of two verdicts is %+v: %q", got, with)
			}
		}
	})
}
