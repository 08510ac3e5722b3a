package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/internal/sampling"
)

// TestKilledExports kills what hands changes on: patches and branches of a batch, and a
// change that is committed and published. The same once more does it, once and whole, and
// nothing is left of the killed.
func TestKilledExports(t *testing.T) {
	t.Parallel()
	p, err := newKillRange(t, "scenario.toml").newPlace("exports")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := json.Marshal(map[string]any{
		"id":      "one",
		"repo":    p.repoDir(),
		"request": "Count in digits",
		"checks":  []string{"sh check.sh"},
	})
	jobs := filepath.Join(p.dir, "jobs.jsonl")
	if err == nil {
		err = os.WriteFile(jobs, spec, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if code, said := p.start(0, 0, "batch", "run", jobs); code != 0 {
		t.Fatalf("the batch ends with %d:\n%s", code, said)
	}
	id := string(p.runs()[0][0].Run)
	told := filepath.Join(p.dir, "told")
	publish := []string{"pr", id, "--retry", "--publish", "echo \"$PLAN_COMMIT\" >> " + told}
	out := filepath.Join(p.repoDir(), "out")
	for _, args := range sampling.Pick(sampling.New(t), 2, [][]string{
		publish,
		{"batch", "export", "--patches", out},
		{"batch", "export", "--branches"},
	}) {
		p.killExport(args, out)
	}
	git := func(args ...string) string { return p.command(t.Context(), p.repoDir(), "git", args...) }
	for branch := range strings.FieldsSeq(git("for-each-ref", "--format=%(refname:short)", "refs/heads/plan")) {
		if n := strings.TrimSpace(git("rev-list", "--count", "main.."+branch)); n != "0" && n != "1" {
			t.Errorf("the branch %s has %s commits", branch, n)
		}
		git("fsck", "--full")
	}
}

// killExport kills a command at each failpoint, or at some, and does it once more.
func (p place) killExport(args []string, out string) {
	p.t.Helper()
	killed := 0
	for n := 1; ; n++ {
		what := fmt.Sprintf("%v killed at %d", args, n)
		code, said := p.start(n, 0, args...)
		if code != -1 {
			if code != 0 {
				p.t.Errorf("%s: %d\n%s", what, code, said)
			}
			break
		}
		killed++
		if args[0] != "pr" { // what is published is not published again: it goes on from kill to kill
			if code, said := p.start(0, 0, args...); code != 0 {
				p.t.Errorf("%s, and once more: %d\n%s", what, code, said)
			}
		}
		if code, said := p.start(0, 0, "gc"); code != 0 && code != 2 {
			p.t.Errorf("%s: gc ended with %d:\n%s", what, code, said)
		}
		for _, pattern := range []string{filepath.Join(out, ".*"), filepath.Join(p.dir, "home", "making", "*")} {
			if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
				p.t.Errorf("%s: %v is left, %v", what, left, err)
			}
		}
	}
	p.t.Logf("%v was killed %d times", args, killed)
}
