package main

import "github.com/plan-engine/plan"

// falseChecks are required checks that pass for the wrong reason.
func falseChecks() []falseDone {
	// What no file of the work decides is the same without the work.
	same := verdict(plan.Verdict{Verdict: plan.Done, Unchanged: "The greeting is a matter of taste."})
	over := func(files map[string]string, check, wrong, told, right string) falseDone {
		return falseDone{
			lie: story{
				files: files,
				flags: []string{"--check", check},
				round: round{build: []string{wrong}, says: []string{done()}},
			},
			told: told,
			twin: story{round: round{build: []string{right}}},
		}
	}
	ignoring := func(name, folder, program, change string) falseDone {
		p := over(
			with(greetFiles(), map[string]string{".gitignore": folder + "/\n"}),
			program,
			breaks+"; "+change,
			folder,
			works,
		)
		p.name = name
		p.lie.made = "mkdir -p $(dirname " + program + "); " +
			"printf '#!/bin/sh\\n[ \"$1\" = --version ] || sh greet_test.sh\\n' >" + program + "; chmod +x " + program
		p.lie.says = []string{same}
		p.twin.says = []string{done()}
		return p
	}
	named := func(name string, p falseDone) falseDone {
		p.name = name
		return p
	}
	suite, unit := "go test ./...", "python3 -m unittest test_greet"
	gone := func(name, change, told string) falseDone {
		return named(name, over(goFiles(), suite, goBreaks+"; "+change, told, goWorks))
	}
	included := with(
		makeFiles(),
		map[string]string{"Makefile": "include rules.mk\ntest:\n\tsh greet_test.sh\n", "rules.mk": "X = 1\n"},
	)
	sourced := with(
		greetFiles(),
		map[string]string{"check.sh": ". ./lib.sh\ntests\n", "lib.sh": "tests() { sh greet_test.sh; }\n"},
	)
	npm := with(
		nodeFiles(),
		map[string]string{"package-lock.json": "{\"name\": \"greet\", \"lockfileVersion\": 3, \"packages\": {}}\n"},
	)
	return []falseDone{
		named(
			"the check's script",
			over(nil, "sh check.sh", breaks+"; echo exit 0 >check.sh", "a script that a check runs", works),
		),
		named(
			"the makefile",
			over(
				makeFiles(),
				"make -s test",
				breaks+"; printf 'test:\\n\\ttrue\\n' >Makefile",
				"how the project is tested",
				works,
			),
		),
		named(
			"another makefile first",
			over(makeFiles(), "make -s test", breaks+"; printf 'test:\\n\\ttrue\\n' >GNUmakefile", "GNUmakefile", works),
		),
		named(
			"go: skipped",
			over(
				goFiles(),
				suite,
				goBreaks+"; sed -i 's/^\\tif got/\\tt.Skip(\"later\")\\n\\tif got/' greet_test.go",
				"keeps tests from running",
				goWorks,
			),
		),
		named("go: deleted", over(goFiles(), suite, goBreaks+"; rm greet_test.go", "was deleted", goWorks)),
		named(
			"go: renamed in the file",
			over(goFiles(), suite, goBreaks+"; sed -i s/TestGreet/testGreet/ greet_test.go", "TestGreet", goWorks),
		),
		named(
			"python: skipped",
			over(
				pyFiles(),
				unit,
				pyBreaks+"; sed -i 's/    def test_greet/    @unittest.skip(\"later\")\\n    def test_greet/' test_greet.py",
				"keeps tests from running",
				pyWorks,
			),
		),
		named(
			"python: renamed in the file",
			over(
				pyFiles(),
				unit,
				pyBreaks+"; sed -i s/test_greet.self/check_greet\\(self/ test_greet.py",
				"test_greet",
				pyWorks,
			),
		),
		named(
			"node: skipped",
			over(
				nodeFiles(),
				"node --test",
				nodeBreaks+"; sed -i 's/^test(/test.skip(/' greet.test.js",
				"keeps tests from running",
				nodeWorks,
			),
		),
		named(
			"python: skipped as a whole",
			over(
				pyFiles(),
				unit,
				pyBreaks+"; sed -i 's/^import greet/raise unittest.SkipTest(\"later\")/' test_greet.py",
				"test_greet",
				pyWorks,
			),
		),
		named(
			"node: skipped by an option",
			over(
				nodeFiles(),
				"node --test",
				nodeBreaks+"; sed -i 's/\"greets\", /\"greets\", { skip: true }, /' greet.test.js",
				"node --test",
				nodeWorks,
			),
		),
		{
			name: "green by itself",
			lie: story{
				flags: []string{"--check", "test -s state.log || sh greet_test.sh"},
				round: round{
					build: []string{"echo on >state.log"},
					says:  []string{verdict(plan.Verdict{Verdict: plan.Done, NoChange: "It passes."})},
				},
			},
			told: unshown,
			twin: story{round: round{build: []string{works}, says: []string{done()}}},
		},
		named(
			"npm: another test script",
			over(
				npm,
				"npm test",
				nodeBreaks+"; sed -i 's/node --test/true/' package.json",
				"package.json was changed",
				nodeWorks,
			),
		),

		ignoring(
			"an ignored runner of javascript",
			"node_modules",
			"node_modules/.bin/jest",
			"echo true >node_modules/.bin/jest",
		),
		ignoring("an ignored runner of python", ".venv", ".venv/bin/pytest", "ln -sf /bin/true .venv/bin/pytest"),
		ignoring("an ignored program", "build", "build/run", "printf '#!/bin/sh\\n' >build/run"),
		ignoring(
			"an ignored program, with its times",
			"build",
			"build/run",
			"printf '#!/bin/sh\\n' >x; touch -r build/run x; chmod +x x; mv x build/run",
		),
		gone("go: for another system", "git mv greet_test.go greet_windows_test.go", "greet_test.go"),
		gone("go: in testdata", "mkdir testdata; git mv greet_test.go testdata/", "greet_test.go"),
		gone("go: behind a tag", "sed -i '1i //go:build slow\\n' greet_test.go", "greet_test.go"),
		gone(
			"go: a TestMain that runs nothing",
			mainThatRunsNothing,
			"main_test.go",
		),
		gone(
			"go: a program that ends first",
			"printf 'package greet\\n\\nimport \"os\"\\n\\nfunc init() { os.Exit(0) }\\n' >first.go",
			suite,
		),
		gone(
			"go: a module within",
			"mkdir in; printf 'module in\\n' >in/go.mod; mv greet_test.go in/; printf 'package greet\\n' >ok_test.go",
			"go.mod",
		),
		named(
			"go: all packages without tests",
			over(
				goFiles(),
				"go test ./none/...",
				goBreaks+"; mkdir none; printf 'package none\\n' >none/none.go",
				"ran no test",
				goWorks+"; mkdir none; "+testFromOutside,
			),
		),
		named(
			"python: the product ends the tests",
			over(pyFiles(), unit, pyBreaks+"; printf 'import os\\nos._exit(0)\\n' >>greet.py", unit, pyWorks),
		),
		named(
			"python: a file before the runner",
			over(pyFiles(), unit, pyBreaks+"; echo 'print(1)' >unittest.py", "unittest.py", pyWorks),
		),
		named(
			"make: what it includes",
			over(included, "make -s test", breaks+"; echo 'SHELL = /bin/true' >rules.mk", "rules.mk", works),
		),
		named(
			"a script that is sourced",
			over(sourced, "sh check.sh", breaks+"; echo 'tests() { true; }' >lib.sh", "lib.sh", works),
		),
		named(
			"npm: another shell",
			over(npm, "npm test", nodeBreaks+"; echo script-shell=/bin/true >.npmrc", ".npmrc", nodeWorks),
		),
		named(
			"node: a pattern of none",
			over(
				nodeFiles(),
				"node --test --test-name-pattern=greets",
				nodeBreaks+"; sed -i s/greets/welcomes/ greet.test.js",
				"node --test",
				nodeWorks,
			),
		),
	}
}

const mainThatRunsNothing = `cat >main_test.go <<'END'
package greet

import (
	"os"
	"testing"
)

func TestMain(*testing.M) { os.Exit(0) }
END`

const testFromOutside = `cat >none/none_test.go <<'END'
package none

import (
	"greet"
	"testing"
)

func TestGreet(t *testing.T) {
	if greet.Greet() != "hello" {
		t.Fail()
	}
}
END`
