package checks_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func replaced(text, old, with string) string { return strings.Replace(text, old, with, 1) }

const (
	calcTest = "package lab\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {}\n\nfunc TestSub(t *testing.T) {}\n"
	moreTest = "package lab\n\nimport \"testing\"\n\nfunc FuzzDiv(f *testing.F) {}\n\nfunc helper(t *testing.T) {}\n\n" +
		"func Example() {\n\tprintln(1)\n\t// Output: 1\n}\n"
	mainTest = "package lab\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(m.Run()) }\n"
)

var goProject = tree{
	"go.mod":        "module lab\n\ngo 1.22\n",
	"calc_test.go":  calcTest,
	"more_test.go":  moreTest,
	"main_test.go":  mainTest,
	"sub/a_test.go": "package sub\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n",
}

// TestWhatGoBuilds: tests are lost that go builds no more, and not those that
// were moved.
func TestWhatGoBuilds(t *testing.T) {
	t.Parallel()
	both := map[string][]string{"calc_test.go": {"TestAdd", "TestSub"}}
	below := map[string][]string{"sub/a_test.go": {"TestA"}}
	for name, c := range map[string]struct {
		command string
		change  tree
		lost    map[string][]string
		mains   []string
	}{
		"nothing":              {change: nil},
		"another body":         {change: tree{"calc_test.go": replaced(calcTest, "{}", "{ t.Log(1) }")}},
		"one more":             {change: tree{"calc_test.go": calcTest + "\nfunc TestMul(t *testing.T) {}\n"}},
		"moved":                {change: tree{"calc_test.go": gone, "sum_test.go": calcTest}},
		"moved to a folder":    {change: tree{"calc_test.go": gone, "calc/calc_test.go": calcTest}},
		"split":                {change: tree{"calc_test.go": replaced(calcTest, "func TestSub(t *testing.T) {}\n", ""), "sub_test.go": "package lab\n\nimport \"testing\"\n\nfunc TestSub(t *testing.T) {}\n"}},
		"a helper goes":        {change: tree{"more_test.go": replaced(moreTest, "func helper(t *testing.T) {}", "")}},
		"deleted":              {change: tree{"calc_test.go": gone}, lost: both},
		"for another system":   {change: tree{"calc_test.go": gone, "calc_windows_test.go": calcTest}, lost: both},
		"into testdata":        {change: tree{"calc_test.go": gone, "testdata/calc_test.go": calcTest}, lost: both},
		"into vendor":          {change: tree{"calc_test.go": gone, "vendor/calc_test.go": calcTest}, lost: both},
		"behind an underscore": {change: tree{"calc_test.go": gone, "_calc_test.go": calcTest}, lost: both},
		"behind a dot":         {change: tree{"calc_test.go": gone, ".x/calc_test.go": calcTest}, lost: both},
		"out of go":            {change: tree{"calc_test.go": gone, "calc_test.go.bak": calcTest}, lost: both},
		"no test file":         {change: tree{"calc_test.go": gone, "calc_tests.go": calcTest}, lost: both},
		"behind a tag":         {change: tree{"calc_test.go": "//go:build slow\n\n" + calcTest}, lost: both},
		"behind a tag of the checks": {
			command: "go test -tags 'fast,slow' ./...",
			change:  tree{"calc_test.go": "//go:build slow\n\n" + calcTest},
		},
		"behind a tag of a makefile": {
			command: "make test",
			change:  tree{"calc_test.go": "//go:build slow\n\n" + calcTest, "Makefile": "TAGS = slow\ntest:\n\tgo test -tags=$(TAGS) ./...\n"},
		},
		"behind a tag of this system": {change: tree{"calc_test.go": "//go:build !windows\n\n" + calcTest}},
		"a test with a receiver":      {change: tree{"calc_test.go": replaced(calcTest, "func TestAdd(", "func (s suite) TestAdd(")}, lost: map[string][]string{"calc_test.go": {"TestAdd"}}},
		"no test by its name":         {change: tree{"calc_test.go": replaced(calcTest, "TestAdd", "Testadd")}, lost: map[string][]string{"calc_test.go": {"TestAdd"}}},
		"an example without output":   {change: tree{"more_test.go": replaced(moreTest, "// Output: 1", "")}, lost: map[string][]string{"more_test.go": {"Example"}}},
		"a nested module":             {change: tree{"sub/go.mod": "module sub\n"}, lost: below},
		"a nested module that is used": {change: tree{
			"sub/go.mod": "module sub\n", "go.work": "go 1.22\n\nuse (\n\t.\n\t./sub\n)\n",
		}},
		"a workspace without it": {change: tree{"sub/go.mod": "module sub\n", "go.work": "go 1.22\nuse .\n"}, lost: below},
		"a folder is ignored":    {change: tree{"go.mod": "module lab\n\ngo 1.25\n\nignore ./sub\n"}, lost: below},
		"a comment":              {change: tree{"calc_test.go": replaced(calcTest, "func TestAdd(t *testing.T) {}", "/*\nfunc TestAdd(t *testing.T) {}\n*/")}, lost: map[string][]string{"calc_test.go": {"TestAdd"}}},
		"a new TestMain":         {change: tree{"sub/main_test.go": replaced(mainTest, "m.Run()", "0")}, mains: []string{"sub/main_test.go"}},
		"another TestMain":       {change: tree{"main_test.go": replaced(mainTest, "m.Run()", "0")}, mains: []string{"main_test.go"}},
		"a TestMain that moves":  {change: tree{"main_test.go": gone, "setup_test.go": mainTest}},
		"beside a TestMain":      {change: tree{"main_test.go": mainTest + "\nfunc helper() {}\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := c.command
			if command == "" {
				command = "go test ./..."
			}
			got := compare(t, goProject, c.change, command)
			if diff := cmp.Diff(c.lost, got.Lost, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("lost: %s", diff)
			}
			if diff := cmp.Diff(c.mains, got.Mains); diff != "" {
				t.Errorf("TestMain: %s", diff)
			}
		})
	}
}

// TestTagsThatGo: tests that were built with a tag are lost where the checks do
// not give it any more.
func TestTagsThatGo(t *testing.T) {
	t.Parallel()
	start := goProject.with(tree{"Makefile": "test:\n\tgo test -tags slow ./...\n", "calc_test.go": "//go:build slow\n\n" + calcTest})
	got := compare(t, start, tree{"Makefile": "test:\n\tgo test ./...\n"}, "make test")
	if diff := cmp.Diff(map[string][]string{"calc_test.go": {"TestAdd", "TestSub"}}, got.Lost); diff != "" {
		t.Error(diff)
	}
}
