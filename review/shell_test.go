package review_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/review"
)

const suite = "go test ./..."

// TestWhatALineProves: whether "go test ./..." is shown to have passed by a line
// that ran and ended with an exit code.
func TestWhatALineProves(t *testing.T) {
	t.Parallel()
	proves := []string{
		suite, "(cd sub && go test ./...)", "{ go test ./...; }", "go vet ./... && go test ./...", "go test ./... && go vet ./...",
		"go test ./... 2>&1", "go test ./... > out.txt 2>&1", "time go test ./...", "timeout 60 go test ./...",
		"go test ./... && echo PASS", "echo start && go test ./...", "export A=b && go test ./...", "A=b; go test ./...",
		"rm -rf out; go test ./...", "set -e; go test ./...; go vet ./...", "set -euo pipefail\ngo test ./...\necho done",
		`bash -c 'go test ./...'`, `bash -lc "cd sub && go test ./..."`, "bash <<< x; go test ./...",
		"source .venv/bin/activate && go test ./...", `export PATH="$PATH:/opt/bin" && go test ./...`, "sleep 1 & go test ./...",
		"go build ./... && (cd x; go test ./...) && true", "go   test \\\n  ./...",
	}
	hides := []string{
		"go test ./... | tail -5", "go test ./... 2>&1 | tee out", "go test ./... | grep -c ok", "go test ./...; echo $?", "go test ./... || true",
		"go test ./... &", "! go test ./...", "if go test ./...; then echo PASS; fi", "for i in 1 2; do go test ./...; done",
		"go test ./...; true", "go test ./...; go vet ./...", "set -e; go test ./... || true", "go() { true; }; go test ./...",
		"alias go=true; go test ./...", "PATH=/tmp/fake:$PATH go test ./...", "export PATH=/tmp/fake && go test ./...", "eval 'go test ./...'",
		`bash -c 'go test ./...; true'`, `bash -c "$LINE"`, "trap 'exit 0' EXIT; go test ./...", "echo go test ./...", `echo "ok: go test ./..."`,
		"go test ./... &>/dev/null; exit 0", "go test", "go test ./other/...", "go test ./... -run NONE", "go test ./... 'unclosed", "true", "", "#" + suite,
		"cd a b && go test ./...", "while ! go test ./...; do break; done", "x=$(go test ./...)", "wait; printf 'PASS\\n'",
	}
	for want, lines := range map[bool][]string{true: proves, false: hides} {
		for _, l := range lines {
			j, _ := review.Judge(doneWith(ran(suite, 0)), review.Evidence{Ran: []plan.RanCommand{ran(l, 0)}})
			if j.Approved != want {
				t.Errorf("%q ended with 0: proves it %v, want %v (%s)", l, j.Approved, want, j.Why)
			}
			// What failed never shows a success.
			if j, _ := review.Judge(doneWith(ran(suite, 0)), review.Evidence{Ran: []plan.RanCommand{ran(l, 1)}}); j.Approved {
				t.Errorf("%q ended with 1, and that proved it", l)
			}
		}
	}
}

