package review_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/review"
)

func reportOf(runner string, passed, failed, skipped int) *plan.TestReport {
	return &plan.TestReport{Runners: []string{runner}, Passed: passed, Failed: failed, Skipped: skipped}
}

// noTestCount is a report of go with packages that named no test.
func noTestCount(passed, packages int) *plan.TestReport {
	r := reportOf("go", passed, 0, 0)
	r.Silent = packages
	return r
}

// TestWhatRan: a check that passes is spoken of where its runners ran less than
// before, or nothing.
func TestWhatRan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		was, now *plan.TestReport
		exit     int
		want     string
	}{
		"as many":                 {reportOf("go", 3, 0, 1), reportOf("go", 3, 0, 1), 0, ""},
		"more":                    {reportOf("go", 3, 0, 1), reportOf("go", 4, 0, 0), 0, ""},
		"mended":                  {reportOf("go", 2, 1, 0), reportOf("go", 3, 0, 0), 0, ""},
		"no runner":               {nil, nil, 0, ""},
		"a runner comes":          {nil, reportOf("jest", 3, 0, 0), 0, ""},
		"it did not build before": {reportOf("go", 0, 0, 0), reportOf("go", 3, 0, 0), 0, ""},
		"not counted":             {reportOf("gradle", -1, 0, -1), reportOf("gradle", -1, 0, -1), 0, ""},
		"counted now":             {reportOf("go", -1, 0, -1), reportOf("go", 3, 0, 1), 0, ""},
		"it fails":                {reportOf("go", 3, 0, 0), reportOf("go", 1, 1, 0), 1, ""},
		"fewer": {reportOf("go", 3, 0, 0), reportOf("go", 2, 0, 0), 0, "it ran 3 tests " +
			"before the change, and runs 2 tests now"},
		"none": {reportOf("mocha", 3, 0, 0), reportOf("mocha", 0, 0, 0), 0, "by its own report " +
			"(mocha) it ran no test"},
		"none, also before": {reportOf("mocha", 0, 0, 0), reportOf("mocha", 0, 0, 0), 0, "it ran no test"},
		"all skipped":       {reportOf("jest", 3, 0, 0), reportOf("jest", 0, 0, 3), 0, "it skipped all 3"},
		"more skipped":      {reportOf("jest", 3, 0, 0), reportOf("jest", 3, 0, 2), 0, "it skips 2 tests, and skipped 0"},
		"it says nothing": {reportOf("pytest", 3, 0, 0), nil, 0, "it says nothing of the tests that it " +
			"ran before the change (3 tests, by pytest)"},
		"another one speaks":         {reportOf("pytest", 3, 0, 0), reportOf("jest", 9, 0, 0), 0, "pytest reported of tests before the change, and says nothing now"},
		"node knows of a file alone": {reportOf("tap", 1, 0, 0), reportOf("node files", 1, 0, 0), 0, "tap reported of tests"},
		"silent as before":           {noTestCount(3, 1), noTestCount(3, 1), 0, ""},
		"one falls silent": {noTestCount(0, 0), noTestCount(3, 1), 0, "1 package of it passed without " +
			"naming a test, which was so of 0 before"},
		"a test program ends early": {reportOf("go", 3, 0, 0), reportOf("go", -1, 0, -1), 0, "it ran 3 tests " +
			"before the change, and does not name its tests any more"},
	} {
		w := review.Work{}
		was, now := check("t ./x", 0, true), check("t ./x", c.exit, true)
		was.Tests, now.Tests = c.was, c.now
		w.Baseline, w.After = []plan.CheckResult{was}, []plan.CheckResult{now}
		found := review.Inspect(w)
		if c.want == "" {
			if len(found) > 0 {
				t.Errorf("%s: %+v", name, found)
			}
			continue
		}
		if len(found) != 1 || found[0].Kind != plan.FindFewer || found[0].Path != "t ./x" || !found[0].Answer ||
			!strings.Contains(found[0].Text, c.want) {
			t.Errorf("%s: %+v, want %q", name, found, c.want)
		}
	}
}

