package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plan-engine/plan/tools"
)

// TestSymbolsOfANameThatIsEverywhere: where more files hold a name than are parsed, those
// come first that define it, then those with the same name in another case, then longer
// ones. What is left out is said.
func TestSymbolsOfANameThatIsEverywhere(t *testing.T) {
	t.Parallel()
	tree := files{
		"zz/fold.go":   "package p\n\nfunc target() {}\n",
		"zz/equal.go":  "package p\n\nfunc Target() {}\n",
		"zz/method.js": "class Page {\n  Target(args) {\n    return 1;\n  }\n}\n",
	}
	filler := strings.Repeat("// nothing\n", 700)
	for i := range 900 {
		tree[fmt.Sprintf("a%03d.go", i)] = fmt.Sprintf("package p\n\nfunc TargetOf%d() { Target() }\n%s", i, filler)
	}
	set := openSet(t, tools.Config{Root: plant(t, tree)})
	for range 2 { // the second answer is the first
		out := ask(t, set, "symbols", args{"query": "Target"}).Output
		head, _, _ := strings.Cut(out, "a000.go")
		sameText(t, head, "zz/equal.go\n3-3 function Target  func Target()\nzz/method.js\n2-4 method Page.Target  Target(args)\n"+
			"zz/fold.go\n3-3 function target  func target()\n")
		if n := strings.Count(out, "function TargetOf"); n != 97 || !strings.Contains(out, "[stopped after ") {
			t.Errorf("%d longer names, ends with %q", n, out[len(out)-100:])
		}
		callers := ask(t, set, "symbols", args{"query": "Target", "kind": "callers"}).Output
		if n := strings.Count(callers, " call in "); n != 100 || !strings.Contains(callers, "of the 903 files that mention it") {
			t.Errorf("%d callers, ends with %q", n, callers[len(callers)-100:])
		}
	}
}
