package review_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

func TestNothingIsMissing(t *testing.T) {
	t.Parallel()
	nothing := []string{
		"", " ", "-", "—", "[]", "{}", "null", "None", "none.", "No", "**None**", "(none)", "nil", "N/A", "n/a.", "nothing",
		"Nothing.", "No gaps.", "no gap", "No issues", "No known gaps", "None found", "None found.", "nothing missing",
		"Nothing is missing.", "Nothing left to do", "nothing to report", "No issues found.", "No open gaps remain.",
		"There are no gaps.", "There is nothing missing", "I found no issues.", "no must or should gaps",
		"No blocking issues identified", "no further changes needed", "No gaps in the implementation", "Missing: none",
		"None - all requirements are met.", "None; everything works", "No gaps. All tests pass.", "Not applicable", "0",
		"All requirements are met.", "[none]", "`none`", "<none>", "no remaining problems", "empty",
	}
	gaps := []string{
		"No test for empty input", "None of the callers were updated", "no tests", "Nothing works", "not done",
		"missing docs", "missing", "No docs.", "No. The parser crashes", "No gaps, but the tests fail", "none are tested",
		"No requirements are met", "Nothing is done", "...", "?", "❌", "the flag", "No handling of null",
		"null is not handled",
		"No error for []", "all tests fail", "All requirements but one are met", "Everything is missing", "No tests pass",
		"None works", "no help text", "all tests", "the change requested", "Everything asked", "The work is not done",
		"I found the tests missing", "all of it", "the change is wanted", "no work done", "No check that a gap is open",
	}
	for _, text := range nothing {
		for form, missing := range forms(t, text) {
			v, err := parse(doneAnd(`"missing":` + missing))
			if err != nil || len(v.Missing) > 0 {
				t.Errorf("%s of %q is %+v, %v", form, text, v.Missing, err)
			}
		}
	}
	for _, text := range gaps {
		for form, missing := range forms(t, text) {
			v, err := parse(doneAnd(`"missing":` + missing))
			if err != nil || len(v.Missing) != 1 {
				t.Errorf("%s of %q is %+v, %v", form, text, v.Missing, err)
			}
		}
	}
}

// forms are the ways to name one gap.
func forms(t *testing.T, text string) map[string]string {
	t.Helper()
	s := quote(t, text)
	return map[string]string{
		"a string":          s,
		"an entry":          `[` + s + `]`,
		"an object":         `[{"id":"","gap":` + s + `,"severity":"must"}]`,
		"an object alone":   `{"gap":` + s + `}`,
		"a gap by its word": `[{"description":` + s + `}]`,
	}
}

func TestMissingByOtherForms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]plan.Missing{
		`null`:                         {},
		`false`:                        {},
		`[null, "", {}, {"gap":null}]`: {},
		`[{"id":"none","gap":"none","severity":"none"}]`: {},
		`[{"id":"G1","gap":"none"}]`:                     {{ID: "G1", Gap: "none", Severity: "must"}},
		`["G1"]`:                                         {{ID: "G1", Severity: "must"}},
		`[{"gap":"a","severity":"SHOULD"}]`:              {{Gap: "a", Severity: "should"}},
		`[{"gap":"a","severity":"minor"}]`:               {{Gap: "a", Severity: "must"}},
		`["none", "a"]`:                                  {{Gap: "a", Severity: "must"}},
		`"None.\n\nBut TestA is skipped"`:                {{Gap: "But TestA is skipped", Severity: "must"}},
	} {
		v, err := parse(doneAnd(`"missing":` + text))
		if diff := cmp.Diff(want, v.Missing); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
}

func TestReasonsAndNotes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`""`, `"n/a"`, `"None."`, `false`, `null`, `"N/A: a new flag"`, `" "`, `"No"`} {
		v, err := parse(doneAnd(`"no_change":` + text + `,"unchanged":` + text))
		if err != nil || v.NoChange != "" || v.Unchanged != "" {
			t.Errorf("%s: %+v, %v", text, v, err)
		}
	}
	for _, text := range []string{"a refactoring", "No command shows it", "None of the commands can tell", "docs only"} {
		v, err := parse(doneAnd(`"no_change":` + quote(t, text) + `,"unchanged":` + quote(t, text)))
		if err != nil || v.NoChange != text || v.Unchanged != text {
			t.Errorf("%s: %+v, %v", text, v, err)
		}
	}
	for _, text := range []string{`true`, `3`, `["a"]`, `{"a":1}`, `"a","unchanged":"b"`} {
		if v, err := parse(doneAnd(`"unchanged":` + text)); err == nil {
			t.Errorf("%s: %+v", text, v)
		}
	}
	for text, want := range map[string][]string{
		`"one remark"`:                         {"one remark"},
		`"- one\n- two"`:                       {"one", "two"},
		`["one",{"note":"two"},{"text":"so"}]`: {"one", "two", `{"text":"so"}`},
		`["none", null, {}]`:                   {},
		`null`:                                 {},
	} {
		v, err := parse(doneAnd(`"notes":` + text))
		if diff := cmp.Diff(want, v.Notes); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
}