// TestClaims: what is claimed, what ran, and what the reviewer is told.
func TestClaims(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claim plan.RanCommand
		ran   []plan.RanCommand
		told  string // "" for proven
	}{
		"a chain by its parts":         {ran("go vet ./... && go test ./...", 0), []plan.RanCommand{ran(suite, 0), ran("go vet ./...", 0)}, ""},
		"a chain by half":              {ran("go vet ./... && go test ./...", 0), []plan.RanCommand{ran(suite, 0)}, "did not run"},
		"a failed chain is itself":     {ran("a && b", 1), []plan.RanCommand{ran("a  &&  b", 1)}, ""},
		"a failed chain is no part":    {ran("b", 1), []plan.RanCommand{ran("a && b", 1)}, "did not run"},
		"a pipe that decides":          {ran("go run . | grep -q hello", 0), []plan.RanCommand{ran("go run . | grep -q  hello", 0)}, ""},
		"a pipe that only prints":      {ran("echo PASS | grep PASS", 0), []plan.RanCommand{ran("echo PASS | grep PASS", 0)}, "passes whatever"},
		"the masked line, as it ran":   {ran("go test ./... | tail", 0), []plan.RanCommand{ran("go test ./... | tail", 0)}, "the pipe into `tail`"},
		"the masked line, or true":     {ran("go test ./... || true", 0), []plan.RanCommand{ran("go test ./... || true", 0)}, "`||` hides"},
		"the command of a masked line": {ran(suite, 0), []plan.RanCommand{ran("go test ./... 2>&1 | tail -3", 0)}, "only as `go test ./... 2>&1 | tail -3`, and the pipe into `tail`"},
		"run bare afterwards":          {ran(suite, 0), []plan.RanCommand{ran("go test ./... | tail", 0), ran(suite, 0)}, ""},
		"only printed":                 {ran("echo PASS", 0), []plan.RanCommand{ran("echo PASS", 0)}, "passes whatever"},
		"prose":                        {ran("I ran all the tests (they pass)", 0), []plan.RanCommand{ran(suite, 0)}, "cannot be read"},
		"expected to fail":             {ran("! grep -q old x.go", 0), []plan.RanCommand{ran("! grep -q  old x.go", 0)}, ""},
		"a test of the shell":          {ran("[[ -f x.go ]]", 0), []plan.RanCommand{ran("[[ -f x.go ]]", 0)}, ""},
		"the version of a tool":        {ran("go version", 0), []plan.RanCommand{ran("go version", 0)}, "passes whatever"},
		"what git says":                {ran("git diff", 0), []plan.RanCommand{ran("git diff", 0)}, "passes whatever"},
		"what git decides":             {ran("git diff --check", 0), []plan.RanCommand{ran("git diff --check", 0)}, ""},
	} {
		j, d := review.Judge(doneWith(c.claim), review.Evidence{Ran: c.ran})
		if j.Approved != (c.told == "") || (d == nil) != (c.told == "") {
			t.Errorf("%s: approved %v, doubt %+v", name, j.Approved, d)
		}
		if d != nil && !strings.Contains(strings.Join(d.Claims, "\n"), c.told) {
			t.Errorf("%s: %q does not say %q", name, d.Claims, c.told)
		}
	}
}

// TestADoneThatClaimsNothing needs a command that can fail and did not, or a
// check that can.
func TestADoneThatClaimsNothing(t *testing.T) {
	t.Parallel()
	advice := func(command string) []plan.CheckResult { return []plan.CheckResult{check(command, 0, false)} }
	for name, c := range map[string]struct {
		ev   review.Evidence
		want bool
	}{
		"a command":                            {review.Evidence{Ran: []plan.RanCommand{ran("ls x.go", 0)}}, true},
		"only words":                           {review.Evidence{Ran: []plan.RanCommand{ran("echo PASS", 0), ran("go version", 0)}}, false},
		"only a failure":                       {review.Evidence{Ran: []plan.RanCommand{ran(suite, 1)}}, false},
		"only a masked command":                {review.Evidence{Ran: []plan.RanCommand{ran(suite+" | tail", 0)}}, false},
		"a check":                              {review.Evidence{Checks: advice(suite)}, true},
		"a check of the plan that cannot fail": {review.Evidence{Checks: advice("echo ok")}, false},
		"a check of the plan that is masked":   {review.Evidence{Checks: advice(suite + " || true")}, false},
		"a check that a person requires":       {review.Evidence{Checks: []plan.CheckResult{check("true", 0, true)}}, true},
	} {
		if j, _ := review.Judge(doneWith(), c.ev); j.Approved != c.want {
			t.Errorf("%s: approved %v, want %v", name, j.Approved, c.want)
		}
	}
}

func FuzzMasked(f *testing.F) {
	f.Add("cd x && go test ./... | tail; echo $(a `b`)")
	f.Add("bash -c 'bash -c \"x\"' && { a; } & ! (b)")
	f.Fuzz(func(t *testing.T, command string) {
		_ = review.Masked(command)
		j, d := review.Judge(doneWith(ran(command, 0)), review.Evidence{})
		if j.Approved || d == nil {
			t.Errorf("nothing ran, and that proved %q", command)
		}
	})
}
