package review_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/review"
)

// patchOf makes a patch of one file, as git prints it.
func patchOf(name, kind string, lines ...string) string {
	minus, plus := 0, 0
	for _, l := range lines {
		switch l[0] {
		case '-':
			minus++
		case '+':
			plus++
		default:
			minus, plus = minus+1, plus+1
		}
	}
	head := "diff --git a/" + name + " b/" + name + "\n" + kind + "index 1..2\n"
	if len(lines) == 0 {
		return head
	}
	return head + "--- a/" + name + "\n+++ b/" + name + "\n@@ -1," + itoa(minus) + " +1," + itoa(plus) + " @@ func\n" + strings.Join(lines, "\n") + "\n"
}

func itoa(n int) string { return string(rune('0' + n)) }

func TestInspect(t *testing.T) {
	t.Parallel()
	const created, deleted = "new file mode 100644\n", "deleted file mode 100644\n"
	doc := &plan.PlanDoc{Files: map[string]string{"calc.go": "", "docs": "", "calc_test.go": "", "Makefile": ""}}
	type want struct {
		kind, path, says string
		answer           bool
	}
	for name, c := range map[string]struct {
		patch   string
		plan    *plan.PlanDoc
		closing string
		judge   string
		want    []want
		reason  string
	}{
		"nothing":                   {"", doc, "", "", nil, ""},
		"as planned":                {patchOf("calc.go", "", "-a", "+b"), doc, "", "", nil, ""},
		"in a planned directory":    {patchOf("docs/a.md", created, "+b"), doc, "", "", nil, ""},
		"a plan without files":      {patchOf("other.go", "", "-a", "+b"), &plan.PlanDoc{}, "", "", nil, ""},
		"no plan":                   {patchOf("other.go", "", "-a", "+b"), nil, "", "", nil, ""},
		"outside":                   {patchOf("other.go", "", "-a", "+b"), doc, "", "", []want{{plan.FindScope, "other.go", "was changed, and the plan", false}}, ""},
		"outside, with a reason":    {patchOf("x/other.go", created, "+b"), doc, "All done.\n- other.go holds the helper.\n", "", []want{{plan.FindScope, "x/other.go", "was created", false}}, "- other.go holds the helper."},
		"a header in the content":   {patchOf("calc.go", "", "-diff --git a/x b/x", "+--- a/y", " deleted file mode"), doc, "", "", nil, ""},
		"a test file is deleted":    {patchOf("calc_test.go", deleted, "-func TestAdd(t *testing.T) {", "-}"), doc, "", "", []want{{plan.FindGone, "calc_test.go", "was deleted", true}}, ""},
		"a fixture is deleted":      {patchOf("calc_test.go", deleted), doc, "", "", []want{{plan.FindGone, "calc_test.go", "was deleted", true}}, ""},
		"a test is gone":            {patchOf("calc_test.go", "", "-func TestAdd(t *testing.T) {", "+// see below"), doc, "", "", []want{{plan.FindGone, "calc_test.go", "lost 1 test: TestAdd", true}}, ""},
		"a test is changed":         {patchOf("calc_test.go", "", "-func TestAdd(t *testing.T) {", "+func TestAdd(t *testing.TB) {"), doc, "", "", nil, ""},
		"a test moves":              {patchOf("calc_test.go", deleted, "-func TestAdd(t *testing.T) {") + patchOf("docs/a_test.go", created, "+func TestAdd(t *testing.T) {"), doc, "", "", nil, ""},
		"a test is skipped":         {patchOf("calc_test.go", "", " func TestAdd(t *testing.T) {", `+	t.Skip("later")`), doc, "", "", []want{{plan.FindSkip, "calc_test.go", "t.Skip(", true}}, ""},
		"a skip stays":              {patchOf("calc_test.go", "", `-	t.Skip("a")`, `+	t.Skip("b")`), doc, "", "", nil, ""},
		"a skip in the code":        {patchOf("calc.go", "", `+	t.Skip("b")`), doc, "", "", nil, ""},
		"python":                    {patchOf("docs/test_a.py", "", "-def test_add():", "+@pytest.mark.skip"), doc, "", "", []want{{plan.FindGone, "docs/test_a.py", "test_add", true}, {plan.FindSkip, "docs/test_a.py", "pytest.mark.skip", true}}, ""},
		"javascript":                {patchOf("docs/a.spec.ts", "", "-it('adds', () => {", "+it.skip('adds', () => {"), doc, "", "", []want{{plan.FindGone, "docs/a.spec.ts", "adds", true}, {plan.FindSkip, "docs/a.spec.ts", "it.skip", true}}, ""},
		"rust":                      {patchOf("docs/tests/a.rs", "", "+#[ignore]"), doc, "", "", []want{{plan.FindSkip, "docs/tests/a.rs", "#[ignore]", true}}, ""},
		"a planned makefile":        {patchOf("Makefile", "", "+test:"), doc, "", "", []want{{plan.FindJudges, "Makefile", "how the project is tested", false}}, ""},
		"continuous integration":    {patchOf(".github/workflows/ci.yml", "", "-x", "+y"), nil, "", "", []want{{plan.FindJudges, ".github/workflows/ci.yml", "continuous integration", true}}, ""},
		"a script of a check":       {patchOf("scripts/check.sh", "", "-go test", "+true"), nil, "", "scripts/check.sh", []want{{plan.FindJudges, "scripts/check.sh", "a script that a check runs", true}}, ""},
		"a script of no check":      {patchOf("scripts/check.sh", "", "-go test", "+true"), nil, "", "", nil, ""},
		"dependencies":              {patchOf("package.json", "", `+  "left-pad": "1"`), nil, "", "", nil, ""},
		"the test script":           {patchOf("package.json", "", `-    "test": "jest"`, `+    "test": "true"`), nil, "", "package.json", []want{{plan.FindJudges, "package.json", "a script that a check runs", true}}, ""},
		"what a check reads":        {"", nil, "", "lib.sh", []want{{plan.FindJudges, "lib.sh", "a script that a check runs", true}}, ""},
		"a name with a blank":       {patchOf("my file.go", "", "+x"), doc, "", "", []want{{plan.FindScope, "my file.go", "was changed", false}}, ""},
		"a name that git quotes":    {"diff --git \"a/h\\303\\251.go\" \"b/h\\303\\251.go\"\nindex 1..2\n", doc, "", "", []want{{plan.FindScope, "hé.go", "was changed", false}}, ""},
		"a makefile that was moved": {"diff --git a/sub/tests.mk b/docs/x.txt\nsimilarity index 90%\nrename from sub/tests.mk\nrename to docs/x.txt\n", doc, "", "", []want{{plan.FindJudges, "docs/x.txt", "how the project is tested", false}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := review.Work{Patch: c.patch, Plan: c.plan, Closing: c.closing}
			if c.judge != "" {
				w.ChangedJudges = map[string]string{c.judge: "a script that a check runs"}
			}
			found := review.Inspect(w)
			var got, wanted []want
			for i, f := range found {
				g := want{f.Kind, f.Path, "", f.Answer}
				if i < len(c.want) && strings.Contains(f.Text, c.want[i].says) {
					g.says = c.want[i].says
				}
				got = append(got, g)
			}
			wanted = append(wanted, c.want...)
			if diff := cmp.Diff(wanted, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%+v\n%s", found, diff)
			}
			if len(found) > 0 && found[0].Reason != c.reason {
				t.Errorf("reason %q, want %q", found[0].Reason, c.reason)
			}
		})
	}
}

