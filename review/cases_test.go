package review_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/review"
)

// testdata/dirge_verdict.jsonl holds what another system does with reviews.
// Where this one differs on purpose, the decision and its reason stand below.

type caseRow struct {
	Name      string          `json:"name"`
	Input     caseInput       `json:"input"`
	Expected  json.RawMessage `json:"expected"`
	Recommend string          `json:"recommend"`
}

type caseInput struct {
	Kind       string   `json:"kind"`
	Text       string   `json:"text"`
	CyclesLeft int      `json:"cycles_left"`
	MaxCycles  int      `json:"max_review_cycles"`
	Reviews    []string `json:"reviews"`
}

func readCases(t *testing.T, kind string) []caseRow {
	t.Helper()
	f, err := os.Open("testdata/dirge_verdict.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var rows []caseRow
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var row caseRow
		// Rows of other kinds have other shapes; they are not read further.
		var probe struct{ Input struct{ Kind string } }
		if err := json.Unmarshal(sc.Bytes(), &probe); err != nil {
			t.Fatal(err)
		}
		if probe.Input.Kind != kind {
			continue
		}
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		t.Fatalf("no cases of kind %q", kind)
	}
	return rows
}

// decision is what this package does with a row where it differs.
type decision struct {
	verdict  plan.VerdictKind // "" for an error
	missing  []string
	approved bool
	reason   string
}

var parseDecisions = map[string]decision{
	"duplicate_key_last_wins": {reason: "conflicting words are no verdict: the reviewer is asked again, and it is never an approval"},
	"later_unrelated_json_block_hides_verdict": {
		reason: "what follows a DONE may take it back: the reviewer is asked once whether it does",
	},
	"tilde_fence":               {verdict: plan.Done, approved: true, reason: "fences do not matter"},
	"done_but_missing_nonempty": {verdict: plan.Done, missing: []string{"no tests"}, reason: "it reads as DONE and is judged NEEDS_FIX with that list"},
	"lowercase_verdict":         {verdict: plan.Done, approved: true, reason: "exact words, any case"},
	"missing_as_array":          {verdict: plan.NeedsFix, missing: []string{"a", "b"}, reason: "a list of strings is a list of gaps"},
	"verdict_hyphen":            {verdict: plan.NeedsFix, missing: []string{"a"}, reason: "- and space count as _"},
	"prose_then_bare_object":    {verdict: plan.Done, approved: true, reason: "no fence is needed"},
}

// parseStricter are rows of our own that a later rule reads otherwise.
var parseStricter = map[string]decision{
	"two_blocks_last_wins": {reason: "two verdicts that differ are none, in whatever order: the reviewer is asked which it means"},
}

func TestParseCases(t *testing.T) {
	t.Parallel()
	for _, row := range readCases(t, "parse") {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			want, differs := parseDecisions[row.Name]
			if differs != (row.Recommend != "") {
				t.Fatalf("recommend is %q and our decision is %q: decide", row.Recommend, want.reason)
			}
			if !differs {
				want = expectedParse(t, row.Expected)
			}
			if stricter, ok := parseStricter[row.Name]; ok {
				want = stricter
			}
			v, err := parse(row.Input.Text)
			if (err != nil) != (want.verdict == "") || v.Verdict != want.verdict {
				t.Fatalf("Parse = %q, %v; want %q (%s)", v.Verdict, err, want.verdict, want.reason)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(want.missing, gapTexts(v.Missing)); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
			j, d := review.Judge(v, oneCheck(row.Input.Text))
			if j.Approved != want.approved || d != nil {
				t.Errorf("approved = %v, doubt %v; want %v", j.Approved, d, want.approved)
			}
		})
	}
}

func expectedParse(t *testing.T, raw json.RawMessage) decision {
	t.Helper()
	var exp *struct {
		Verdict plan.VerdictKind
		Missing string
	}
	if err := json.Unmarshal(raw, &exp); err != nil {
		t.Fatal(err)
	}
	if exp == nil {
		return decision{}
	}
	d := decision{verdict: exp.Verdict, approved: exp.Verdict == plan.Done}
	for line := range strings.Lines(exp.Missing) {
		d.missing = append(d.missing, strings.TrimPrefix(strings.TrimSpace(line), "- "))
	}
	return d
}

func gapTexts(missing []plan.Missing) []string {
	var out []string
	for _, m := range missing {
		out = append(out, m.Gap)
	}
	return out
}

// oneCheck is evidence on which a DONE without claims can rest.
func oneCheck(text string) review.Evidence {
	return review.Evidence{
		Text:   text,
		Checks: []plan.CheckResult{check("go test ./...", 0, false)},
		Trials: []plan.CheckResult{{Check: plan.Check{Command: "go test ./..."}, Evidence: plan.TreeCounter, ExitCode: 1}},
	}
}

