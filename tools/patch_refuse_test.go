package tools_test

import (
	"os"
	"testing"
)

func TestPatchRefuses(t *testing.T) {
	t.Parallel()
	add := func(path string) string { return sections("*** Add File: " + path + "\n+x\n") }
	good := "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n"
	cases := map[string]struct {
		patch string
		words []string
	}{
		"nothing":       {"", []string{"no change in the patch", "*** Begin Patch"}},
		"only words":    {"please change it", []string{"no change in the patch"}},
		"begin and end": {sections(""), []string{"no change in the patch"}},
		"a hunk that does not fit": {
			good + "@@ -4,3 +4,3 @@\n 4\n-fife\n+V\n 6\n",
			[]string{"a.txt: hunk 2 of 2 does not fit", "most similar", "4\t4\n5\tfive\n6\t6", "Nothing was changed"},
		},
		"the second file does not fit": {
			good + "--- a/b.txt\n+++ b/b.txt\n@@ -2 +2 @@\n-zzzz\n+y\n",
			[]string{"b.txt: hunk 1 of 1", "At the line it states there is", "1\tb1\n2\tb2\n", "Nothing was changed"},
		},
		"applied already": {
			sections("*** Update File: a.txt\n@@\n 4\n-five\n+five\n-and a half\n 6\n 7\n"), []string{"applied already", "line 4"},
		},
		"ambiguous": {
			sections("*** Update File: twice.txt\n@@\n-x\n+y\n"), []string{"hunk 1 of 1 fits at 2 places (lines 1, 3)", "context"},
		},
		"ambiguous between two as near": {
			"--- a/twice.txt\n+++ b/twice.txt\n@@ -2 +2 @@\n-x\n+y\n", []string{"2 places"},
		},
		"ambiguous, and the numbers are wrong": {
			"--- a/twice.txt\n+++ b/twice.txt\n@@ -7,7 +7,7 @@\n-x\n+y\n", []string{"2 places"},
		},
		"ambiguous anchor": {
			sections("*** Update File: f.py\n@@ def f\n-  return 1\n+  return 2\n"), []string{"2 places"},
		},
		"the same place twice": {
			sections("*** Update File: b.txt\n@@\n b1\n-b2\n+B\n@@\n b1\n-b2\n+B\n"), []string{"hunk 2 of 2 does not fit"},
		},
		"within another hunk": {
			sections("*** Update File: b.txt\n@@\n-b1\n-b2\n+B\n@@ b1\n+new\n"), []string{"hunk 2 of 2", "in the middle of another hunk"},
		},
		"no context":       {"--- a/a.txt\n+++ b/a.txt\n@@ -3,0 +4 @@\n+new\n", []string{"only adds lines", "context"}},
		"missing file":     {sections("*** Update File: ab.txt\n@@\n-1\n+2\n"), []string{"ab.txt does not exist", "a.txt"}},
		"existing file":    {add("a.txt"), []string{"a.txt exists already", "update it"}},
		"move onto a file": {sections("*** Update File: a.txt\n*** Move to: b.txt\n"), []string{"cannot take the name b.txt"}},
		"delete unread":    {sections("*** Delete File: a.txt\n"), []string{"has not been read", "not deleted", "Read it first"}},
		"delete, less than all": {
			"--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-b1\n", []string{"b.txt is to be deleted", "over"},
		},
		"binary": {
			"diff --git a/x.png b/x.png\nnew file mode 100644\nindex 000..123\nGIT binary patch\nliteral 3\nKcmZQzU|?ckU\n\nliteral 0\nHcmV?d00001\n",
			[]string{"binary"},
		},
		"binary, not shown": {"diff --git a/a.txt b/a.txt\nindex 1..2 100644\nBinary files a/a.txt and b/a.txt differ\n", []string{"binary"}},
		"symlink":           {"diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n", []string{"symbolic link"}},
		"submodule":         {"diff --git a/m b/m\nnew file mode 160000\n--- /dev/null\n+++ b/m\n@@ -0,0 +1 @@\n+Subproject commit 1\n", []string{"submodule"}},
		"merge":             {"diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@@ -1,2 -1,2 +1,2 @@@\n  1\n", []string{"merge"}},
		"no file":           {"@@ -1 +1 @@\n-1\n+one\n", []string{"line 1", "without a file"}},
		"no hunks":          {"--- a/a.txt\n+++ b/a.txt\n", []string{"a.txt has no hunk"}},
		"no hunks, then others": {
			"--- a/b.txt\n+++ b/b.txt\n-b1\n+B\n" + good, []string{"b.txt has no hunk"},
		},
		"empty section":   {sections("*** Update File: a.txt\n"), []string{"a.txt has no hunk"}},
		"empty hunk":      {"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n\n\n", []string{"empty"}},
		"no name":         {"diff --git a/x b/y\nindex 1..2\n", []string{"which file"}},
		"a line unmarked": {"--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n-1\n+one\n2\n 3\n", []string{"line 6", `"2"`, "none of blank, + and -"}},
		"lines after the counts": {
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-1\n+one\n2\n-3\n+three\n", []string{"line 7", "belongs to no hunk"},
		},
		"an unmarked line in a section":  {sections("*** Update File: a.txt\n@@\n-1\n+one\n2\n"), []string{"line 6", `"2"`}},
		"an unmarked line in a new file": {sections("*** Add File: n.txt\n+x\ny\n"), []string{"line 4", `"y"`, "begins with +"}},
		"context in a new file":          {"--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1,2 @@\n+x\n y\n", []string{"n.txt is new", `" y"`}},
		"words between sections":         {sections("*** Delete File: a.txt\nand then\n"), []string{"line 3", "and then"}},
		"changes nothing":                {sections("*** Update File: a.txt\n@@\n-1\n+1\n"), []string{"changes nothing"}},
		"git dir":                        {add(".git/hooks/pre-commit"), []string{".git"}},
		"move into the git dir":          {sections("*** Update File: a.txt\n*** Move to: .Git/x\n"), []string{".git"}},
		"outside":                        {add("../x.txt"), []string{"outside"}},
		"outside, unified":               {"--- /dev/null\n+++ b/../../x.txt\n@@ -0,0 +1 @@\n+x\n", []string{"outside"}},
		"rename outside":                 {"diff --git a/a.txt b/../x\nrename from a.txt\nrename to ../x\n", []string{"outside"}},
		"absolute":                       {add("/tmp/x.txt"), []string{"outside"}},
		"through a link":                 {add("away/x.txt"), []string{"outside"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t, files{
				"a.txt": "1\n2\n3\n4\nfive\n6\n7\n", "b.txt": "b1\nb2\n", "twice.txt": "x\ny\nx\n",
				"f.py": "def f1():\n  return 1\ndef f2():\n  return 1\n", "../beside/y.txt": "y",
			})
			d.symlink("../beside", "away")
			before := d.tree()
			d.refused("apply_patch", args{"patch": c.patch}, c.words...)
			sameTree(t, before, d.tree())
		})
	}
}

