package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plan-engine/plan/tools"
)

// TestCommandsSayWhatTheyChanged: of files that were shown, as a diff that counts as
// read; of others nothing.
func TestCommandsSayWhatTheyChanged(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a line\n", 3000)
	d := newFixture(t, files{
		"a.txt":     "one\n",
		"gone.txt":  "here\n",
		"long.txt":  long,
		"same.txt":  "as it was\n",
		"crlf.txt":  "uno\r\ndos\r\n",
		"secret.go": "not shown\n",
	})
	d.symlink("a.txt", "link.txt")
	d.read("a.txt", "gone.txt", "long.txt", "same.txt", "crlf.txt", "link.txt")
	res := d.call("bash", args{"command": "echo two >>a.txt; rm gone.txt; sed -i s/line/other/ long.txt; echo x >>secret.go; " +
		"touch same.txt; sed -i 's/\\r//' crlf.txt; false"})
	d.says(res, "+two", "gone.txt is gone", "long.txt has changed: read it again", `-uno\r`, "\n+uno\n", "counts as read")
	for _, not := range []string{"secret.go", "same.txt", "other\n-"} {
		if strings.Contains(res.Output, not) {
			t.Errorf("it says %q:\n%s", not, res.Output)
		}
	}
	if strings.Count(res.Output, "+two") != 1 || !strings.HasSuffix(res.Output, "]\nexit status 1") {
		t.Errorf("it says\n%s", res.Output)
	}
	if len(res.Files) != 4 || res.Files["gone.txt"] != "" || res.Files["a.txt"] == "" || res.Files["long.txt"] != "" {
		t.Errorf("these count as shown: %v", res.Files)
	}
	d.do("write", args{"path": "a.txt", "content": "three\n"})
	d.refused("write", args{"path": "long.txt", "content": "x"}, "has changed")
	d.refused("write", args{"path": "secret.go", "content": "x"}, "has not been read")
	if again := d.do("bash", args{"command": "true"}); strings.Contains(again.Output, "a.txt") {
		t.Errorf("it is said twice:\n%s", again.Output)
	}
}

// TestWhatIsToldOfChangesIsBounded however many files a command changes.
func TestWhatIsToldOfChangesIsBounded(t *testing.T) {
	t.Parallel()
	tree := files{}
	for i := range 60 {
		tree[fmt.Sprintf("f%02d.txt", i)] = strings.Repeat(fmt.Sprintf("line of %d\n", i), 40)
	}
	d := newFixture(t, tree)
	for name := range tree {
		d.read(name)
	}
	res := d.do("bash", args{"command": "sed -i s/line/row/ *.txt"})
	d.says(res, "read it again", "and 2")
	if len(res.Output) > 16<<10 || len(res.Files) < 5 || len(res.Files) > 30 {
		t.Errorf("%d bytes are told, %d files count as read", len(res.Output), len(res.Files))
	}
}

// TestSecretsAreNotToldAsChanges: known ones are replaced before lines are cut.
func TestSecretsAreNotToldAsChanges(t *testing.T) {
	t.Parallel()
	const secret = "sk-0123456789"
	dir := plant(t, files{"env": "KEY=" + secret + "\nnext\n"})
	shown := newFixture(t, nil)
	shell := tools.Config{
		Root:   dir,
		Shell:  shown.shell(),
		Redact: func(text string) string { return strings.ReplaceAll(text, secret, "«secret»") },
	}
	set := openSet(t, shell)
	ask(t, set, "read", map[string]any{"path": "env"})
	res := ask(t, set, "bash", map[string]any{"command": "sed -i s/next/last/ env"})
	if strings.Contains(res.Output, "0123") || !strings.Contains(res.Output, "+last") || !strings.Contains(res.Output, " KEY=«secret»") {
		t.Errorf("it says\n%s", res.Output)
	}
}

// TestASetKnowsWhatTheOneBeforeItKnew: by the contents, while the process lives, and
// where the files are still as they were in any other.
func TestASetKnowsWhatTheOneBeforeItKnew(t *testing.T) {
	t.Parallel()
	d := newFixture(t, files{"a.txt": "one\n", "b.txt": "one\n"})
	seen := d.do("read", args{"path": "a.txt"}).Files
	seen["b.txt"] = d.do("read", args{"path": "b.txt"}).Files["b.txt"]

	later := d.open(seen) // in another process
	d.put("a.txt", "one\ntwo\n")
	if text := later.Changed(); !strings.Contains(text, "+two") || later.Changed() != "" {
		t.Errorf("what changed since it was opened: %s", text)
	}
	gone := d.open(seen) // the text is not there any more
	if text := gone.Changed(); !strings.Contains(text, "a.txt has changed: read it again") {
		t.Errorf("what changed before it was opened: %s", text)
	}
	d.put("b.txt", "one\nthree\n")
	next := openSet(t, tools.Config{Root: d.dir, Seen: seen, Before: d.set})
	if text := next.Changed(); !strings.Contains(text, "+two") || !strings.Contains(text, "+three") {
		t.Errorf("what changed between two sets of a process: %s", text)
	}
	if text := d.set.Changed(); text != "" {
		t.Errorf("they know different things: %s", text)
	}
}
