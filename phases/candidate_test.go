package phases_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/plan-engine/plan/phases"
)

// ours are the rows on which we differ, and why.
var ours = map[string]struct {
	phased bool
	score  int
	why    string
}{
	"derived-01":  {false, 0, "a question asks for no work"},
	"derived-06":  {true, 4, "every package is broad work, whatever the verb"},
	"labelled-33": {true, 9, "words that two signs share count once"},
}

func TestCandidateCases(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/wayland_workflow.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for in := bufio.NewScanner(f); in.Scan(); n++ {
		var row struct {
			Name     string
			Input    struct{ Text string }
			Expected struct {
				Candidate  bool
				Score      int
				Confidence float64
			}
		}
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		want, score, confidence := row.Expected.Candidate, row.Expected.Score, row.Expected.Confidence
		if o, ok := ours[row.Name]; ok {
			want, score, confidence = o.phased, o.score, 0
			if want {
				confidence = min(1, float64(score)/4)
			}
		}
		got := phases.Candidate(row.Input.Text)
		if got.Phased != want || got.Score != score || got.Confidence != confidence {
			t.Errorf("%s: %q: %+v, want %v, %d, %v", row.Name, row.Input.Text, got, want, score, confidence)
		}
		if got.Why() == "" {
			t.Errorf("%s: no reason", row.Name)
		}
	}
	if n < 20 {
		t.Fatalf("%d rows", n)
	}
}

func TestCandidateImprovements(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		phased bool
	}{
		{"Please be exhaustive", false},
		{"Be exhaustive and thorough about it", true},
		{"Bump the client from 1.2 to 2.0", false},
		{"Raise go to 1.26. 2.0 comes later", false},
		{"1) load it\n2) audit it", true},
		{"How do I audit the entire repo?", false},
		{"Can you audit the entire repo?", true},
		{"Rename `audit the entire repo` to x", false},
		{"```\nfor each file: audit the entire repo\n```\nfix the typo", false},
		{"Is it slow? Migrate all handlers to the new API", true},
		{"The parallelism flag is ignored", false},
		{"auditor names are cut off", false},
		{"Overall, the foreach helper is fine; rename it", false},
		{"Migrating all handlers to v2", true},
		{"Go through them one-by-one", true},
		{"Update all Go files to the new logger", true},
		{"Fan the packages out", true},
		{"Rename it repo-wide", true},
		{"Rename it across\u00a0all\u00a0modules", true},
		{"1. 2. audit", true},
		{"Fix the audit log entry in the audit viewer", false}, // one word is one sign, however often it is there
		{"Rename audit.Migrate to audit.Run", false},
		{"Fix the typo in internal/audit/migration.go", false},
		{"Document --exhaustive in the audit command", false},
		{"Add a comment to audit::migrate()", false},
		{"Fix the spelling of auditör and audité", false},
		{"What does calc.go do for each file?", false},
		{"Isn't this slow for each file?", false},
		{"Will this run in parallel?", false},
		{"how do I migrate all handlers", false},
		{"When all of it is green: migrate all handlers", true},
		{strings.Repeat("in parallel ", 2_000), true},
		{"\xff\xfe audit \xff thorough", true},
	} {
		if got := phases.Candidate(c.text); got.Phased != c.phased {
			t.Errorf("%.80q: %+v", c.text, got)
		}
	}
}
