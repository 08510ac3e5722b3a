package checks_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/checks"
)

// goVerbose is what go test -v says of three packages.
const goVerbose = `=== RUN   TestOne
    a_test.go:8: log of one
print of one
--- PASS: TestOne (0.00s)
=== RUN   TestPar
=== RUN   TestPar/x
=== PAUSE TestPar/x
=== RUN   TestPar/y_z
=== PAUSE TestPar/y_z
=== CONT  TestPar/x
    a_test.go:11: in sub
        second line
=== CONT  TestPar/y_z
    a_test.go:11: in sub
--- PASS: TestPar (0.00s)
    --- PASS: TestPar/x (0.00s)
    --- PASS: TestPar/y_z (0.00s)
=== RUN   TestSkip
    a_test.go:14: later
--- SKIP: TestSkip (0.00s)
PASS
ok  	lab/a	0.004s
=== RUN   TestGood
good print
--- PASS: TestGood (0.00s)
=== RUN   TestBad
no newline    b_test.go:11: bad log
=== RUN   TestBad/sub
    b_test.go:12: bad sub
--- FAIL: TestBad (0.00s)
    --- FAIL: TestBad/sub (0.00s)
FAIL
FAIL	lab/b	0.003s
?   	lab/c	[no test files]
ok  	lab/d	0.003s
FAIL
`

const nodeOutput = `TAP version 13
# Subtest: one
ok 1 - one
  ---
  duration_ms: 13.284173
  ...
# Subtest: two
ok 2 - two # SKIP
not ok 3 - three
ok 4 - four # TODO
# Subtest: par
    ok 1 - sub
    1..1
ok 5 - par
1..5
# tests 6
# suites 0
# pass 3
# fail 1
# cancelled 0
# skipped 1
# todo 1
# duration_ms 272.266786
`

const nodeFile = `TAP version 13
# Subtest: /repo/a.test.js
ok 1 - /repo/a.test.js
  ---
  duration_ms: 103.020383
  ...
1..1
# tests 1
# suites 0
# pass 1
# fail 0
# cancelled 0
# skipped 0
# todo 0
`

const pytestHead = "============================= test session starts ==============================\n" +
	"platform linux -- Python 3.11.2, pytest-7.2.1, pluggy-1.0.0\nrootdir: /work\n"

