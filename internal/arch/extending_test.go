package arch_test

import (
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan/internal/sampling"
)

// mostFiles is how many files a change may touch.
const mostFiles = 4

// example is a change that docs/extending.md walks through.
type example struct {
	title    string
	patches  map[string][]hunk // by file
	commands []string          // with which it is tried
}

// hunk is a part of a file's diff. Where it goes is found below the line that its head begins,
// by the lines that it leaves or takes away.
type hunk struct {
	head  string
	lines []string // each with its sign
}

// examplesOf reads the page: each section that has diffs, with its shell commands.
func examplesOf(page string) []example {
	var out []example
	for _, section := range strings.Split(page, "\n## ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		e := example{title: title, patches: map[string][]hunk{}}
		language, file := "", ""
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if fence, ok := strings.CutPrefix(line, "```"); ok {
				language = fence
				continue
			}
			switch name, named := strings.CutPrefix(line, "+++ b/"); {
			case language == "sh":
				e.commands = append(e.commands, line)
			case language != "diff":
			case named:
				file = name
				e.patches[file] = []hunk{{}}
			case strings.HasPrefix(line, "@@"):
				e.patches[file] = append(e.patches[file], hunk{head: strings.TrimSpace(line[2:])})
			default:
				last := &e.patches[file][len(e.patches[file])-1]
				last.lines = append(last.lines, line)
			}
		}
		if len(e.patches) > 0 {
			out = append(out, e)
		}
	}
	return out
}

// applied is the text with a file's hunks in it.
func applied(text string, hunks []hunk) (string, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if text == "" {
		lines = nil
	}
	for _, h := range hunks {
		var before, after []string
		for _, line := range h.lines {
			sign, rest := " ", ""
			if line != "" {
				sign, rest = line[:1], line[1:]
			}
			if sign != "+" {
				before = append(before, rest)
			}
			if sign != "-" {
				after = append(after, rest)
			}
		}
		from := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, h.head) })
		if h.head != "" && from < 0 {
			return "", fmt.Errorf("no line begins with %q", h.head)
		}
		at := max(from, 0)
		for at+len(before) <= len(lines) && !slices.Equal(lines[at:at+len(before)], before) {
			at++
		}
		if at+len(before) > len(lines) {
			return "", fmt.Errorf("below %q are no lines\n%s", h.head, strings.Join(before, "\n"))
		}
		lines = slices.Replace(lines, at, at+len(before), after...)
	}
	return strings.Join(lines, "\n") + "\n", nil
}

// TestExamplesOfExtending: the changes that docs/extending.md walks through apply to this tree, and
// touch as many files as the page says. Played whole, they compile, and what stands below each runs.
func TestExamplesOfExtending(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "extending.md"))
	if err != nil {
		t.Fatal(err)
	}
	examples := examplesOf(string(page))
	if len(examples) != 5 {
		t.Errorf("the page has %d changes", len(examples))
	}
	for _, e := range examples { //nolint:paralleltest // each compiles all of it
		t.Run(e.title, func(t *testing.T) {
			files := map[string]string{}
			added := 0
			for name, hunks := range e.patches {
				old, err := os.ReadFile(filepath.Join(root, name))
				if os.IsNotExist(err) {
					added++
				} else if err != nil {
					t.Fatal(err)
				}
				if files[name], err = applied(string(old), hunks); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				tidy, err := format.Source([]byte(files[name]))
				if strings.HasSuffix(name, ".go") && (err != nil || string(tidy) != files[name]) {
					t.Errorf("%s is not as gofmt writes it, or no Go: %v", name, err)
				}
			}
			row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| \[%s\]\(.*\) \| %d\b.* \| %d \|$`,
				strings.ToLower(e.title), len(files), added))
			if len(files) > mostFiles || !row.Match(page) {
				t.Errorf("%d files, %d of them new; the table says otherwise, or they are too many", len(files), added)
			}
			if sampling.All() && !t.Failed() {
				try(t, root, files, e.commands)
			}
		})
	}
}

// try runs commands in a copy of the tree that has other files.
func try(t *testing.T, root string, files map[string]string, commands []string) {
	t.Helper()
	tree := t.TempDir()
	run := func(dir, line string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", line)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TREE="+tree, "GOFLAGS=-trimpath", sampling.ScopeVariable+"=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	run(root, `git ls-files -z | tar -c --null -T - | tar -x -C "$TREE"`)
	for name, text := range files {
		path := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range append([]string{"go vet -tags sqlite_fts5 ./..."}, commands...) {
		run(tree, line)
	}
}
