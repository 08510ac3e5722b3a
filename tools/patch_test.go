package tools_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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
			files{"new.txt": "", "gone.txt": "(gone)"}, nil,
		},
		"no newline at the end, both": {
			files{"a.txt": "1\n2"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+two\n\\ No newline at end of file\n",
			files{"a.txt": "1\ntwo"}, nil,
		},
		"no newline at the end, taken away": {
			files{"a.txt": "1\n2\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n 1\n-2\n+2\n\\ No newline at end of file\n",
			files{"a.txt": "1\n2"}, nil,
		},
		"no newline at the end, given": {
			files{"a.txt": "1\n2"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+2\n",
			files{"a.txt": "1\n2\n"}, nil,
		},
		"no newline at the end, unsaid": {
			files{"a.txt": "1\n2"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n 1\n 2\n+3\n",
			files{"a.txt": "1\n2\n3"}, nil,
		},
		"no newline at the end of a new file": {
			files{}, "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+1\n\\ No newline at end of file\n", files{"a.txt": "1"}, nil,
		},
		"CRLF kept": {
			files{"a.txt": "1\r\n2\r\n3\r\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n 1\n-2\n+two\n+2.5\n 3\n",
			files{"a.txt": "1\r\ntwo\r\n2.5\r\n3\r\n"}, nil,
		},
		"CRLF as git shows it": {
			files{"a.txt": "1\r\n2\r\n3\r\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n 1\r\n-2\r\n+two\r\n+lf\n 3\r\n",
			files{"a.txt": "1\r\ntwo\r\nlf\n3\r\n"}, nil,
		},
		"CRLF of the patch itself": {
			files{"a.txt": "1\n2\n3\n"},
			"--- a/a.txt\r\n+++ b/a.txt\r\n@@ -1,3 +1,3 @@\r\n 1\r\n-2\r\n+two\r\n 3\r\n",
			files{"a.txt": "1\ntwo\n3\n"}, nil,
		},
		"CRLF in a new file": {
			files{}, "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,2 @@\n+1\r\n+2\r\n", files{"a.txt": "1\r\n2\r\n"}, nil,
		},
		"mixed endings kept": {
			files{"a.txt": "1\r\n2\n3\r\n4\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,4 @@\n 1\n 2\n-3\n+three\n 4\n",
			files{"a.txt": "1\r\n2\nthree\r\n4\n"}, nil,
		},
		"BOM kept": {
			files{"a.txt": "\uFEFF1\n2\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n",
			files{"a.txt": "\uFEFFone\n2\n"}, nil,
		},
		"BOM as git shows it": {
			files{"a.txt": "\uFEFF1\n2\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-\uFEFF1\n+\uFEFFone\n 2\n",
			files{"a.txt": "\uFEFFone\n2\n"}, nil,
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
			files{"a.txt": "x\ny\nx\nY\nx\ny\n"}, nil,
		},
		"the nearest place of several": {
			files{"a.txt": "x\ny\n1\n2\n3\n4\n5\nx\ny\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -7,2 +7,2 @@\n x\n-y\n+Y\n",
			files{"a.txt": "x\ny\n1\n2\n3\n4\n5\nx\nY\n"}, []string{"line 8"},
		},
		"moved with the hunk before": {
			files{"a.txt": "0\n0\n0\n0\na\nx\nx\nx\nx\nx\nx\nx\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+A\n@@ -4 +4 @@\n-x\n+X\n",
			files{"a.txt": "0\n0\n0\n0\nA\nx\nx\nX\nx\nx\nx\nx\n"}, nil,
		},
		"trailing blanks": {
			files{"a.txt": "1  \n2\t\n3\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3 \n",
			files{"a.txt": "1  \ntwo\n3\n"}, []string{"but for white space"},
		},
		"wrong counts": {
			files{"a.txt": tenLines},
			"--- a/a.txt\n+++ b/a.txt\n@@ -4,1 +4,9 @@\n 4\n-5\n+five\n 6\n@@ -8,7 +8,7 @@\n 8\n-9\n+nine\n 10\n",
			files{"a.txt": "1\n2\n3\n4\nfive\n6\n7\n8\nnine\n10\n"}, nil,
		},
		"no line numbers": {
			files{"a.txt": tenLines},
			"--- a/a.txt\n+++ b/a.txt\n@@ ... @@\n 4\n-5\n+five\n@@\n-9\n+nine\n",
			files{"a.txt": "1\n2\n3\n4\nfive\n6\n7\n8\nnine\n10\n"}, nil,
		},
		"fenced, with words around": {
			files{"a.txt": "1\n2\n"},
			"Here is the patch:\n```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n```\n\nIt does what you asked.\n",
			files{"a.txt": "1\ntwo\n"}, nil,
		},
		"mailed": {
			files{"a.txt": "1\n2\n"},
			"From 123 Mon Sep 17 00:00:00 2001\nSubject: x\n\n- a point\n---\n a.txt | 2 +-\n\ndiff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n-- \n2.39.2\n\n",
			files{"a.txt": "1\ntwo\n"}, nil,
		},
		"empty context without its blank": {
			files{"a.txt": "1\n\n2\n\n3\n"},
			"--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,4 @@\n 1\n\n-2\n+two\n\n",
			files{"a.txt": "1\n\ntwo\n\n3\n"}, nil,
		},
		"lines that look like names": {
			files{"a.sql": "-- one\nx\n"},
			"--- a/a.sql\n+++ b/a.sql\n@@ -1,2 +1,2 @@\n x\n--- one\n+++ two\n",
			nil, nil,
		},
		"deleted and added lines that look like names": {
			files{"a.sql": "x\n-- one\ny\nz\n"},
			"--- a/a.sql\n+++ b/a.sql\n@@ -1,2 +1,2 @@\n x\n--- one\n+++ two\n@@ -4 +4 @@\n-z\n+Z\n",
			files{"a.sql": "x\n++ two\ny\nZ\n"}, nil,
		},
		"backup name": {
			files{"a.txt": "1\n"},
			"--- a.txt.orig\t2024-01-01 00:00:00\n+++ a.txt\t2024-01-02 00:00:00\n@@ -1 +1 @@\n-1\n+one\n",
			files{"a.txt": "one\n", "a.txt.orig": "(gone)"}, nil,
		},
		"a directory named a": {
			files{"a/x.txt": "1\n"},
			"--- a/x.txt\n+++ a/x.txt\n@@ -1 +1 @@\n-1\n+one\n",
			files{"a/x.txt": "one\n"}, nil,
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
			files{"a.txt": "(gone)", "b.txt": "1\n"}, nil,
		},
		"sections, the first hunk bare, the end missing": {
			files{"a.txt": "1\n2\n"},
			"*** Begin Patch\n*** Update File: a.txt\n 1\n-2\n+two\n",
			files{"a.txt": "1\ntwo\n"}, nil,
		},
		"sections, blank lines between": {
			files{"a.txt": "1\n2\n", "b.txt": "1\n"},
			"\n*** Begin Patch\n\n*** Update File: a.txt\n\n@@\n 1\n-2\n+two\n\n*** Update File: b.txt\n@@\n-1\n+one\n\n\n*** End Patch\n\nDone.\n",
			files{"a.txt": "1\ntwo\n", "b.txt": "one\n"}, nil,
		},
		"sections, fenced": {
			files{"a.txt": "1\n"},
			"```\n" + sections("*** Update File: a.txt\n@@\n-1\n+one\n") + "```\n",
			files{"a.txt": "one\n"}, nil,
		},
		"sections with line numbers": {
			files{"a.txt": "x\nx\nx\n"},
			sections("*** Update File: a.txt\n@@ -2,1 +2,1 @@\n-x\n+y\n"),
			files{"a.txt": "x\ny\nx\n"}, nil,
		},
		"sections with the names again": {
			files{"a.txt": "1\n"},
			sections("*** Update File: a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-1\n+one\n"),
			files{"a.txt": "one\n"}, nil,
		},
		"unified within begin and end": {
			files{"a.txt": "1\n"},
			sections("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-1\n+one\n"),
			files{"a.txt": "one\n"}, nil,
		},
		"anchor": {
			files{"a.py": "def f():\n    return 1\n\ndef g():\n    return 1\n"},
			sections("*** Update File: a.py\n@@ def g():\n-    return 1\n+    return 2\n"),
			files{"a.py": "def f():\n    return 1\n\ndef g():\n    return 2\n"}, nil,
		},
		"anchor that is the first line, too": {
			files{"a.py": "def f():\n    return 1\n\ndef g():\n    return 1\n"},
			sections("*** Update File: a.py\n@@ def g\n def g():\n-    return 1\n+    return 2\n"),
			files{"a.py": "def f():\n    return 1\n\ndef g():\n    return 2\n"}, nil,
		},
		"anchors in steps": {
			files{"a.py": "class A:\n  def f():\n    return 1\nclass B:\n  def f():\n    return 1\n"},
			sections("*** Update File: a.py\n@@ class B\n@@ def f():\n-    return 1\n+    return 2\n"),
			files{"a.py": "class A:\n  def f():\n    return 1\nclass B:\n  def f():\n    return 2\n"}, nil,
		},
		"a wrong anchor that is not needed": {
			files{"a.py": "def f():\n    return 1\n"},
			sections("*** Update File: a.py\n@@ def nowhere():\n-    return 1\n+    return 2\n"),
			files{"a.py": "def f():\n    return 2\n"}, nil,
		},
		"insertion below an anchor": {
			files{"a.py": "import os\nx = 1\n"},
			sections("*** Update File: a.py\n@@ import os\n+import sys\n"),
			files{"a.py": "import os\nimport sys\nx = 1\n"}, nil,
		},
		"end of file": {
			files{"a.txt": "x\ny\nx\ny\n"},
			sections("*** Update File: a.txt\n@@\n x\n y\n+z\n*** End of File\n"),
			files{"a.txt": "x\ny\nx\ny\nz\n"}, nil,
		},
		"insertion at the end of the file": {
			files{"a.txt": "x\n"},
			sections("*** Update File: a.txt\n@@\n+z\n*** End of File\n"),
			files{"a.txt": "x\nz\n"}, nil,
		},
		"hunks in another order": {
			files{"a.txt": tenLines},
			sections("*** Update File: a.txt\n@@\n-9\n+nine\n@@\n-2\n+two\n"),
			files{"a.txt": "1\ntwo\n3\n4\n5\n6\n7\n8\nnine\n10\n"}, nil,
		},
		"the second of two alike, after the first": {
			files{"a.txt": "a\nx\nb\nx\n"},
			sections("*** Update File: a.txt\n@@\n a\n-x\n+1\n b\n@@\n-x\n+2\n"),
			files{"a.txt": "a\n1\nb\n2\n"}, nil,
		},
		"insertion before the line of another hunk": {
			files{"a.txt": "import os\nx = 1\n"},
			sections("*** Update File: a.txt\n@@\n-x = 1\n+x = 2\n@@ import os\n+import sys\n"),
			files{"a.txt": "import os\nimport sys\nx = 2\n"}, nil,
		},
		"one file in two sections": {
			files{"a.txt": "1\n2\n3\n"},
			sections("*** Update File: a.txt\n@@\n-1\n+one\n*** Update File: a.txt\n@@\n one\n-2\n+two\n"),
			files{"a.txt": "one\ntwo\n3\n"}, nil,
		},
		"added and then updated": {
			files{},
			sections("*** Add File: a.txt\n+1\n*** Update File: a.txt\n@@\n-1\n+one\n"),
			files{"a.txt": "one\n"}, nil,
		},
		"names exchanged": {
			files{"a.txt": "1\n", "b.txt": "2\n"},
			sections("*** Update File: a.txt\n*** Move to: c.txt\n*** Update File: b.txt\n*** Move to: a.txt\n*** Update File: c.txt\n*** Move to: b.txt\n"),
			files{"a.txt": "2\n", "b.txt": "1\n", "c.txt": "(gone)"}, nil,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, c.before)
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
			d := newDesk(t, files{
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
	d := newDesk(t, files{"a.txt": "1\n2\n3\n", "b.txt": "b\n"})
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
	d := newDesk(t, files{"run.sh": "1\n", "plain.sh": "1\n", "old.sh": "1\n"})
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
	d := newDesk(t, files{"a.txt": "1\n", "old.txt": "2\n"})
	d.chmod("a.txt", 0o755)
	before := d.tree()
	d.refused("apply_patch", args{"patch": sections("*** Update File: a.txt\n@@\n-1\n+one\n" +
		"*** Update File: old.txt\n*** Move to: deep/er/new.txt\n" +
		"*** Add File: x\n+a file\n*** Add File: x/y/z.txt\n+below it\n")},
		"x/y", "taken back", "no file is changed")
	sameTree(t, before, d.tree())
	d.do("apply_patch", args{"patch": sections("*** Update File: a.txt\n@@\n-1\n+one\n")})
}

// Patches that git makes of random files do what they say, in both directions.
func TestPatchesFromGit(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 25 {
		old := randomLines(rng)
		d := newDesk(t, files{"a.txt": old, "d/b c.txt": old})
		gitIn(t, d.dir, "init", "-q")
		gitIn(t, d.dir, "config", "core.autocrlf", "false")
		gitIn(t, d.dir, "add", ".")
		changed := mutate(rng, old)
		d.put("a.txt", changed)
		must(t, os.Rename(d.path("d/b c.txt"), d.path("é.txt")))
		d.put("é.txt", mutate(rng, old))
		gitIn(t, d.dir, "add", "-N", ".")
		wanted := d.tree()
		patch := gitIn(t, d.dir, "diff", fmt.Sprintf("-U%d", 1+i%4), "-M", "--binary")
		if patch == "" {
			continue
		}
		d.put("a.txt", old)
		d.put("d/b c.txt", old)
		must(t, os.Remove(d.path("é.txt")))
		if res := d.call("apply_patch", args{"patch": patch}); res.Error {
			t.Fatalf("%s\n%q\n%s", res.Output, old, patch)
		}
		got := d.tree()
		for name := range wanted {
			if !strings.HasPrefix(name, "root/.git") && got[name] != wanted[name] {
				t.Fatalf("%s is %q, want %q\nbefore %q\n%s", name, got[name], wanted[name], old, patch)
			}
		}
	}
}

// randomLines is a text of few different lines, with any endings.
func randomLines(rng *rand.Rand) string {
	var b strings.Builder
	eol := []string{"\n", "\r\n", "\n", "\n"}[rng.IntN(4)]
	for range 1 + rng.IntN(30) {
		fmt.Fprintf(&b, "%s%s", []string{"x", "y", "-- z", "", "}", "++ z", fmt.Sprint(rng.IntN(9))}[rng.IntN(7)], eol)
	}
	return strings.TrimSuffix(b.String()+"end"+eol, strings.Repeat(eol, rng.IntN(2)))
}

// mutate deletes, changes and adds some lines.
func mutate(rng *rand.Rand, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		switch rng.IntN(8) {
		case 0:
		case 1:
			b.WriteString("changed " + line)
		case 2:
			b.WriteString("added\n" + line)
		default:
			b.WriteString(line)
		}
	}
	if rng.IntN(4) == 0 {
		b.WriteString("\nlast")
	}
	return b.String()
}

// FuzzPatch feeds both parsers anything: a patch that is refused has changed
// nothing, and nothing is ever written outside or in the repository's record.
func FuzzPatch(f *testing.F) {
	f.Add("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n\\ No newline at end of file\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n")
	f.Add("diff --git a/a.txt b/b/c.txt\nold mode 100644\nnew mode 100755\nsimilarity index 90%\nrename from a.txt\nrename to b/c.txt\n@@ -1 +1 @@\n-1\n+one\n")
	f.Add(sections("*** Update File: a.txt\n*** Move to: d/m.txt\n@@ 1\n@@ 2\n 2\n-3\n+three\n*** End of File\n*** Add File: n.txt\n+x\n*** Delete File: empty.txt\n"))
	f.Add("```\n*** Add File: ../../out.txt\n+x\n*** Add File: .git/config\n+x\n*** Update File: link\n-1\n+2\n```")
	f.Fuzz(func(t *testing.T, patch string) {
		d := newDesk(t, files{"a.txt": "1\n2\n3\n", "d/b.txt": "x\r\ny", "empty.txt": "", ".git/config": "[core]\n", "../beside/y.txt": "y"})
		d.symlink("../beside", "link")
		before := d.tree()
		res := d.call("apply_patch", args{"patch": patch})
		after := d.tree()
		if res.Error {
			sameTree(t, before, after)
		}
		for _, tree := range []map[string]string{before, after} {
			for name := range tree {
				if inside := strings.HasPrefix(name, "root/"); (!inside || strings.HasPrefix(name+"/", "root/.git/")) && before[name] != after[name] {
					t.Errorf("%s became %q", name, after[name])
				}
				if strings.HasPrefix(filepath.Base(name), ".plan-") {
					t.Errorf("%s is left over", name)
				}
			}
		}
		for name, hash := range res.Files {
			if got := d.content(name); got == "(gone)" && hash != "" || got != "(gone)" && hash != sha(got) {
				t.Errorf("%s is told as %s", name, hash)
			}
		}
	})
}
