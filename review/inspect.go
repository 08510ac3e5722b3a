package review

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
)

// Work is a change, and what it was meant to be.
type Work struct {
	Patch   string        // against the start, as git prints it
	Plan    *plan.PlanDoc // nil when there is none
	Closing string        // the implementer's closing words
	Checks  []plan.Check  // the commands that decide
}

// Inspect looks at a change for what a reviewer could overlook: files that the
// plan does not name, tests that are gone or no longer run, and changes to what
// decides about the work. It judges nothing.
func Inspect(w Work) []plan.Finding {
	files := readPatch(w.Patch)
	declared := map[string]bool{} // tests that the change adds somewhere
	for _, f := range files {
		for _, name := range testNames(f.added) {
			declared[name] = true
		}
	}
	var out []plan.Finding
	for _, f := range files {
		out = append(out, w.scope(f)...)
		out = append(out, w.judges(f)...)
		if isTest(f.path) || isTest(f.old) {
			out = append(out, gone(f, declared)...)
			out = append(out, skipped(f)...)
		}
	}
	return out
}

// scope notes a file that the plan does not name, with what the implementer
// said of it. A plan that names no file cannot be left.
func (w Work) scope(f fileChange) []plan.Finding {
	if w.Plan == nil || len(w.Plan.Files) == 0 || w.planned(f.path) {
		return nil
	}
	verb := "was changed"
	switch {
	case f.created:
		verb = "was created"
	case f.deleted:
		verb = "was deleted"
	}
	return []plan.Finding{{
		Kind: plan.FindScope, Path: f.path, Reason: reasonFor(w.Closing, f.path),
		Text: fmt.Sprintf("%s %s, and the plan does not name it.", f.path, verb),
	}}
}

// planned reports whether the plan names a file, or a directory it lies in.
func (w Work) planned(name string) bool {
	if w.Plan == nil {
		return false
	}
	for ; name != "." && name != "/" && name != ""; name = path.Dir(name) {
		if _, ok := w.Plan.Files[name]; ok {
			return true
		}
	}
	return false
}

// reasonFor finds the line in which a text speaks of a file.
func reasonFor(text, name string) string {
	for _, word := range []string{name, path.Base(name)} {
		for line := range strings.Lines(text) {
			if strings.Contains(line, word) {
				return cut(strings.TrimSpace(line), 300)
			}
		}
	}
	return ""
}

// judges notes a change to what decides about the work. A plan that names the
// file has said that it would change.
func (w Work) judges(f fileChange) []plan.Finding {
	what := ""
	for _, name := range []string{f.path, f.old} {
		switch {
		case what != "" || name == "":
		case isPipeline(name):
			what = "the project's continuous integration"
		case isTestSetup(name) || setsTests(name, f):
			what = "how the project is tested"
		case slices.ContainsFunc(w.Checks, func(c plan.Check) bool { return runs(c.Command, name) }):
			what = "a script that a check runs"
		}
	}
	if what == "" {
		return nil
	}
	return []plan.Finding{{
		Kind: plan.FindJudges, Path: f.path, Answer: !w.planned(f.path),
		Text: fmt.Sprintf("%s was changed, and it is %s: it may pass for that reason.", f.path, what),
	}}
}

func isPipeline(name string) bool {
	for _, dir := range []string{".github/workflows/", ".github/actions/", ".circleci/", ".ci/", ".buildkite/", ".gitlab/ci/"} {
		if strings.HasPrefix(name, dir) {
			return true
		}
	}
	return slices.Contains([]string{".gitlab-ci.yml", ".travis.yml", "Jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml", ".drone.yml"}, name)
}

// isTestSetup knows the files that exist for the sake of building and testing.
func isTestSetup(name string) bool {
	base := path.Base(name)
	switch base {
	case "Makefile", "makefile", "GNUmakefile", "Justfile", "justfile", "Taskfile.yml", "Rakefile",
		"pytest.ini", "conftest.py", "tox.ini", "noxfile.py", ".coveragerc", "phpunit.xml", ".rspec":
		return true
	}
	return strings.HasSuffix(base, ".mk") || testConfig().MatchString(base)
}

