package tools_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/loop"
)

func TestWriteCreates(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	res := d.do("write", args{"path": "a/b/c.txt", "content": "one\ntwo"})
	d.says(res, "created a/b/c.txt", "2 lines", "7 bytes")
	d.has("a/b/c.txt", "one\ntwo")
	if got := d.mode("a/b/c.txt"); got&^0o644 != 0 || got&0o600 != 0o600 {
		t.Errorf("mode %v, want 0644 less the umask", got)
	}
	if diff := cmp.Diff(map[string]string{"a/b/c.txt": sha("one\ntwo")}, res.Files); diff != "" {
		t.Error(diff)
	}
	// What it wrote it knows.
	d.do("write", args{"path": "a/b/c.txt", "content": ""})
	d.has("a/b/c.txt", "")
}

func TestWriteNeedsToHaveRead(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"a.txt": "old\n"})
	d.refused("write", args{"path": "a.txt", "content": "new\n"}, "a.txt", "has not been read", "Read it first")
	d.has("a.txt", "old\n")
	d.read("a.txt")
	res := d.do("write", args{"path": "a.txt", "content": "new\nnewer\n"})
	d.says(res, "replaced a.txt", "2 lines, 10 bytes", "before: 1 line, 4 bytes")
	d.has("a.txt", "new\nnewer\n")
}

func TestWriteRefusesWhatChangedSince(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"a.txt": "one\ntwo\nthree\n"})
	d.read("a.txt")
	d.put("a.txt", "one\n2\nthree\n")
	d.refused("write", args{"path": "a.txt", "content": "x\n"}, "has changed", "-two", "+2", "Read it again")
	d.refused("edit", args{"path": "a.txt", "old_string": "one", "new_string": "1"}, "has changed", "-two", "+2")
	d.refused("apply_patch", args{"patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n"}, "has changed", "-two", "+2")
	d.has("a.txt", "one\n2\nthree\n")
	d.read("a.txt")
	d.do("write", args{"path": "a.txt", "content": "x\n"})
	d.has("a.txt", "x\n")
}

// A resumed conversation has the hashes, not the texts.
func TestResumedConversationKnowsByHash(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"a.txt": "old\n"})
	set := d.open(map[string]string{"a.txt": sha("older\n")})
	res := d.callOn(set, "write", args{"path": "a.txt", "content": "new\n"})
	if !res.Error || !strings.Contains(res.Output, "has changed") {
		t.Errorf("got %q", res.Output)
	}
	set = d.open(map[string]string{"a.txt": sha("old\n")})
	if res := d.callOn(set, "write", args{"path": "a.txt", "content": "new\n"}); res.Error {
		t.Error(res.Output)
	}
	d.has("a.txt", "new\n")
}

func TestLargeFileIsRememberedByHash(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("0123456789\n", 40_000)
	d := newFixture(t, map[string]string{"big.txt": big})
	d.read("big.txt")
	d.put("big.txt", big+"more\n")
	res := d.refused("edit", args{"path": "big.txt", "old_string": "x", "new_string": "y"}, "has changed", "Read it again")
	if strings.Contains(res.Output, "+more") {
		t.Error("a large text was kept")
	}
	huge := strings.Repeat(big, 20) // more than all that is kept
	d.do("write", args{"path": "huge.txt", "content": huge})
	d.put("huge.txt", huge+"more\n")
	if res := d.refused("write", args{"path": "huge.txt", "content": ""}, "has changed"); strings.Contains(res.Output, "+more") {
		t.Error("a huge text was kept")
	}
}

// More is read than is kept: the oldest texts go, the hashes stay.
func TestKeptTextsAreBounded(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	text := strings.Repeat("x", 200<<10)
	for i := range 50 {
		d.do("write", args{"path": string(rune('A'+i)) + ".txt", "content": text})
	}
	d.put("A.txt", "first")
	if res := d.refused("write", args{"path": "A.txt", "content": ""}, "has changed"); strings.Contains(res.Output, "+first") {
		t.Error("the oldest text was kept")
	}
	last := string(rune('A'+49)) + ".txt"
	d.put(last, "last")
	d.refused("write", args{"path": last, "content": ""}, "has changed", "+last")
}

func TestLongChangeIsCut(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"a.txt": "old\n"})
	d.read("a.txt")
	d.put("a.txt", strings.Repeat("line of text\n", 5000))
	res := d.refused("write", args{"path": "a.txt", "content": ""}, "has changed", "left out")
	if len(res.Output) > 6000 {
		t.Errorf("%d bytes of answer", len(res.Output))
	}
}

func TestWriteUnchanged(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"a.txt": "same\n"})
	before, err := os.Stat(d.path("a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	d.says(d.do("write", args{"path": "a.txt", "content": "same\n"}), "unchanged")
	after, err := os.Stat(d.path("a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) {
		t.Error("the file was replaced")
	}
}

func TestWriteIsExact(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"a.txt": "\uFEFFone\r\ntwo\r\n"})
	d.read("a.txt")
	d.says(d.do("write", args{"path": "a.txt", "content": "one\ntwo"}), "CRLF")
	d.has("a.txt", "one\ntwo")
	d.do("write", args{"path": "a.txt", "content": "\uFEFFa\r\nb\n"})
	d.has("a.txt", "\uFEFFa\r\nb\n")
}