// step is what a review leads to: approved, retry (an implement cycle),
// exhausted, or reask where the other system spends a cycle or gives up.
func step(text string, asked bool, cycles int) (string, plan.Judgement) {
	v, err := parse(text)
	ev := oneCheck(text)
	if asked {
		ev.AskedDoubts = []review.DoubtKind{review.DoubtClaims, review.DoubtSilent, review.DoubtShown, review.DoubtSmall, review.DoubtAltered}
	}
	var j plan.Judgement
	var d *review.Doubt
	switch {
	case err == nil:
		j, d = review.Judge(v, ev)
	case asked:
		j = review.Final(text, err, ev)
	}
	if !asked && (err != nil || d != nil) {
		return "reask", j
	}
	switch {
	case j.Approved:
		return "approved", j
	case cycles == 0:
		return "exhausted", j
	}
	return "retry", j
}

// The rows of kind policy whose first review cannot be read: the reviewer is
// asked again before a cycle is spent. The second such review does what the
// other system does with the first.
var reasked = map[string]string{
	"empty_reviewer_output":      "The review came back empty",
	"policy_unparseable_budget1": "there is no block here",
	"policy_unparseable_budget0": "there is no block here",
}

func TestPolicyCases(t *testing.T) {
	t.Parallel()
	for _, row := range readCases(t, "policy") {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			var want struct{ Step, Feedback string }
			if err := json.Unmarshal(row.Expected, &want); err != nil {
				t.Fatal(err)
			}
			feedback, again := reasked[row.Name]
			if again {
				if got, _ := step(row.Input.Text, false, row.Input.CyclesLeft); got != "reask" {
					t.Fatalf("first review leads to %s; want reask", got)
				}
				want.Feedback = feedback
			}
			got, j := step(row.Input.Text, true, row.Input.CyclesLeft)
			if got != want.Step {
				t.Fatalf("leads to %s (%s); want %s", got, j.Why, want.Step)
			}
			if got == "approved" {
				return
			}
			if len(j.Gaps) == 0 || len(j.Missing) != len(j.Gaps) {
				t.Fatalf("gaps %v for missing %v; an implementer has nothing to go by", j.Gaps, j.Missing)
			}
			if told := strings.TrimSpace(want.Feedback); !strings.Contains(j.Missing[0].Gap, told) {
				t.Errorf("the gap is %q; want %q in it", j.Missing[0].Gap, told)
			}
		})
	}
}

func TestSequenceCases(t *testing.T) {
	t.Parallel()
	for _, row := range readCases(t, "sequence") {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			var want struct{ Steps []string }
			if err := json.Unmarshal(row.Expected, &want); err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, text := range row.Input.Reviews {
				if text == "ERR" { // never comes to this package; the engine's table has it
					got = append(got, "reviewer_error")
					break
				}
				s, _ := step(text, false, row.Input.MaxCycles-i)
				if s == "reask" { // and once more the same
					s, _ = step(text, true, row.Input.MaxCycles-i)
				}
				got = append(got, s)
			}
			if diff := cmp.Diff(want.Steps, got); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCriticRows: another system reads a judge's verdict out of prose, and lets
// work pass whose judge says nothing clear. Here every judge fails closed: a word
// in prose is no verdict, the reviewer is asked once more, and the same again
// counts as NEEDS_FIX. So what that system calls incomplete, or abstains from,
// is not approved here either, and what it calls complete has to be said in the
// shape that was asked for.
func TestCriticRows(t *testing.T) {
	t.Parallel()
	words := map[string]string{"complete": "DONE", "incomplete": "NEEDS_FIX", "abstain": "UNSURE"}
	for _, row := range readCases(t, "critic_text") {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			var want struct{ Class string }
			if err := json.Unmarshal(row.Expected, &want); err != nil || words[want.Class] == "" {
				t.Fatalf("%s: %v", row.Expected, err)
			}
			if got, _ := step(row.Input.Text, false, 1); got != "reask" {
				t.Errorf("prose leads to %s, want reask", got)
			}
			if got, j := step(row.Input.Text, true, 1); got != "retry" || len(j.Missing) == 0 || !strings.Contains(j.Missing[0].Gap, strings.TrimSpace(row.Input.Text)) {
				t.Errorf("the same again leads to %s with %v, want retry with what it says", got, j.Missing)
			}
			said, err := json.Marshal(map[string]string{"verdict": words[want.Class]})
			if err != nil {
				t.Fatal(err)
			}
			after := map[string]string{"complete": "approved", "incomplete": "retry", "abstain": "reask"}[want.Class]
			if got, _ := step(row.Input.Text+"\n"+string(said), false, 1); got != after {
				t.Errorf("with the object behind it, it leads to %s, want %s", got, after)
			}
		})
	}
}