func TestReport(t *testing.T) {
	t.Parallel()
	type want struct {
		runner                  string
		passed, failed, skipped int
	}
	for name, c := range map[string]struct {
		output string
		want   []want
	}{
		"nothing":                  {"", nil},
		"a program":                {"compiled 3 files, 2 failed to load\nok\n", nil},
		"a text about tests":       {"All 3 tests passed in my head.\nTests: are good\n", nil},
		"go":                       {goVerbose, []want{{"go", 4, 1, 1}}},
		"go without -v":            {"ok  \tlab/a\t(cached)\n?   \tlab/c\t[no test files]\n", []want{{"go", -1, 0, -1}}},
		"go failing without -v":    {"--- FAIL: TestBad (0.00s)\n    b_test.go:1: no\nFAIL\nFAIL\tlab/b\t0.01s\nok  \tlab/c\t0.1s\nFAIL\n", []want{{"go", -1, 1, -1}}},
		"go without test files":    {"?   \tlab/c\t[no test files]\n?   \tlab/d\t[no test files]\n", []want{{"go", 0, 0, 0}}},
		"go covering no tests":     {"\tlab/c\t\tcoverage: 0.0% of statements\n", []want{{"go", 0, 0, 0}}},
		"go that matches nothing":  {"testing: warning: no tests to run\nPASS\nok  \tlab/b\t0.005s [no tests to run]\n", []want{{"go", 0, 0, 0}}},
		"go in one directory":      {"testing: warning: no tests to run\nPASS\nok  \tlab/b\t0.005s\n", []want{{"go", 0, 0, 0}}},
		"go that does not build":   {"# lab/f\nf.go:3: undefined: y\nFAIL\tlab/f [build failed]\nFAIL\n", []want{{"go", 0, 0, 0}}},
		"a program of go's":        {"=== RUN   TestX\n--- PASS: TestX (0.00s)\nPASS\n", []want{{"go", 1, 0, 0}}},
		"go -json":                 {`{"Action":"pass","Package":"lab/a","Test":"TestOne"}` + "\n" + `{"Action":"skip","Package":"lab/a","Test":"TestTwo"}` + "\n", []want{{"go", 1, 0, 1}}},
		"gotestsum":                {"DONE 5 tests, 1 skipped, 2 failures in 0.400s\n", []want{{"gotestsum", 2, 2, 1}}},
		"pytest":                   {pytestHead + "collected 9 items\n\ntest_a.py .sxF.sF  [ 77%]\n===== 2 failed, 4 passed, 2 skipped, 1 xfailed, 1 warning in 0.12s =====\n", []want{{"pytest", 4, 2, 3}}},
		"pytest cannot tear down":  {"1 passed, 1 error in 0.01s\n", []want{{"pytest", 1, 0, 0}}},
		"pytest cannot collect":    {"1 error in 0.07s\n", []want{{"pytest", 0, 1, 0}}},
		"pytest -q":                {".                             [100%]\n1 passed in 0.01s\n", []want{{"pytest", 1, 0, 0}}},
		"pytest -qq":               {".s                            [100%]\n", []want{{"pytest", 1, 0, 1}}},
		"pytest, long":             {"====== 10 passed, 3 warnings in 65.20s (0:01:05) ======\n", []want{{"pytest", 10, 0, 0}}},
		"pytest finds nothing":     {pytestHead + "collected 0 items\n\n===== no tests ran in 0.01s =====\n", []want{{"pytest", 0, 0, 0}}},
		"pytest deselects all":     {"\n9 deselected in 0.01s\n", []want{{"pytest", 0, 0, 0}}},
		"pytest only collects":     {"test_a.py::test_one\n\n9 tests collected in 0.01s\n", []want{{"pytest", 0, 0, 0}}},
		"pytest breaks off":        {pytestHead + "collected 1 item\n\ntest_exit.py ", []want{{"pytest", 0, 0, 0}}},
		"unittest":                 {".F\n----\nRan 3 tests in 0.001s\n\nFAILED (failures=1, skipped=1)\n", []want{{"unittest", 1, 1, 1}}},
		"unittest passes":          {"Ran 1 test in 0.001s\n\nOK\n", []want{{"unittest", 1, 0, 0}}},
		"unittest finds nothing":   {"Ran 0 tests in 0.000s\n\nOK\n", []want{{"unittest", 0, 0, 0}}},
		"jest":                     {"Test Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 1 skipped, 1 todo, 3 passed, 6 total\nSnapshots:   0 total\n", []want{{"jest", 3, 1, 2}}},
		"jest in colours":          {"\x1b[1mTests:       \x1b[22m\x1b[1m\x1b[32m1 passed\x1b[39m\x1b[22m, 1 total\n", []want{{"jest", 1, 0, 0}}},
		"jest matches nothing":     {"Tests:       6 skipped, 6 total\n", []want{{"jest", 0, 0, 6}}},
		"jest finds nothing":       {"No tests found, exiting with code 0\n", []want{{"jest", 0, 0, 0}}},
		"vitest":                   {" Test Files  1 failed (1)\n      Tests  1 failed | 2 passed | 1 skipped | 1 todo (5)\n   Start at  10:40:49\n", []want{{"vitest", 2, 1, 2}}},
		"vitest skips all":         {" Test Files  1 skipped (1)\n      Tests  5 skipped (5)\n", []want{{"vitest", 0, 0, 5}}},
		"vitest finds nothing":     {"No test files found, exiting with code 0\n\nfilter: nosuch\n", []want{{"vitest", 0, 0, 0}}},
		"mocha":                    {"  x\n    ✔ one\n    - two\n\n\n  1 passing (4ms)\n  2 pending\n  1 failing\n\n  1) x\n", []want{{"mocha", 1, 1, 2}}},
		"mocha -g":                 {"\n\n  0 passing (1ms)\n\n", []want{{"mocha", 0, 0, 0}}},
		"node":                     {nodeOutput, []want{{"tap", 3, 1, 2}}},
		"node, spec":               {"✔ one (1.6ms)\n﹣ two (0.2ms) # SKIP\nℹ tests 2\nℹ suites 0\nℹ pass 1\nℹ fail 0\nℹ cancelled 0\nℹ skipped 1\nℹ todo 0\n", []want{{"tap", 1, 0, 1}}},
		"node, a file that is one": {nodeFile, []want{{"node files", 1, 0, 0}}},
		"node finds nothing":       {"TAP version 13\n1..0\n# tests 0\n# suites 0\n# pass 0\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n", []want{{"tap", 0, 0, 0}}},
		"tape":                     {"TAP version 13\n# one\nok 1 should be truthy\n\n1..1\n# tests 1\n# pass  1\n\n# ok\n", []want{{"tap", 1, 0, 0}}},
		"tap":                      {"1..3\nok 1 adds\nnot ok 2 divides\nok 3 later # skip not here\n", []want{{"tap", 1, 1, 1}}},
		"cargo":                    {"test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.08s\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n", []want{{"cargo", 3, 1, 1}}},
		"cargo matches nothing":    {"running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.00s\n", []want{{"cargo", 0, 0, 0}}},
		"nextest":                  {"     Summary [   0.005s] 4 tests run: 3 passed, 1 failed, 2 skipped\n", []want{{"cargo", 3, 1, 2}}},
		"surefire":                 {"[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.05 s - in a.ATest\n[INFO] \n[INFO] Results:\n[INFO] \n[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1\n", []want{{"junit", 2, 2, 1}}},
		"surefire finds nothing":   {"[INFO] No tests to run.\n", []want{{"junit", 0, 0, 0}}},
		"junit 4":                  {"JUnit version 4.13\n..\nOK (2 tests)\n", []want{{"junit", 2, 0, 0}}},
		"junit 5":                  {"[         3 tests found           ]\n[         1 tests skipped         ]\n[         2 tests successful      ]\n[         0 tests failed          ]\n", []want{{"junit", 2, 0, 1}}},
		"gradle fails":             {"> Task :test FAILED\n\n3 tests completed, 1 failed, 1 skipped\n", []want{{"gradle", 1, 1, 1}}},
		"gradle passes":            {"> Task :compileTestJava\n> Task :test\n\nBUILD SUCCESSFUL in 1s\n", []want{{"gradle", -1, 0, -1}}},
		"gradle without tests":     {"> Task :compileTestJava NO-SOURCE\n> Task :test NO-SOURCE\n", []want{{"gradle", 0, 0, 0}}},
		"rspec":                    {"Finished in 0.01 seconds\n4 examples, 1 failure, 1 pending\n", []want{{"rspec", 2, 1, 1}}},
		"rspec finds nothing":      {"No examples found.\n\n0 examples, 0 failures\n", []want{{"rspec", 0, 0, 0}}},
		"minitest":                 {"4 runs, 6 assertions, 1 failures, 0 errors, 1 skips\n", []want{{"minitest", 2, 1, 1}}},
		"test-unit":                {"3 tests, 4 assertions, 0 failures, 0 errors, 0 pendings, 1 omissions, 0 notifications\n", []want{{"minitest", 2, 0, 1}}},
		"phpunit":                  {"OK (3 tests, 4 assertions)\n", []want{{"phpunit", 3, 0, 0}}},
		"phpunit fails":            {"FAILURES!\nTests: 5, Assertions: 4, Failures: 1, Skipped: 2.\n", []want{{"phpunit", 2, 1, 2}}},
		"phpunit finds nothing":    {"No tests executed!\n", []want{{"phpunit", 0, 0, 0}}},
		"ctest":                    {"67% tests passed, 1 tests failed out of 3\n\nThe following tests did not run:\n\t  2 - b (Skipped)\n", []want{{"ctest", 1, 1, 1}}},
		"ctest finds nothing":      {"No tests were found!!!\n", []want{{"ctest", 0, 0, 0}}},
		"dotnet":                   {"Passed!  - Failed:     0, Passed:     3, Skipped:     1, Total:     4, Duration: 5 ms - a.dll (net8.0)\n", []want{{"dotnet", 3, 0, 1}}},
		"dotnet, older":            {"Total tests: 4\n     Passed: 2\n     Failed: 1\n    Skipped: 1\n", []want{{"dotnet", 2, 1, 1}}},
		"mix":                      {"1 doctest, 3 tests, 1 failure, 1 skipped\n", []want{{"exunit", 2, 1, 1}}},
		"bun":                      {" 3 pass\n 1 skip\n 0 fail\nRan 4 tests across 1 file. [10.00ms]\n", []want{{"bun", 3, 0, 1}}},
		"deno":                     {"ok | 3 passed | 0 failed | 1 ignored (5ms)\n", []want{{"deno", 3, 0, 1}}},
		"playwright":               {"  1 failed\n    [chromium] › a.spec.ts:3:1 › x\n  1 skipped\n  3 passed (2.1s)\n", []want{{"playwright", 3, 1, 1}}},
		"prove":                    {"All tests successful.\nFiles=1, Tests=3,  0 wallclock secs\nResult: PASS\n", []want{{"prove", 3, 0, 0}}},
		"two of them":              {"3 passed in 0.01s\nTests:       2 passed, 2 total\n", []want{{"jest", 2, 0, 0}, {"pytest", 3, 0, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want *plan.TestReport
			for _, w := range c.want {
				if want == nil {
					want = &plan.TestReport{}
				}
				want.Runners = append(want.Runners, w.runner)
				want.Passed += w.passed
				want.Failed += w.failed
				want.Skipped += w.skipped
			}
			got := checks.Report(c.output)
			if got != nil {
				got.Silent = 0 // see TestPackagesThatNameNoTest
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPackagesThatNameNoTest are counted where go was to name every test.
func TestPackagesThatNameNoTest(t *testing.T) {
	t.Parallel()
	const named = "=== RUN   TestX\n--- PASS: TestX (0.00s)\nPASS\nok  \tlab/a\t0.01s\n"
	for output, want := range map[string]int{
		goVerbose:                                1,
		named:                                    0,
		named + "ok  \tlab/b\t0.01s\n":           1,
		"ok  \tlab/b\t0.01s\n" + named:           1,
		named + "?   \tlab/b\t[no test files]\n": 0,
		named + "ok  \tlab/b\t0.01s [no tests to run]\n": 0,
		named + "FAIL\tlab/b [build failed]\n":           0,
		"ok  \tlab/a\t0.01s\nok  \tlab/b\t(cached)\n":    0, // it was not to name them
	} {
		if got := checks.Report(output).Silent; got != want {
			t.Errorf("%d packages of\n%s\nwant %d", got, output, want)
		}
	}
}

func FuzzReport(f *testing.F) {
	f.Add(goVerbose)
	f.Add(nodeOutput)
	f.Fuzz(func(t *testing.T, output string) {
		if r := checks.Report(output); r != nil && (len(r.Runners) == 0 || r.Passed < -1 || r.Failed < -1 || r.Skipped < -1) {
			t.Errorf("%+v", r)
		}
	})
}