var (
	testConfig = lazy.Regexp(`^(jest|vitest|karma|playwright|cypress|mocha|ava|babel)\.config\.[a-z]+$|^\.mocharc|^\.golangci\.|^\.eslintrc`)
	testKey    = lazy.Regexp(`"(pre|post)?test[^"]*"\s*:|pytest|testpaths|addopts`)
)

// setsTests looks for test settings in files that hold much else.
func setsTests(name string, f fileChange) bool {
	if !slices.Contains([]string{"package.json", "pyproject.toml", "setup.cfg", "composer.json"}, path.Base(name)) {
		return false
	}
	return slices.ContainsFunc(slices.Concat(f.added, f.removed), testKey().MatchString)
}

// runs reports whether a command line names a file of the tree.
func runs(command, name string) bool {
	for _, word := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>'\"`=", r) }) {
		if path.Clean(word) == name {
			return true
		}
	}
	return false
}

// isTest knows test files by their names.
func isTest(name string) bool {
	base, dirs := path.Base(name), "/"+path.Dir(name)+"/"
	stem := strings.TrimSuffix(base, path.Ext(base))
	for _, end := range []string{"_test", ".test", ".spec", "_spec", "Test", "Tests", "Spec", "-test"} {
		if strings.HasSuffix(stem, end) {
			return true
		}
	}
	return strings.HasPrefix(base, "test_") || strings.Contains(dirs, "/test/") || strings.Contains(dirs, "/tests/") ||
		strings.Contains(dirs, "/__tests__/") || strings.Contains(dirs, "/spec/") || strings.Contains(dirs, "/testdata/")
}

// declaration finds the name of a test where it is declared.
var declaration = lazy.Regexp(`^\s*(?:func ((?:Test|Fuzz|Example|Benchmark)\w*)\(|(?:async )?def (test_?\w*)\(|(?:it|test|describe)\s*\(\s*["'` + "`" + `]([^"'` + "`" + `]+)|(?:pub )?(?:async )?fn (\w*test\w*)\(|(?:public |private )?void (\w*[tT]est\w*)\()`)

func testNames(lines []string) []string {
	var out []string
	for _, line := range lines {
		if m := declaration().FindStringSubmatch(line); m != nil {
			out = append(out, strings.Join(m[1:], ""))
		}
	}
	return out
}

// gone notes tests that are no longer there. One that turns up elsewhere in the
// change was moved.
func gone(f fileChange, declared map[string]bool) []plan.Finding {
	var lost []string
	for _, name := range testNames(f.removed) {
		if !declared[name] && !slices.Contains(lost, name) {
			lost = append(lost, name)
		}
	}
	text := ""
	switch {
	case f.deleted && (len(lost) > 0 || len(testNames(f.removed)) == 0):
		text = fmt.Sprintf("%s, a test file, was deleted.", f.path)
	case len(lost) > 0:
		text = fmt.Sprintf("%s lost %s: %s.", f.path, count(len(lost), "test", "tests"), cut(strings.Join(lost, ", "), 300))
	default:
		return nil
	}
	return []plan.Finding{{Kind: plan.FindGone, Path: f.path, Text: text, Answer: true}}
}

// skip finds what keeps a test from running.
var skip = lazy.Regexp(`\b[tbf]\.Skip(?:f|Now)?\(|@(?:pytest\.mark\.)?(?:skip|xfail)|pytest\.skip\(|unittest\.(?:skip|expectedFailure)|\b(?:it|test|describe|context)\.(?:skip|only|todo)\b|\b(?:xit|xdescribe|xtest|fit|fdescribe)\s*\(|#\[ignore|@(?:Disabled|Ignore)\b|^//go:build\s+(?:ignore|never|skip)|\bcollect_ignore\b|pending\(`)

func skipped(f fileChange) []plan.Finding {
	before := 0
	for _, line := range f.removed {
		if skip().MatchString(line) {
			before++
		}
	}
	var marks []string
	for _, line := range f.added {
		if skip().MatchString(line) {
			marks = append(marks, strings.TrimSpace(line))
		}
	}
	if len(marks) <= before {
		return nil
	}
	return []plan.Finding{{
		Kind: plan.FindSkip, Path: f.path, Answer: true,
		Text: fmt.Sprintf("%s keeps tests from running: `%s`.", f.path, cut(marks[0], 120)),
	}}
}