// TestWhatTheTreesSay comes behind what the patch says, and nothing is told
// twice.
func TestWhatTheTreesSay(t *testing.T) {
	t.Parallel()
	w := review.Work{
		Patch:        patchOf("a_test.go", "", "-func TestGone(t *testing.T) {", "+//go:build slow"),
		LostTests:    map[string][]string{"a_test.go": {"TestGone", "TestSlow"}, "b_test.go": {"TestMoved"}},
		Mains:        []string{"c_test.go"},
		ChangedTools: map[string][]string{"build": {"build/a", "build/b", "build/c", "build/d"}, "tool.py": {"tool.py"}, ".venv": nil},
	}
	var got []string
	for _, f := range review.Inspect(w) {
		got = append(got, f.Kind+" "+f.Path+": "+f.Text)
	}
	want := []string{
		"tests_removed a_test.go: a_test.go lost 1 test: TestGone.",
		"tests_fewer a_test.go: Go built 1 test of a_test.go before the change, and does not any more, there or " +
			"elsewhere: TestSlow.",
		"tests_fewer b_test.go: Go built 1 test of b_test.go before the change, and does not any more, there or " +
			"elsewhere: TestMoved.",
		"tests_fewer c_test.go: c_test.go has a TestMain that was added or changed: it decides whether any test " +
			"of its package runs.",
		"tools_changed .venv: While the work was being done, files in .venv changed that git ignores and a check " +
			"may execute: it may pass for that reason.",
		"tools_changed build: While the work was being done, files in build changed (build/a, build/b, build/c) " +
			"that git ignores and a check may execute: it may pass for that reason.",
		"tools_changed tool.py: While the work was being done, files in tool.py changed that git ignores and a " +
			"check may execute: it may pass for that reason.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSkips are known in each language, and what only looks like one is none.
func TestSkips(t *testing.T) {
	t.Parallel()
	for file, c := range map[string]struct{ skips, runs []string }{
		"a_test.go": {
			[]string{`t.Skip("later")`, "t.SkipNow()", `tb.Skipf("%s", x)`, "if testing.Short() {", "//go:build ignore"},
			[]string{"skip := true", "r.skip(3)", "// Skip over blanks", "list.SkipTo(3)"},
		},
		"test_a.py": {
			[]string{
				"@pytest.mark.skip", "@pytest.mark.skipif(True, reason='x')", "@mark.xfail", "pytestmark = pytest.mark.skip", "pytest.skip('x')",
				"@unittest.skip('x')", "@unittest.expectedFailure", "self.skipTest('x')", "raise unittest.SkipTest", "@skipUnless(x)",
			},
			[]string{"skip = True", "rows.skip(3)", "def test_skips_blanks():"},
		},
		"a.test.ts": {
			[]string{
				"it.skip('x', () => {", "it.only('x', () => {", "describe.only('x', () => {", "test.only('x', () => {", "test.concurrent.skip(", "it.todo('x')",
				"xit('x', () => {", "xdescribe('x', () => {", "xtest('x'", "fit('x', () => {", "fdescribe('x', () => {", "this.skip()", "t.skip('x')",
				"test('x', { skip: true }, () => {", "test('x', { only: true }, ", "test.each.skip`", "describe.skipIf(true)(", "test.fixme('x'",
			},
			[]string{"cursor.skip(3)", "it('skips blanks', () => {", "const only = 3", "benefit('x')", "stream.skip()", "test('only one', () => {"},
		},
		"src/lib.rs":      {[]string{"#[ignore]", `#[ignore = "slow"]`, "#[cfg_attr(windows, ignore)]"}, []string{"// ignore", "let ignored = 1;"}},
		"spec/a_spec.rb":  {[]string{"  skip 'x'", "  pending", "  xit 'x' do", "it 'x', skip: true do", "it 'x', :focus do", "fdescribe 'x' do"}, []string{"rows.skip", "it 'skips' do", "benefit 'x'"}},
		"ATest.java":      {[]string{"@Disabled", `@Disabled("x")`, "@Ignore", "@DisabledOnOs(OS.LINUX)", "@EnabledIf(\"x\")", "assumeTrue(false);"}, []string{"boolean disabled;", "rows.skip(3);"}},
		"ATests.cs":       {[]string{`[Fact(Skip = "x")]`, "[Ignore]"}, []string{"rows.Skip(3)"}},
		"tests/ATest.php": {[]string{"$this->markTestSkipped('x');", "$this->markTestIncomplete();"}, []string{"$rows = skip($x);"}},
		"test/a_test.exs": {[]string{"@tag :skip", "@moduletag :skip"}, []string{"Enum.skip(x)"}},
	} {
		for i, line := range slices.Concat(c.skips, c.runs) {
			found := review.Inspect(review.Work{Patch: patchOf(file, "", "+"+line)})
			skipped := slices.ContainsFunc(found, func(f plan.Finding) bool { return f.Kind == plan.FindSkip })
			if want := i < len(c.skips); skipped != want {
				t.Errorf("%s: %s is a skip: %v, want %v", file, line, skipped, want)
			}
		}
	}
}
