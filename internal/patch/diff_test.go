package patch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/internal/patch"
)

// TestDiff: what git printed is read to its end, whatever its contents look like.
func TestDiff(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ diff, want string }{
		"contents that look like headers": {
			"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n--- a/y\n+++ b/z\n @@ -1 +1 @@\n-*** Update File: q\n+```\n",
			"update x x\n--- a/y\n+++ b/z\n @@ -1 +1 @@\n-*** Update File: q\n+```\n",
		},
		"a new file, a mode, a name of two words and one that is quoted": {
			"diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n" +
				"diff --git a/a b b/a b\nold mode 100644\nnew mode 100755\n" +
				"diff --git \"a/\\303\\244\" \"b/\\303\\244\"\ndeleted file mode 100644\n--- \"a/\\303\\244\"\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n",
			"add e e\nupdate a b a b\ndelete ä ä\n-gone\n",
		},
		"renamed, and binary": {
			"diff --git a/c b/d e\nsimilarity index 100%\nrename from c\nrename to d e\n" +
				"diff --git a/p b/p\nindex 1..2 100644\nGIT binary patch\nliteral 3\nzabc\n\nliteral 0\nHcmV?d00001\n\n" +
				"diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+to\n\\ No newline at end of file\n",
			"update c d e\nupdate p p\nadd l l\n+to\n",
		},
		"a hunk that cannot be read": {
			"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\nb\n+c\n@@@ -1 +1 @@@\n+d\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-e\n+f\n",
			"update x x\n-a\n+c\n+d\nupdate y y\n-e\n+f\n",
		},
		"names that cannot be told": {"diff --git one two\n@@ -1 +1 @@\n-a\n+b\n", "update one two one two\n-a\n+b\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got strings.Builder
			for _, f := range patch.Diff(c.diff) {
				fmt.Fprintln(&got, f.Op, f.Path, f.To)
				for _, h := range f.Hunks {
					for _, l := range h.Lines {
						fmt.Fprintf(&got, "%c%s\n", l.Kind, l.Text)
					}
				}
			}
			if diff := cmp.Diff(c.want, got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
