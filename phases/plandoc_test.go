package phases_test

import (
	"path"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/phases"
)

const planned = `# Plan: a name

## Why
Because of a.go and b.go.

## Files
- a.go — modified: something
- new/b_test.go — created: tests

## Steps
1. In ` + "`a.go`" + `, do it.
- c.go is not listed above.

## Verify
~~~
go vet ./...
go test ./...
~~~
`

func TestParsePlan(t *testing.T) {
	t.Parallel()
	files := func(names ...string) map[string]string {
		out := map[string]string{}
		for _, n := range names {
			out[n] = ""
		}
		return out
	}
	list := func(section string, lines ...string) string {
		return "# Plan\n## " + section + "\n" + strings.Join(lines, "\n") + "\n## Steps\n1. `z.go`\n"
	}
	for _, c := range []struct {
		name, text string
		want       plan.PlanDoc
	}{
		{"as asked for", planned, plan.PlanDoc{Files: files("a.go", "new/b_test.go"), Verify: []string{"go vet ./...", "go test ./..."}}},
		{"CRLF", strings.ReplaceAll(planned, "\n", "\r\n"), plan.PlanDoc{Files: files("a.go", "new/b_test.go"), Verify: []string{"go vet ./...", "go test ./..."}}},
		{"all of it in a fence", "```\n" + planned + "```", plan.PlanDoc{Files: files("a.go", "new/b_test.go"), Verify: []string{"go vet ./...", "go test ./..."}}},
		{"in a fence with a name", "\n```markdown\n" + planned + "\n```\n", plan.PlanDoc{Files: files("a.go", "new/b_test.go"), Verify: []string{"go vet ./...", "go test ./..."}}},
		{"nothing", "", plan.PlanDoc{}},
		{"prose", "I would change a.go and run `go test`.", plan.PlanDoc{}},
		{"a fence and no more", "```", plan.PlanDoc{}},

		{"code spans", list("Files", "- `a b.go` — modified", "* **`c.go`**: new", "1. `Makefile`"), plan.PlanDoc{Files: files("a b.go", "c.go", "Makefile")}},
		{"names with underscores", list("Files", "- __init__.py — created", "- pkg/_private.go: changed", "- x_ — no file"), plan.PlanDoc{Files: files("__init__.py", "pkg/_private.go")}},
		{"bold and colons", list("Files to change:", "- **a.go**: changed", "+ b/c.go, d", "2) e.go;"), plan.PlanDoc{Files: files("a.go", "b/c.go", "e.go")}},
		{"cleaned, and only inside", list("FILES", "- ./a//b.go", "- ../up.go", "- /etc/passwd", "- .", "- a/../c.go", "- `..`"), plan.PlanDoc{Files: files("a/b.go", "c.go")}},
		{"words are no files", list("Files", "- none", "- Makefile — a word without a dot or slash", "Only a.go."), plan.PlanDoc{}},
		{"files in a fence are data", list("Files", "~~~", "- a.go", "~~~"), plan.PlanDoc{Files: files("a.go")}},

		{"a verify section of bullets", list("Verification", "- `go test ./a`", "- run `not this`", "`make check`", "Then look at it."), plan.PlanDoc{Verify: []string{"go test ./a", "make check"}}},
		{"prompts and comments", list("Verify", "```sh", "$ go test ./a", "# a comment", "", "make check", "```"), plan.PlanDoc{Verify: []string{"go test ./a", "make check"}}},
		{"a command over lines", list("Verify", "```", "go test \\", "  -race \\", "  ./...", "make \\", "```"), plan.PlanDoc{Verify: []string{"go test -race ./...", `make \`}}},
		{"headings in a fence are data", list("Verify", "```", "# Files", "go test", "```"), plan.PlanDoc{Verify: []string{"go test"}}},
		{"a longer fence", list("Verify", "````", "echo ```", "````", "- `b`"), plan.PlanDoc{Verify: []string{"echo ```", "b"}}},
		{"a closed heading", list("Verify ##", "- `b`"), plan.PlanDoc{Verify: []string{"b"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.want.Text = c.text
			if diff := cmp.Diff(c.want, phases.ParsePlan(c.text), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzParsePlan: the text stays, files stay inside, commands are single lines.
func FuzzParsePlan(f *testing.F) {
	f.Add(planned)
	f.Add("```\n" + planned + "```")
	f.Add("## Files\n- `../x`\n- ./\n## Verify\n~~~\na \\\n~~~")
	f.Fuzz(func(t *testing.T, text string) {
		doc := phases.ParsePlan(text)
		if doc.Text != text {
			t.Errorf("the text was changed to %q", doc.Text)
		}
		for name := range doc.Files {
			if name == "" || name == "." || name != path.Clean(name) || path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
				t.Errorf("%q is not a file in the tree", name)
			}
		}
		for _, c := range doc.Verify {
			if strings.TrimFunc(c, unicode.IsSpace) == "" || strings.ContainsAny(c, "\n") {
				t.Errorf("%q is not a command", c)
			}
		}
	})
}