// TestSummary: a line for each file of a patch.
func TestSummary(t *testing.T) {
	t.Parallel()
	got := review.Summary(patchOf("a.go", "", "-x", "+y", "+z") + patchOf("b.go", "new file mode 100644\n", "+y") +
		"diff --git a/c b/d\nsimilarity index 100%\nrename from c\nrename to d\n")
	if want := "a.go: changed, +2 -1\nb.go: created, +1 -0\nd: renamed from c, +0 -0\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestHide: what is hidden keeps its head, under either of its names.
func TestHide(t *testing.T) {
	t.Parallel()
	moved := "diff --git a/key b/c.txt\nsimilarity index 50%\nrename from key\nrename to c.txt\n" +
		"--- a/key\n+++ b/c.txt\n@@ -1 +1 @@\n-x\n+y\n"
	other := patchOf("a.go", "", "-key", "+diff --git a/key b/key")
	got := review.Hide(moved+other+patchOf("key", "", "-x", "+y", "+z"), func(path string) bool { return path == "key" })
	const note = "[its text is not shown: rules deny that it is read. "
	head, _, _ := strings.Cut(moved, "@@")
	if !strings.HasPrefix(got, head+note+"+1 -1 lines]\n"+other+"diff --git a/key") || !strings.HasSuffix(got, note+"+2 -1 lines]\n") {
		t.Errorf("it shows\n%s", got)
	}
}

func FuzzInspect(f *testing.F) {
	f.Add("diff --git a/x b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n c\ndiff --git \"a/\\303\" b/y z\n@@ -1 +1")
	f.Fuzz(func(t *testing.T, patch string) {
		for _, finding := range review.Inspect(review.Work{Patch: patch, Plan: &plan.PlanDoc{Files: map[string]string{"x": ""}}}) {
			if finding.Kind == "" || finding.Text == "" {
				t.Errorf("%+v says nothing", finding)
			}
		}
		_ = review.Summary(patch)
	})
}
