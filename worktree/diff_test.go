package worktree_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

func TestDiffStatChanged(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{
		"mod": "a\nb\nc\n", "gone": "x\n", "old name": "1\n2\n3\n4\n5\n6\n", "bin": "\x00a", "same": "s\n", "ünï\n": "x\n",
		".gitattributes": "mod diff=driver\nnew diff=reader\n",
	})
	// Settings that must not show.
	for name, value := range map[string]string{
		"diff.noprefix": "true", "diff.mnemonicPrefix": "true", "color.ui": "always", "diff.external": "false",
		"diff.renames": "false", "core.abbrev": "40", "diff.context": "0", "core.quotePath": "true", "diff.algorithm": "patience",
		"diff.driver.command": "echo driver", "diff.reader.textconv": "echo reader",
	} {
		git(t, dir, "config", name, value)
	}
	from := git(t, dir, "rev-parse", "HEAD")
	git(t, dir, "mv", "old name", "new name")
	remove(t, dir, "gone")
	put(t, dir, map[string]string{"mod": "a\nB\nc\nd\n", "new": "n\n", "bin": "\x00b", "ünï\n": "y\n"})
	to := tree(t, r)

	diff, err := r.Diff(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	want := `diff --git a/bin b/bin
index ID..ID 100644
Binary files a/bin and b/bin differ
diff --git a/gone b/gone
deleted file mode 100644
index ID..ID
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/mod b/mod
index ID..ID 100644
--- a/mod
+++ b/mod
@@ -1,3 +1,4 @@
 a
-b
+B
 c
+d
diff --git a/new b/new
new file mode 100644
index ID..ID
--- /dev/null
+++ b/new
@@ -0,0 +1 @@
+n
diff --git a/old name b/new name
similarity index 100%
rename from old name
rename to new name
diff --git "a/ünï\n" "b/ünï\n"
index ID..ID 100644
--- "a/ünï\n"
+++ "b/ünï\n"
@@ -1 +1 @@
-x
+y
`
	if d := cmp.Diff(want, maskIDs(t, diff)); d != "" {
		t.Errorf("diff (-want +got):\n%s", d)
	}
	stat, err := r.Stat(t.Context(), from, to)
	if d := cmp.Diff(plan.DiffStat{Files: 6, Insertions: 4, Deletions: 3}, stat); err != nil || d != "" {
		t.Errorf("error %v, stat (-want +got):\n%s", err, d)
	}
	changed, err := r.Changed(t.Context(), from, to)
	if d := cmp.Diff([]string{"bin", "gone", "mod", "new", "new name", "old name", "ünï\n"}, changed); err != nil || d != "" {
		t.Errorf("error %v, changed (-want +got):\n%s", err, d)
	}
}

// maskIDs replaces the ids of "index" lines, and checks that they have twelve
// digits.
func maskIDs(t *testing.T, diff string) string {
	t.Helper()
	lines := strings.Split(diff, "\n")
	for i, line := range lines {
		rest, ok := strings.CutPrefix(line, "index ")
		if !ok {
			continue
		}
		ids, mode, _ := strings.Cut(rest, " ")
		if a, b, _ := strings.Cut(ids, ".."); len(a) != 12 || len(b) != 12 {
			t.Errorf("ids of another length: %q", line)
		}
		lines[i] = strings.TrimSpace("index ID..ID " + mode)
	}
	return strings.Join(lines, "\n")
}

func TestDiffOfEqualTreesIsEmpty(t *testing.T) {
	t.Parallel()
	r, _ := start(t, map[string]string{"f": "x"})
	id := tree(t, r)
	diff, err := r.Diff(t.Context(), id, "HEAD")
	if err != nil || diff != "" {
		t.Errorf("diff %q, %v", diff, err)
	}
	stat, err := r.Stat(t.Context(), id, "HEAD")
	if err != nil || stat != (plan.DiffStat{}) {
		t.Errorf("stat %v, %v", stat, err)
	}
	if changed, err := r.Changed(t.Context(), id, "HEAD"); err != nil || changed != nil {
		t.Errorf("changed %q, %v", changed, err)
	}
}

func TestDiffRefusesWhatIsNoTree(t *testing.T) {
	t.Parallel()
	r, _ := start(t, map[string]string{"f": "x"})
	for _, id := range []string{"", "--output=evil", "no-such-ref", strings.Repeat("12", 20), "HEAD:f"} {
		if diff, err := r.Diff(t.Context(), "HEAD", id); err == nil {
			t.Errorf("compared with %q: %q", id, diff)
		}
	}
}

// TestAttributesHideNoText: a change that calls its texts binary is shown, and its lines are counted.
func TestAttributesHideNoText(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"code.go": "safe\n", "old": "1\n2\n3\n4\n5\n6\n", "bin": "\x00a"})
	from := git(t, dir, "rev-parse", "HEAD")
	git(t, dir, "mv", "old", "new")
	put(t, dir, map[string]string{
		".gitattributes": "* -diff\n",
		"code.go":        "evil\ndiff --git a/bin b/bin\nBinary files a/bin and b/bin differ\n",
		"new":            "1\n2\n3\n4\n5\nsix\n",
		"bin":            "\x00b",
	})
	to := tree(t, r)
	stat, err := r.Stat(t.Context(), from, to)
	if d := cmp.Diff(plan.DiffStat{Files: 4, Insertions: 5, Deletions: 2}, stat); err != nil || d != "" {
		t.Errorf("error %v, stat (-want +got):\n%s", err, d)
	}
	diff, err := r.Diff(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n-safe\n+evil\n", "rename from old\nrename to new\n", "\n-6\n+six\n", "\nBinary files a/bin and b/bin differ\n", "\n+* -diff\n",
	} {
		if !strings.Contains(diff, want) {
			t.Errorf("the diff lacks %q:\n%s", want, diff)
		}
	}
}