// What a hunk cannot prove the conversation must have seen.
func TestPatchOfWhatWasRead(t *testing.T) {
	t.Parallel()
	d := newFixture(t, files{"a.txt": "1\n2\n3\n", "b.txt": "b\n"})
	d.read("a.txt", "b.txt")
	d.do("apply_patch", args{"patch": "--- a/a.txt\n+++ b/a.txt\n@@ -0,0 +1 @@\n+0\n@@ -2,0 +4,2 @@\n+2.3\n+2.6\n@@ -3,0 +7 @@\n+4\n"})
	d.has("a.txt", "0\n1\n2\n2.3\n2.6\n3\n4\n")
	res := d.do("apply_patch", args{"patch": sections("*** Delete File: b.txt\n")})
	d.has("b.txt", "(gone)")
	if hash, ok := res.Files["b.txt"]; !ok || hash != "" {
		t.Errorf("told: %v", res.Files)
	}
	// It is known as it is now.
	d.do("edit", args{"path": "a.txt", "old_string": "2.3", "new_string": "x"})
	d.put("b.txt", "other\n")
	d.refused("write", args{"path": "b.txt", "content": ""}, "has not been read")
}

func TestPatchModes(t *testing.T) {
	t.Parallel()
	d := newFixture(t, files{"run.sh": "1\n", "plain.sh": "1\n", "old.sh": "1\n"})
	d.chmod("plain.sh", 0o755)
	d.chmod("run.sh", 0o640)
	d.chmod("old.sh", 0o700)
	d.do("apply_patch", args{"patch": "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n" +
		"diff --git a/plain.sh b/plain.sh\nold mode 100755\nnew mode 100644\n--- a/plain.sh\n+++ b/plain.sh\n@@ -1 +1 @@\n-1\n+one\n" +
		"diff --git a/new.sh b/new.sh\nnew file mode 100755\n--- /dev/null\n+++ b/new.sh\n@@ -0,0 +1 @@\n+new\n" +
		"diff --git a/old.sh b/moved.sh\nrename from old.sh\nrename to moved.sh\n"})
	for name, want := range map[string]os.FileMode{"run.sh": 0o750, "plain.sh": 0o644, "moved.sh": 0o700} {
		if got := d.mode(name); got != want {
			t.Errorf("%s has mode %v, want %v", name, got, want)
		}
	}
	if got := d.mode("new.sh"); got&0o100 == 0 || got&^0o755 != 0 {
		t.Errorf("new.sh has mode %v", got)
	}
}

// The last file cannot be written, because the patch itself puts a file where
// it needs a directory. What was written before it is taken back.
func TestPatchIsTakenBack(t *testing.T) {
	t.Parallel()
	d := newFixture(t, files{"a.txt": "1\n", "old.txt": "2\n"})
	d.chmod("a.txt", 0o755)
	before := d.tree()
	d.refused("apply_patch", args{"patch": sections("*** Update File: a.txt\n@@\n-1\n+one\n" +
		"*** Update File: old.txt\n*** Move to: deep/er/new.txt\n" +
		"*** Add File: x\n+a file\n*** Add File: x/y/z.txt\n+below it\n")},
		"x/y", "taken back", "no file is changed")
	sameTree(t, before, d.tree())
	d.do("apply_patch", args{"patch": sections("*** Update File: a.txt\n@@\n-1\n+one\n")})
}
