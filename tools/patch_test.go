package tools_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sections is a patch in the form with a section for each file.
func sections(text string) string { return "*** Begin Patch\n" + text + "*** End Patch\n" }

const tenLines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

func TestPatch(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		before files
		patch  string
		after  files // "(gone)" for what must not be there
		says   []string
	}{
		"plain unified": {
			files{"a.txt": tenLines},
			"--- a.txt\n+++ a.txt\n@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n",
			files{"a.txt": "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n"},
			[]string{"updated a.txt: +1 -1 lines"},
		},
		"git, several files and hunks": {
			files{"a.txt": tenLines, "d/b.txt": "x\n"},
			"diff --git a/a.txt b/a.txt\nindex 123..456 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@ func f()\n 1\n+1.5\n 2\n@@ -9,2 +10 @@\n-9\n 10\n" +
				"diff --git a/d/b.txt b/d/b.txt\n--- a/d/b.txt\n+++ b/d/b.txt\n@@ -1 +1 @@\n-x\n+y\n",
			files{"a.txt": "1\n1.5\n2\n3\n4\n5\n6\n7\n8\n10\n", "d/b.txt": "y\n"},
			[]string{"updated a.txt: +1 -1 lines\nupdated d/b.txt: +1 -1 lines"},
		},
		"create, delete, rename": {
			files{"gone.txt": "a\nb\n", "old.txt": "1\n2\n3\n"},
			"diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+n1\n+n2\n" +
				"diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n" +
				"diff --git a/old.txt b/sub/name with blanks.txt\nsimilarity index 66%\nrename from old.txt\nrename to sub/name with blanks.txt\n--- a/old.txt\n+++ b/sub/name with blanks.txt\t\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n",
			files{"new.txt": "n1\nn2\n", "gone.txt": "(gone)", "old.txt": "(gone)", "sub/name with blanks.txt": "1\ntwo\n3\n"},
			[]string{"added new.txt: 2 lines", "deleted gone.txt", "moved old.txt to sub/name with blanks.txt: +1 -1 lines"},
		},
		"rename only, quoted name, copy": {
			files{"old.txt": "1\n", "src.txt": "s\n"},
			"diff --git a/old.txt \"b/\\303\\251.txt\"\nsimilarity index 100%\nrename from old.txt\nrename to \"\\303\\251.txt\"\n" +
				"diff --git a/src.txt b/dst.txt\nsimilarity index 100%\ncopy from src.txt\ncopy to dst.txt\n",
			files{"old.txt": "(gone)", "é.txt": "1\n", "src.txt": "s\n", "dst.txt": "s\n"},
			[]string{"moved old.txt to é.txt", "copied src.txt to dst.txt"},
		},
		"empty files": {
			files{"gone.txt": ""},
			"diff --git a/new.txt b/new.txt\nnew file mode 100644\nindex 0000000..e69de29\ndiff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\nindex e69de29..0000000\n",
			files{"new.txt": "", "gone.txt": "(gone)"},
			nil,
		},
		"no newline at the end, both": {
			files{"a.txt": "1\n2"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+two\n\\ No newline at end of file\n",
			files{"a.txt": "1\ntwo"},
			nil,
		},
		"no newline at the end, taken away": {
			files{"a.txt": "1\n2\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n 1\n-2\n+2\n\\ No newline at end of file\n",
			files{"a.txt": "1\n2"},
			nil,
		},
		"no newline at the end, given": {
			files{"a.txt": "1\n2"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+2\n",
			files{"a.txt": "1\n2\n"},
			nil,
		},
		"no newline at the end, unsaid": {
			files{"a.txt": "1\n2"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n 1\n 2\n+3\n",
			files{"a.txt": "1\n2\n3"},
			nil,
		},
		"no newline at the end of a new file": {
			files{}, "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+1\n\\ No newline at end of file\n", files{"a.txt": "1"}, nil,
		},
		"CRLF kept": {
			files{"a.txt": "1\r\n2\r\n3\r\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n 1\n-2\n+two\n+2.5\n 3\n",
			files{"a.txt": "1\r\ntwo\r\n2.5\r\n3\r\n"},
			nil,
		},
		"CRLF as git shows it": {
			files{"a.txt": "1\r\n2\r\n3\r\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n 1\r\n-2\r\n+two\r\n+lf\n 3\r\n",
			files{"a.txt": "1\r\ntwo\r\nlf\n3\r\n"},
			nil,
		},
		"CRLF of the patch itself": {
			files{"a.txt": "1\n2\n3\n"},
			"--- a/a.txt\r\n+++ b/a.txt\r\n@@ -1,3 +1,3 @@\r\n 1\r\n-2\r\n+two\r\n 3\r\n",
			files{"a.txt": "1\ntwo\n3\n"},
			nil,
		},
		"CRLF in a new file": {
			files{}, "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,2 @@\n+1\r\n+2\r\n", files{"a.txt": "1\r\n2\r\n"}, nil,
		},
		"mixed endings kept": {
			files{"a.txt": "1\r\n2\n3\r\n4\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,4 @@\n 1\n 2\n-3\n+three\n 4\n",
			files{"a.txt": "1\r\n2\nthree\r\n4\n"},
			nil,
		},
		"BOM kept": {
			files{"a.txt": "\uFEFF1\n2\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n",
			files{"a.txt": "\uFEFFone\n2\n"},
			nil,
		},
		"BOM as git shows it": {
			files{"a.txt": "\uFEFF1\n2\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-\uFEFF1\n+\uFEFFone\n 2\n",
			files{"a.txt": "\uFEFFone\n2\n"},
			nil,
		},
		"lines moved": {
			files{"a.txt": "new\nnew\n" + tenLines},
			"--- a/a.txt\n+++ b/a.txt\n@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n",
			files{"a.txt": "new\nnew\n1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n"},
			[]string{"hunk 1 was put at line 6, the patch said 4"},
		},
		"the stated place of several": {
			files{"a.txt": "x\ny\nx\ny\nx\ny\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -3,2 +3,2 @@\n x\n-y\n+Y\n",
			files{"a.txt": "x\ny\nx\nY\nx\ny\n"},
			nil,
		},
		"the nearest place of several": {
			files{"a.txt": "x\ny\n1\n2\n3\n4\n5\nx\ny\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -7,2 +7,2 @@\n x\n-y\n+Y\n",
			files{"a.txt": "x\ny\n1\n2\n3\n4\n5\nx\nY\n"},
			[]string{"line 8"},
		},
		"moved with the hunk before": {
			files{"a.txt": "0\n0\n0\n0\na\nx\nx\nx\nx\nx\nx\nx\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+A\n@@ -4 +4 @@\n-x\n+X\n",
			files{"a.txt": "0\n0\n0\n0\nA\nx\nx\nX\nx\nx\nx\nx\n"},
			nil,
		},
		"trailing blanks": {
			files{"a.txt": "1  \n2\t\n3\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3 \n",
			files{"a.txt": "1  \ntwo\n3\n"},
			[]string{"but for white space"},
		},
		"wrong counts": {
			files{"a.txt": tenLines},
			"--- a/a.txt\n+++ b/a.txt\n@@ -4,1 +4,9 @@\n 4\n-5\n+five\n 6\n@@ -8,7 +8,7 @@\n 8\n-9\n+nine\n 10\n",
			files{"a.txt": "1\n2\n3\n4\nfive\n6\n7\n8\nnine\n10\n"},
			nil,
		},
		"no line numbers": {
			files{"a.txt": tenLines},
			"--- a/a.txt\n+++ b/a.txt\n@@ ... @@\n 4\n-5\n+five\n@@\n-9\n+nine\n",
			files{"a.txt": "1\n2\n3\n4\nfive\n6\n7\n8\nnine\n10\n"},
			nil,
		},
		"fenced, with words around": {
			files{"a.txt": "1\n2\n"},
			"Here is the patch:\n```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n```\n\nIt does what you asked.\n",
			files{"a.txt": "1\ntwo\n"},
			nil,
		},
		"mailed": {
			files{"a.txt": "1\n2\n"},
			"From 123 Mon Sep 17 00:00:00 2001\nSubject: x\n\n- a point\n---\n a.txt | 2 +-\n\ndiff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n-- \n2.39.2\n\n",
			files{"a.txt": "1\ntwo\n"},
			nil,
		},
		"empty context without its blank": {
			files{"a.txt": "1\n\n2\n\n3\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,4 @@\n 1\n\n-2\n+two\n\n",
			files{"a.txt": "1\n\ntwo\n\n3\n"},
			nil,
		},
		"lines that look like names": {
			files{"a.sql": "-- one\nx\n"},
			"--- a/a.sql\n+++ b/a.sql\n@@ -1,2 +1,2 @@\n x\n--- one\n+++ two\n",
			nil, nil,
		},
		"deleted and added lines that look like names": {
			files{"a.sql": "x\n-- one\ny\nz\n"},
			"--- a/a.sql\n+++ b/a.sql\n@@ -1,2 +1,2 @@\n x\n--- one\n+++ two\n@@ -4 +4 @@\n-z\n+Z\n",
			files{"a.sql": "x\n++ two\ny\nZ\n"},
			nil,
		},
		"backup name": {
			files{"a.txt": "1\n"},
			"--- a.txt.orig\t2024-01-01 00:00:00\n+++ a.txt\t2024-01-02 00:00:00\n@@ -1 +1 @@\n-1\n+one\n",
			files{"a.txt": "one\n", "a.txt.orig": "(gone)"},
			nil,
		},
		"a directory named a": {
			files{"a/x.txt": "1\n"},
			"--- a/x.txt\n+++ a/x.txt\n@@ -1 +1 @@\n-1\n+one\n",
			files{"a/x.txt": "one\n"},
			nil,
		},
		"sections": {
			files{"a.txt": tenLines, "gone.txt": "", "old.txt": "1\n2\n"},
			sections("*** Update File: a.txt\n@@\n 4\n-5\n+five\n 6\n@@\n-9\n+nine\n*** Add File: d/new.txt\n+n1\n+\n+n2\n*** Delete File: gone.txt\n*** Update File: old.txt\n*** Move to: sub/moved.txt\n@@\n 1\n-2\n+two\n"),
			files{"a.txt": "1\n2\n3\n4\nfive\n6\n7\n8\nnine\n10\n", "d/new.txt": "n1\n\nn2\n", "gone.txt": "(gone)", "old.txt": "(gone)", "sub/moved.txt": "1\ntwo\n"},
			[]string{"updated a.txt: +2 -2 lines", "added d/new.txt: 3 lines", "deleted gone.txt", "moved old.txt to sub/moved.txt: +1 -1 lines"},
		},
		"sections, move only": {
			files{"a.txt": "1\n"},
			sections("*** Update File: a.txt\n*** Move to: b.txt\n"),
			files{"a.txt": "(gone)", "b.txt": "1\n"},
			nil,
		},
		"sections, the first hunk bare, the end missing": {
			files{"a.txt": "1\n2\n"},
			"*** Begin Patch\n*** Update File: a.txt\n 1\n-2\n+two\n",
			files{"a.txt": "1\ntwo\n"},
			nil,
		},
		"sections, blank lines between": {
			files{"a.txt": "1\n2\n", "b.txt": "1\n"},
			"\n*** Begin Patch\n\n*** Update File: a.txt\n\n@@\n 1\n-2\n+two\n\n*** Update File: b.txt\n@@\n-1\n+one\n\n\n*** End Patch\n\nDone.\n",
			files{"a.txt": "1\ntwo\n", "b.txt": "one\n"},
			nil,
		},
		"sections, fenced": {
			files{"a.txt": "1\n"},
			"```\n" + sections("*** Update File: a.txt\n@@\n-1\n+one\n") + "```\n",
			files{"a.txt": "one\n"},
			nil,
		},
		"sections with line numbers": {
			files{"a.txt": "x\nx\nx\n"},
			sections("*** Update File: a.txt\n@@ -2,1 +2,1 @@\n-x\n+y\n"),
			files{"a.txt": "x\ny\nx\n"},
			nil,
		},
		"sections with the names again": {
			files{"a.txt": "1\n"},
			sections("*** Update File: a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-1\n+one\n"),
			files{"a.txt": "one\n"},
			nil,
		},
		"unified within begin and end": {
			files{"a.txt": "1\n"},
			sections("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-1\n+one\n"),
			files{"a.txt": "one\n"},
			nil,
		},
		"anchor": {
			files{"a.py": "def f():\n    return 1\n\ndef g():\n    return 1\n"},
			sections("*** Update File: a.py\n@@ def g():\n-    return 1\n+    return 2\n"),
			files{"a.py": "def f():\n    return 1\n\ndef g():\n    return 2\n"},
			nil,
		},
		"anchor that is the first line, too": {
			files{"a.py": "def f():\n    return 1\n\ndef g():\n    return 1\n"},
			sections("*** Update File: a.py\n@@ def g\n def g():\n-    return 1\n+    return 2\n"),
			files{"a.py": "def f():\n    return 1\n\ndef g():\n    return 2\n"},
			nil,
		},
		"anchors in steps": {
			files{"a.py": "class A:\n  def f():\n    return 1\nclass B:\n  def f():\n    return 1\n"},
			sections("*** Update File: a.py\n@@ class B\n@@ def f():\n-    return 1\n+    return 2\n"),
			files{"a.py": "class A:\n  def f():\n    return 1\nclass B:\n  def f():\n    return 2\n"},
			nil,
		},
		"a wrong anchor that is not needed": {
			files{"a.py": "def f():\n    return 1\n"},
			sections("*** Update File: a.py\n@@ def nowhere():\n-    return 1\n+    return 2\n"),
			files{"a.py": "def f():\n    return 2\n"},
			nil,
		},
		"insertion below an anchor": {
			files{"a.py": "import os\nx = 1\n"},
			sections("*** Update File: a.py\n@@ import os\n+import sys\n"),
			files{"a.py": "import os\nimport sys\nx = 1\n"},
			nil,
		},
		"end of file": {
			files{"a.txt": "x\ny\nx\ny\n"},
			sections("*** Update File: a.txt\n@@\n x\n y\n+z\n*** End of File\n"),
			files{"a.txt": "x\ny\nx\ny\nz\n"},
			nil,
		},
		"insertion at the end of the file": {
			files{"a.txt": "x\n"},
			sections("*** Update File: a.txt\n@@\n+z\n*** End of File\n"),
			files{"a.txt": "x\nz\n"},
			nil,
		},
		"hunks in another order": {
			files{"a.txt": tenLines},
			sections("*** Update File: a.txt\n@@\n-9\n+nine\n@@\n-2\n+two\n"),
			files{"a.txt": "1\ntwo\n3\n4\n5\n6\n7\n8\nnine\n10\n"},
			nil,
		},
		"the second of two alike, after the first": {
			files{"a.txt": "a\nx\nb\nx\n"},
			sections("*** Update File: a.txt\n@@\n a\n-x\n+1\n b\n@@\n-x\n+2\n"),
			files{"a.txt": "a\n1\nb\n2\n"},
			nil,
		},
		"insertion before the line of another hunk": {
			files{"a.txt": "import os\nx = 1\n"},
			sections("*** Update File: a.txt\n@@\n-x = 1\n+x = 2\n@@ import os\n+import sys\n"),
			files{"a.txt": "import os\nimport sys\nx = 2\n"},
			nil,
		},
		"one file in two sections": {
			files{"a.txt": "1\n2\n3\n"},
			sections("*** Update File: a.txt\n@@\n-1\n+one\n*** Update File: a.txt\n@@\n one\n-2\n+two\n"),
			files{"a.txt": "one\ntwo\n3\n"},
			nil,
		},
		"added and then updated": {
			files{},
			sections("*** Add File: a.txt\n+1\n*** Update File: a.txt\n@@\n-1\n+one\n"),
			files{"a.txt": "one\n"},
			nil,
		},
		"names exchanged": {
			files{"a.txt": "1\n", "b.txt": "2\n"},
			sections("*** Update File: a.txt\n*** Move to: c.txt\n*** Update File: b.txt\n*** Move to: a.txt\n*** Update File: c.txt\n*** Move to: b.txt\n"),
			files{"a.txt": "2\n", "b.txt": "1\n", "c.txt": "(gone)"},
			nil,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t, c.before)
			if c.after == nil {
				before := d.tree()
				d.refused("apply_patch", args{"patch": c.patch})
				sameTree(t, before, d.tree())
				return
			}
			res := d.do("apply_patch", args{"patch": c.patch})
			d.says(res, c.says...)
			for name, want := range c.after {
				d.has(name, want)
				hash, told := res.Files[name]
				if want == "(gone)" && (hash != "" || !told && c.before[name] != "") || want != "(gone)" && told && hash != sha(want) {
					t.Errorf("%s is told as %q", name, hash)
				}
			}
			for name := range d.tree() {
				if strings.Contains(name, ".plan-") {
					t.Errorf("%s is left over", name)
				}
			}
		})
	}
}

func sameTree(t *testing.T, before, after map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("something was changed:\n%s", diff)
	}
}
