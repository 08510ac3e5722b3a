package checks_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/checks"
)

// tree is a tree whose files' contents are their ids.
type tree map[string]string

func (t tree) IDs() map[string]string {
	ids := map[string]string{}
	for name, text := range t {
		ids[name] = "id of " + text
	}
	return ids
}

func (t tree) Read(_ context.Context, paths ...string) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range paths {
		if text, ok := t[name]; ok {
			out[name] = text
		}
	}
	return out, nil
}

// gone in a change stands for a file that is deleted.
const gone = "\x00gone"

func (t tree) with(change tree) tree {
	out := maps.Clone(t)
	maps.Copy(out, change)
	maps.DeleteFunc(out, func(_, text string) bool { return text == gone })
	return out
}

func compare(t *testing.T, start, change tree, commands ...string) checks.Changes {
	t.Helper()
	var list []plan.Check
	for _, c := range commands {
		list = append(list, plan.Check{Command: c})
	}
	got, err := checks.Compare(t.Context(), start, start.with(change), list)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// project has something that decides in each of its corners.
var project = tree{
	"go.mod":             "module lab\n\ngo 1.22\n\nrequire example.org/x v1.0.0\n",
	"calc.go":            "package lab\n",
	"Makefile":           "include mk/*.mk\n-include local.mk\nTOP := .\ninclude $(TOP)/rules/go.mk\n\nall: test\n\ntest: vet\n\t@./scripts/check.sh --all\n\ndeploy:\n\t./scripts/deploy.sh\n\nvet:\n\t$(PYTHON) tools/vet.py\n\tbash -c 'sh scripts/inner.sh'\n\t$(MAKE) -C sub check\n",
	"mk/a.mk":            "A = 1\n",
	"rules/go.mk":        "B = 1\n",
	"sub/Makefile":       "check:\n\t./run.sh\n",
	"sub/run.sh":         "#!/bin/sh\ntrue\n",
	"scripts/check.sh":   "#!/usr/bin/env bash\nset -e\nDIR=$(dirname \"$0\")\nsource \"$DIR/lib.sh\"\n. \"$(dirname \"$0\")/../scripts/more.sh\"\ngrep -q x CHANGES.md\npython3 scripts/run.py CHANGES.md\n",
	"scripts/lib.sh":     "helper() { bash scripts/deep.sh; }\n",
	"scripts/more.sh":    "true\n",
	"scripts/deep.sh":    "true\n",
	"scripts/inner.sh":   "true\n",
	"scripts/deploy.sh":  "true\n",
	"scripts/run.py":     "print(1)\n",
	"tools/vet.py":       "print(1)\n",
	"CHANGES.md":         "x\n",
	"package.json":       `{"scripts": {"pretest": "node build.js", "test": "npm run unit && mocha -r ./setup", "unit": "jest", "start": "node server.js"}, "dependencies": {"a": "1"}, "jest": {"setupFiles": ["<rootDir>/jest-setup.js"]}}`,
	"build.js":           "1\n",
	"server.js":          "1\n",
	"setup.js":           "1\n",
	"jest-setup.js":      "1\n",
	"jest.config.js":     "module.exports = {transform: {'x': './transform.js'}}\n",
	"transform.js":       "1\n",
	"pyproject.toml":     "[project]\ndependencies = []\n\n[tool.pytest.ini_options]\naddopts = \"-q\"\n",
	"conftest.py":        "import os\n",
	"tests/conftest.py":  "import os\n",
	"Cargo.toml":         "[package]\nname = \"lab\"\n\n[dependencies]\nx = \"1\"\n",
	"bin/lint":           "#!/bin/sh\ntrue\n",
	"ci/wrap":            "#!/bin/sh\nexec ./ci/inner \"$@\"\n",
	"ci/inner":           "#!/bin/sh\n\"$@\"\n",
	"pkg/util/helper.py": "1\n",
}

// TestWhatDecides: of what a change touches, that which the checks read.
func TestWhatDecides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		change  tree
		want    []string
	}{
		"nothing":                        {"make test", nil, nil},
		"the product":                    {"make test && go test ./... && npm test && pytest", tree{"calc.go": "package lab // x\n", "server.js": "2\n", "pkg/util/helper.py": "2\n"}, nil},
		"a makefile":                     {"make test", tree{"Makefile": "test:\n\ttrue\n"}, []string{"Makefile"}},
		"an include":                     {"make test", tree{"mk/a.mk": "A = 2\n"}, []string{"mk/a.mk"}},
		"a new include":                  {"make test", tree{"mk/b.mk": "SHELL = true\n"}, []string{"mk/b.mk"}},
		"an include that was not there":  {"make test", tree{"local.mk": "SHELL = true\n"}, []string{"local.mk"}},
		"an include by a variable":       {"make test", tree{"rules/go.mk": "B = 2\n"}, []string{"rules/go.mk"}},
		"a script of a recipe":           {"make", tree{"scripts/check.sh": "true\n"}, []string{"scripts/check.sh"}},
		"a script of another recipe":     {"make test", tree{"scripts/deploy.sh": "false\n"}, nil},
		"a program of a recipe":          {"make test", tree{"tools/vet.py": "2\n"}, []string{"tools/vet.py"}},
		"a makefile below":               {"make test", tree{"sub/Makefile": "check:\n"}, []string{"sub/Makefile"}},
		"its script":                     {"make test", tree{"sub/run.sh": "true\n"}, []string{"sub/run.sh"}},
		"a shell in a shell":             {"make test", tree{"scripts/inner.sh": "false\n"}, []string{"scripts/inner.sh"}},
		"a sourced script":               {"./scripts/check.sh", tree{"scripts/lib.sh": "exit 0\n"}, []string{"scripts/lib.sh"}},
		"one beside it":                  {"bash scripts/check.sh", tree{"scripts/more.sh": "exit 0\n"}, []string{"scripts/more.sh"}},
		"a script of a sourced one":      {"sh -e scripts/check.sh", tree{"scripts/deep.sh": "exit 0\n"}, []string{"scripts/deep.sh"}},
		"a program of a script":          {"scripts/check.sh", tree{"scripts/run.py": "2\n"}, []string{"scripts/run.py"}},
		"data":                           {"scripts/check.sh", tree{"CHANGES.md": "y\n"}, nil},
		"data of a check":                {"grep -q x CHANGES.md && test -f scripts/lib.sh", tree{"CHANGES.md": "y\n", "scripts/lib.sh": "\n"}, nil},
		"behind cd":                      {"cd sub && ./run.sh", tree{"sub/run.sh": "true\n"}, []string{"sub/run.sh"}},
		"behind a subshell":              {"(cd sub && true) && make", tree{"scripts/check.sh": "true\n"}, []string{"scripts/check.sh"}},
		"behind a wrapper":               {"X=1 timeout 5m env A=b ./ci/wrap go test ./...", tree{"ci/wrap": "true\n"}, []string{"ci/wrap"}},
		"behind a script":                {"ci/wrap go test", tree{"ci/inner": "true\n"}, []string{"ci/inner"}},
		"in the path":                    {"PATH=\"$PWD/bin:$PATH\" lint .", tree{"bin/lint": "exit 0\n"}, []string{"bin/lint"}},
		"not in the path":                {"lint .", tree{"bin/lint": "exit 0\n"}, nil},
		"a line that is no shell":        {"./scripts/check.sh (", tree{"scripts/check.sh": "true\n"}, []string{"scripts/check.sh"}},
		"a file that hides a module":     {"python -m pytest", tree{"pytest.py": "1\n"}, []string{"pytest.py"}},
		"a folder that hides a module":   {"python3 -m unittest", tree{"unittest/__main__.py": "1\n"}, []string{"unittest/__main__.py"}},
		"python's own start":             {"python3 -m unittest", tree{"sitecustomize.py": "1\n"}, []string{"sitecustomize.py"}},
		"settings of pytest":             {"pytest", tree{"pyproject.toml": "[project]\ndependencies = []\n\n[tool.pytest.ini_options]\naddopts = \"-k x\"\n"}, []string{"pyproject.toml"}},
		"a dependency of python":         {"pytest", tree{"pyproject.toml": "[project]\ndependencies = [\"x\"]\n\n[tool.pytest.ini_options]\naddopts = \"-q\"\n"}, nil},
		"new settings of pytest":         {".venv/bin/pytest -q", tree{"pytest.ini": "[pytest]\n"}, []string{"pytest.ini"}},
		"setup.cfg without a word of it": {"pytest", tree{"setup.cfg": "[metadata]\nname = x\n"}, nil},
		"a conftest below":               {"python -m pytest", tree{"tests/conftest.py": "2\n"}, []string{"tests/conftest.py"}},
		"a script of npm":                {"npm test", tree{"package.json": `{"scripts": {"test": "true"}}`}, []string{"package.json"}},
		"a script that it runs":          {"npm test", tree{"build.js": "2\n"}, []string{"build.js"}},
		"a script that npm does not run": {"npm test", tree{"package.json": project["package.json"][:len(project["package.json"])-1] + `, "bin": "x.js"}`}, nil},
		"a dependency of npm":            {"npm test", tree{"package.json": replaced(project["package.json"], `"a": "1"`, `"a": "2", "b": "1"`)}, nil},
		"a dependency that is replaced":  {"npm test", tree{"package.json": replaced(project["package.json"], `"a": "1"`, `"a": "1", "jest": "file:./fake"`)}, []string{"package.json"}},
		"the shell of npm":               {"npm test", tree{".npmrc": "script-shell=./sh\n"}, []string{".npmrc"}},
		"npm's other settings":           {"npm test", tree{".npmrc": "fund=false\n"}, nil},
		"a setup of jest":                {"npx jest", tree{"jest-setup.js": "2\n"}, []string{"jest-setup.js"}},
		"a transform of jest":            {"npm test", tree{"transform.js": "2\n"}, []string{"transform.js"}},
		"what mocha requires":            {"npm test", tree{"setup.js": "2\n"}, []string{"setup.js"}},
		"new settings of vitest":         {"npx vitest run", tree{"vitest.config.ts": "1\n"}, []string{"vitest.config.ts"}},
		"a dependency of go":             {"go test ./...", tree{"go.mod": "module lab\n\ngo 1.23\n\nrequire (\n\texample.org/x v1.1.0\n\texample.org/y v1.0.0\n)\n"}, nil},
		"a module that is replaced":      {"go test ./...", tree{"go.mod": project["go.mod"] + "replace example.org/x => ./x\n"}, []string{"go.mod"}},
		"a replacement in a block":       {"go test ./...", tree{"go.mod": project["go.mod"] + "replace (\n\texample.org/x => ./x\n)\n"}, []string{"go.mod"}},
		"a nested module":                {"go test ./...", tree{"sub/go.mod": "module sub\n"}, []string{"sub/go.mod"}},
		"a workspace":                    {"go test ./...", tree{"go.work": "go 1.22\nuse ./sub\n"}, []string{"go.work"}},
		"a crate that is patched":        {"cargo test", tree{"Cargo.toml": project["Cargo.toml"] + "[patch.crates-io]\nx = { path = \"x\" }\n"}, []string{"Cargo.toml"}},
		"a dependency of a crate":        {"cargo test", tree{"Cargo.toml": project["Cargo.toml"] + "y = \"1\"\n"}, nil},
		"a build script of a crate":      {"cargo test", tree{"build.rs": "fn main() {}\n"}, []string{"build.rs"}},
		"a runner of cargo":              {"cargo test", tree{".cargo/config.toml": "[target.x]\nrunner = \"true\"\n"}, []string{".cargo/config.toml"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := compare(t, project, c.change, c.command)
			if diff := cmp.Diff(c.want, slices.Sorted(maps.Keys(got.Judges)), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%v\n%s", got.Judges, diff)
			}
		})
	}
}

// TestAListOfWhatACheckGoesThrough decides what runs; a file that is read for
// anything else does not.
func TestAListOfWhatACheckGoesThrough(t *testing.T) {
	t.Parallel()
	const change = "tests.list"
	for command, want := range map[string]bool{
		"for t in $(cat tests.list); do sh $t || exit 1; done":   true,
		"for t in $(< tests.list); do sh $t; done":               true,
		"while read -r t; do sh $t || exit 1; done < tests.list": true,
		"sh run.sh":                                 true,
		`test "$(cat tests.list)" = a_test.sh`:      false,
		"grep -q x tests.list":                      false,
		"for t in a b; do grep $t tests.list; done": false,
	} {
		start := tree{
			"tests.list": "a_test.sh",
			"run.sh":     "for t in `cat tests.list`; do sh $t || exit 1; done\n",
		}
		got := compare(t, start, tree{change: "other.sh"}, command)
		if _, noted := got.Judges[change]; noted != want {
			t.Errorf("%s: judges %v", command, got.Judges)
		}
	}
}
