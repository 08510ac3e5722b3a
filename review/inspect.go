package review

import (
	"fmt"
	"maps"
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
	// Baseline and After are the results of the checks before the change and
	// after it.
	Baseline []plan.CheckResult
	After    []plan.CheckResult
	// ChangedJudges are files that the checks read and that say otherwise than before
	// what is run, with what each is: a noun with its article.
	ChangedJudges map[string]string
	// LostTests are tests of go that are built in no file any more, by the file that
	// they stood in. Mains are files whose TestMain is another one.
	LostTests map[string][]string
	Mains     []string
	// ChangedTools are the top folders in which ignored files that a check may execute
	// are not what they were, with files that were written to since.
	ChangedTools map[string][]string
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
	reported := map[string]bool{} // files whose change to what decides is told
	for _, f := range files {
		out = append(out, w.noteUnplannedFile(f)...)
		judged := w.noteJudges(f)
		reported[f.path], reported[f.old] = reported[f.path] || judged != nil, reported[f.old] || judged != nil
		out = append(out, judged...)
		if isTest(f.path) || isTest(f.old) {
			out = append(out, noteRemovedTests(f, declared)...)
		}
		out = append(out, noteRemovedLines(f, files, declared)...)
		if isTest(f.path) || isTest(f.old) || path.Ext(f.path) == ".rs" { // rust keeps tests beside the code
			out = append(out, noteSkippedTests(f)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.ChangedJudges)) {
		if !reported[name] { // its patch is not there, as of a file that is binary
			out = append(out, w.judgeKind(name, w.ChangedJudges[name]))
		}
	}
	return slices.Concat(out, w.noteLostTests(files, declared), w.noteFewerTests(), w.noteChangedTools())
}

// noteLostTests notes tests of go that stand where go does not build them any more. Those
// that are gone from the tree altogether are told of with their file.
func (w Work) noteLostTests(files []fileChange, declared map[string]bool) []plan.Finding {
	reported := map[string]bool{}
	for _, f := range files {
		for _, name := range lostNames(f, declared) {
			reported[f.old+" "+name], reported[f.path+" "+name] = true, true
		}
	}
	var out []plan.Finding
	for _, file := range slices.Sorted(maps.Keys(w.LostTests)) {
		names := slices.DeleteFunc(
			slices.Clone(w.LostTests[file]),
			func(name string) bool { return reported[file+" "+name] },
		)
		if len(names) == 0 {
			continue
		}
		out = append(out, plan.Finding{
			Kind:   plan.FindFewer,
			Path:   file,
			Answer: true,
			Text: fmt.Sprintf("Go built %s of %s before the change, and does not any more, there or elsewhere: %s.",
				count(len(names), "test", "tests"), file, cut(strings.Join(names, ", "), 300)),
		})
	}
	for _, file := range w.Mains {
		out = append(out, plan.Finding{
			Kind:   plan.FindFewer,
			Path:   file,
			Answer: true,
			Text: fmt.Sprintf(
				"%s has a TestMain that was added or changed: it decides whether any test of its package runs.",
				file,
			),
		})
	}
	return out
}

// noteChangedTools notes ignored files that a check may execute and that are not as they
// were before the work began. No patch shows them.
func (w Work) noteChangedTools() []plan.Finding {
	var out []plan.Finding
	for _, top := range slices.Sorted(maps.Keys(w.ChangedTools)) {
		names := ""
		if files := w.ChangedTools[top]; len(files) > 0 && files[0] != top {
			names = " (" + cut(strings.Join(files[:min(3, len(files))], ", "), 300) + ")"
		}
		out = append(out, plan.Finding{
			Kind:   plan.FindTools,
			Path:   top,
			Answer: true,
			Text: fmt.Sprintf(
				"While the work was being done, files in %s changed%s that git ignores and a check may execute: it "+
					"may pass for that reason.",
				top,
				names,
			),
		})
	}
	return out
}

// noteUnplannedFile notes a file that the plan does not name, with what the implementer
// said of it. A plan that names no file cannot be left.
func (w Work) noteUnplannedFile(f fileChange) []plan.Finding {
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
		Kind:   plan.FindScope,
		Path:   f.path,
		Reason: reasonFor(w.Closing, f.path),
		Text:   fmt.Sprintf("%s %s, and the plan does not name it.", f.path, verb),
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

// noteJudges notes a change to what decides about the work.
func (w Work) noteJudges(f fileChange) []plan.Finding {
	for _, name := range []string{f.path, f.old} {
		switch {
		case name == "":
		case isCIConfig(name):
			return []plan.Finding{w.judgeKind(f.path, "the project's continuous integration")}
		case isTestSetup(name):
			return []plan.Finding{w.judgeKind(f.path, "how the project is tested")}
		case w.ChangedJudges[name] != "":
			return []plan.Finding{w.judgeKind(f.path, w.ChangedJudges[name])}
		}
	}
	return nil
}

// judgeKind says what a file that was changed is. A plan that names it has said
// that it would change.
func (w Work) judgeKind(name, change string) plan.Finding {
	return plan.Finding{
		Kind:   plan.FindJudges,
		Path:   name,
		Answer: !w.planned(name),
		Text:   fmt.Sprintf("%s was changed, and it is %s: it may pass for that reason.", name, change),
	}
}

func isCIConfig(name string) bool {
	dirs := []string{".github/workflows/", ".github/actions/", ".circleci/", ".ci/", ".buildkite/", ".gitlab/ci/"}
	for _, dir := range dirs {
		if strings.HasPrefix(name, dir) {
			return true
		}
	}
	return slices.Contains(
		[]string{
			".gitlab-ci.yml",
			".travis.yml",
			"Jenkinsfile",
			"azure-pipelines.yml",
			"bitbucket-pipelines.yml",
			".drone.yml",
		},
		name,
	)
}

// isTestSetup knows the files that exist for the sake of building and testing.
func isTestSetup(name string) bool {
	base := path.Base(name)
	switch base {
	case "Makefile", "makefile", "GNUmakefile", "Justfile", "justfile", "Taskfile.yml", "Rakefile",
		"pytest.ini", "conftest.py", "sitecustomize.py", "usercustomize.py", "tox.ini", "noxfile.py", ".coveragerc",
		"phpunit.xml", ".rspec":
		return true
	}
	return strings.HasSuffix(base, ".mk") || testConfig().MatchString(base)
}

var testConfig = lazy.Regexp(
	`^(jest|vitest|karma|playwright|cypress|mocha|ava|babel)\.config\.[a-z]+$|^\.mocharc|^\.golangci\.|^\.eslintrc`,
)

// isTest knows test files by their names.
func isTest(name string) bool {
	base, dirs := path.Base(name), "/"+path.Dir(name)+"/"
	stem := strings.TrimSuffix(base, path.Ext(base))
	for _, end := range []string{"_test", ".test", ".spec", "_spec", "Test", "Tests", "Spec", "-test"} {
		if strings.HasSuffix(stem, end) {
			return true
		}
	}
	switch path.Ext(base) {
	case ".t", ".bats", ".feature":
		return true
	case ".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".rs", ".rb", ".php", ".lua", ".sh":
		if stem == "test" || stem == "tests" || stem == "spec" {
			return true
		}
	}
	return strings.HasPrefix(base, "test_") || strings.Contains(dirs, "/test/") ||
		strings.Contains(dirs, "/tests/") ||
		strings.Contains(dirs, "/__tests__/") ||
		strings.Contains(dirs, "/spec/") ||
		strings.Contains(dirs, "/testdata/")
}

// declaration finds the name of a test where it is declared.
var declaration = lazy.Regexp(
	`^\s*(?:func ((?:Test|Fuzz|Example|Benchmark)\w*)\(|(?:async )?def (test_?\w*)\(|(?:it|test|describe)\s*\(\s*["'` + "`" + `]([^"'` + "`" + `]+)|(?:pub )?(?:async )?fn (\w*test\w*)\(|(?:public |private )?void (\w*[tT]est\w*)\()`,
)

func testNames(lines []string) []string {
	var out []string
	for _, line := range lines {
		if m := declaration().FindStringSubmatch(line); m != nil {
			out = append(out, strings.Join(m[1:], ""))
		}
	}
	return out
}

// lostNames are the tests that a change takes out of a file and adds to none.
func lostNames(f fileChange, declared map[string]bool) []string {
	var lost []string
	for _, name := range testNames(f.removed) {
		if !declared[name] && !slices.Contains(lost, name) {
			lost = append(lost, name)
		}
	}
	return lost
}

// noteRemovedTests notes tests that are no longer there. One that turns up elsewhere in the
// change was moved.
func noteRemovedTests(f fileChange, declared map[string]bool) []plan.Finding {
	lost := lostNames(f, declared)
	text := ""
	switch {
	case f.deleted && (len(lost) > 0 || len(testNames(f.removed)) == 0):
		text = fmt.Sprintf("%s, a test file, was deleted.", f.path)
	case len(lost) > 0:
		text = fmt.Sprintf(
			"%s lost %s: %s.",
			f.path,
			count(len(lost), "test", "tests"),
			cut(strings.Join(lost, ", "), 300),
		)
	default:
		return nil
	}
	return []plan.Finding{{
		Kind:   plan.FindGone,
		Path:   f.path,
		Text:   text,
		Answer: true,
	}}
}
