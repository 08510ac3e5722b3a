package arch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The diffs of docs/extending.md are read as instructions: what they leave as it is, or take
// away, is in the files that they name.
func TestDiffsOfExtendingAreOfTheseFiles(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "extending.md"))
	if err != nil {
		t.Fatal(err)
	}
	inDiff, name, source, looked := false, "", "", 0
	for line := range strings.Lines(string(page)) {
		line = strings.TrimRight(line, "\n")
		switch file, named := strings.CutPrefix(line, "+++ b/"); {
		case strings.HasPrefix(line, "```"):
			inDiff, source = line == "```diff", ""
		case !inDiff:
		case named:
			text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
			if err != nil && !os.IsNotExist(err) { // a new file is made by the diff
				t.Fatal(err)
			}
			name, source = file, string(text)
		case source != "":
			old, isHead := strings.CutPrefix(line, "@@")
			if !isHead && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "-") {
				continue
			}
			if !isHead {
				old = line[1:]
			}
			looked++
			if old = strings.TrimSpace(old); !strings.Contains(source, old) {
				t.Errorf("%s has no line %q", name, old)
			}
		}
	}
	if looked < 15 {
		t.Errorf("%d lines were looked for", looked)
	}
}