func TestModesAreKept(t *testing.T) {
	t.Parallel()
	for tool, a := range map[string]args{
		"write":       {"path": "run.sh", "content": "new\n"},
		"edit":        {"path": "run.sh", "old_string": "old", "new_string": "new"},
		"apply_patch": {"patch": "*** Begin Patch\n*** Update File: run.sh\n@@\n-old\n+new\n*** End Patch\n"},
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t, map[string]string{"run.sh": "old\n"})
			d.chmod("run.sh", 0o777) // more than the umask allows
			d.read("run.sh")
			d.do(tool, a)
			d.has("run.sh", "new\n")
			if got := d.mode("run.sh"); got != 0o777 {
				t.Errorf("mode %v", got)
			}
		})
	}
}

// everyWriter is a call of each tool that would change or make the file.
func everyWriter(path string) map[string]args {
	return map[string]args{
		"write":       {"path": path, "content": "new\n"},
		"edit":        {"path": path, "old_string": "old", "new_string": "new"},
		"apply_patch": {"patch": "*** Begin Patch\n*** Add File: " + path + "\n+new\n*** End Patch\n"},
	}
}

func TestWhatIsNeverWritten(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ path, words string }{
		"git":             {".git/config", ".git"},
		"git in caps":     {".GIT/hooks/pre-commit", ".git"},
		"nested git":      {"sub/.git/config", ".git"},
		"git as a file":   {".git", ".git"},
		"git by a link":   {"hooks/pre-commit", ".git"},
		"git round about": {"sub/../.git/config", ".git"},
		"outside":         {"../outside.txt", "outside"},
		"absolute":        {"/outside.txt", "outside"},
		"link out":        {"out.txt", "outside"},
		"absolute link":   {"etc/out.txt", "outside"},
		"link loop":       {"loop", "too many"},
		"directory":       {"sub", "directory"},
		"root":            {".", "directory"},
		"empty":           {" ", "empty"},
		"below a file":    {"a.txt/b.txt", "not a directory"},
		"pipe":            {"pipe", "pipe"},
		"read-only":       {"locked.txt", "read-only"},
		"name too long":   {strings.Repeat("x", 300), "too long"},
		"NUL":             {"a\x00b", "invalid"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t, map[string]string{
				".git/config": "old", "sub/.git/config": "old", "sub/b.txt": "old", "a.txt": "old", "locked.txt": "old",
			})
			d.put("../outside.txt", "old")
			d.put(".git/hooks/pre-commit", "old")
			d.symlink(".git/hooks", "hooks")
			d.symlink("../outside.txt", "out.txt")
			d.symlink(filepath.Dir(d.dir), "etc")
			d.symlink("loop", "loop")
			d.chmod("locked.txt", 0o444)
			mkfifo(t, d.path("pipe"))
			before := d.tree()
			for tool, a := range everyWriter(c.path) {
				if d.call(tool, a); !strings.Contains(strings.ToLower(d.call(tool, a).Output), c.words) {
					t.Errorf("%s does not say %q: %s", tool, c.words, d.call(tool, a).Output)
				}
				if !d.call(tool, a).Error {
					t.Errorf("%s did not fail", tool)
				}
			}
			if diff := cmp.Diff(before, d.tree()); diff != "" {
				t.Errorf("something was written:\n%s", diff)
			}
		})
	}
}

func TestLinksInsideAreFollowed(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"deep/er/real.txt": "old\n", "b.txt": ""})
	d.symlink("er/../er/real.txt", "deep/link.txt")
	d.symlink("deep/er", "dir")                      // dir/../x is deep/x, not x
	d.symlink("../link.txt", "deep/er/up.txt")       // through the directory it is in
	d.symlink(d.path("deep/er/real.txt"), "abs.txt") // absolute, but inside
	d.symlink("not/yet.txt", "dangling.txt")
	d.read("deep/link.txt")
	res := d.do("edit", args{"path": "deep/link.txt", "old_string": "old", "new_string": "1"})
	if diff := cmp.Diff(map[string]string{"deep/link.txt": sha("1\n"), "deep/er/real.txt": sha("1\n")}, res.Files); diff != "" {
		t.Error(diff)
	}
	d.do("edit", args{"path": "deep/er/real.txt", "old_string": "1", "new_string": "2"})
	d.do("edit", args{"path": "dir/up.txt", "old_string": "2", "new_string": "3"})
	d.do("edit", args{"path": "abs.txt", "old_string": "3", "new_string": "4"})
	d.do("edit", args{"path": "deep/link.txt", "old_string": "4", "new_string": "5"})
	d.has("deep/er/real.txt", "5\n")
	d.do("write", args{"path": "dangling.txt", "content": "made\n"})
	d.has("not/yet.txt", "made\n")
	for _, link := range []string{"deep/link.txt", "dir", "deep/er/up.txt", "abs.txt", "dangling.txt"} {
		if d.mode(link)&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", link)
		}
	}
}

func TestCancelledBeforeItBegan(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, a := range everyWriter("a.txt") {
		found, err := d.set.Tools(name)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		res, err := found[0].Run(ctx, loop.Input{Args: data, Update: d.live})
		if err != nil || !res.Error || res.Status != "cancelled" {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	d.has("a.txt", "(gone)")
}

func TestWriteAgainWhatWasDeleted(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"a.txt": "old\n"})
	d.read("a.txt")
	if err := os.Remove(d.path("a.txt")); err != nil {
		t.Fatal(err)
	}
	d.says(d.do("write", args{"path": "a.txt", "content": "new\n"}), "created")
	d.has("a.txt", "new\n")
}
