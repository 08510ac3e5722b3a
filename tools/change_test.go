package tools_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/loop"
)

// verifiableCall is a call that changes files, with what there is before.
type verifiableCall struct {
	name   string
	tool   string
	args   args
	before files
	modes  map[string]fs.FileMode
	// lossy says that some mixes of before and after leave nothing to make the
	// rest from; carrying the call out never comes by them.
	lossy bool
}

var verifiableCalls = []verifiableCall{
	{name: "a new file", tool: "write", args: args{"path": "deep/er/a.txt", "content": "new\n"}},
	{name: "a whole file", tool: "write", args: args{"path": "a.txt", "content": "new\r\n"}, before: files{"a.txt": "old\n"}},
	{name: "nothing new", tool: "write", args: args{"path": "a.txt", "content": "old\n"}, before: files{"a.txt": "old\n"}},
	{name: "an edit", tool: "edit", args: args{"path": "a.txt", "old_string": "5", "new_string": "five"}, before: files{"a.txt": tenLines}, modes: map[string]fs.FileMode{"a.txt": 0o750}},
	{name: "an edit that repeats", tool: "edit", args: args{"path": "a.txt", "old_string": "x", "new_string": "xx", "replace_all": true}, before: files{"a.txt": "x x\n"}},
	{name: "an empty file", tool: "edit", args: args{"path": "a.txt", "old_string": "", "new_string": "text\n"}, before: files{"a.txt": ""}},
	{
		name: "a patch of everything", tool: "apply_patch", args: args{"patch": sections(
			"*** Update File: a.txt\n@@\n-1\n+one\n" +
				"*** Add File: new/b.txt\n+added\n" +
				"*** Delete File: c.txt\n" +
				"*** Update File: d.txt\n*** Move to: e.txt\n@@\n-1\n+moved\n")},
		before: files{"a.txt": tenLines, "c.txt": "gone\n", "d.txt": "1\n2\n"}, lossy: true,
	},
	{
		name: "a patch that copies and sets modes", tool: "apply_patch", args: args{"patch": "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n" +
			"diff --git a/src.txt b/copy.txt\nsimilarity index 100%\ncopy from src.txt\ncopy to copy.txt\n" +
			"diff --git a/x.txt b/x.txt\n--- a/x.txt\n+++ b/x.txt\n@@ -1 +1 @@\n-1\n+2\n"},
		before: files{"run.sh": "#!/bin/sh\n", "src.txt": "copied\n", "x.txt": "1\n"},
	},
}

// verifiable returns a tool of a set that has seen the given files.
func (d *fixture) verifiable(name string, seen files) loop.Verifiable {
	d.t.Helper()
	hashes := map[string]string{}
	for path, content := range seen {
		sum := sha256.Sum256([]byte(content))
		hashes[path] = hex.EncodeToString(sum[:])
	}
	found, err := d.open(hashes).Tools(name)
	if err != nil {
		d.t.Fatal(err)
	}
	return found[0].(loop.Verifiable)
}

func inputOf(t *testing.T, a args) loop.Input {
	t.Helper()
	data, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return loop.Input{Call: "1", Key: "0123456789abcdef", Args: data, Update: func(string) {}}
}

// TestACallIsBroughtToItsEnd stops each call after any of its steps and
// carries its intent out in a new process: the files and what the model reads
// must be the same as without the stop, and never a mixture.
func TestACallIsBroughtToItsEnd(t *testing.T) {
	t.Parallel()
	for _, c := range verifiableCalls {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fresh := func() *fixture {
				d := newFixture(t, c.before)
				for name, mode := range c.modes {
					d.chmod(name, mode)
				}
				return d
			}
			whole, in := fresh(), inputOf(t, c.args)
			before := whole.tree()
			tool := whole.verifiable(c.tool, c.before)
			intent, err := tool.Prepare(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			sameTree(t, before, whole.tree())
			want, err := tool.Apply(t.Context(), in, intent)
			if err != nil || want.Error {
				t.Fatalf("%+v, %v", want, err)
			}
			after := whole.tree()
			plain := fresh()
			ran, err := plain.verifiable(c.tool, c.before).(loop.Tool).Run(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, ran); diff != "" {
				t.Errorf("without an intent the result is another one:\n%s", diff)
			}
			sameTree(t, after, plain.tree())

			conflicts := 0
			for mix := range 1 << len(intent.Files) {
				d := fresh()
				for i, f := range intent.Files {
					if mix&(1<<i) != 0 {
						d.take(whole, f.Path)
					}
				}
				if f := intent.Files[len(intent.Files)-1]; f.After != "" { // left behind by a killed rename
					d.put(filepath.Dir(f.Path)+"/.plan-"+in.Key+".tmp", "half of a fi")
				}
				stood := d.tree()
				got, err := d.verifiable(c.tool, c.before).Apply(t.Context(), in, stored(t, intent))
				if err != nil {
					t.Fatal(err)
				}
				if got.Status == "conflict" {
					conflicts++
					maps.DeleteFunc(stood, func(name, _ string) bool { return strings.HasSuffix(name, ".tmp") })
					sameTree(t, stood, d.tree())
					continue
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("mix %b: the result differs:\n%s", mix, diff)
				}
				sameTree(t, after, d.tree())
			}
			if conflicts > 0 && !c.lossy {
				t.Errorf("%d of %d mixes were not brought to an end", conflicts, 1<<len(intent.Files))
			}
		})
	}
}

// TestAPatchIsFinishedFromEveryStep goes through the mixes that a killed patch
// leaves: new files come first, then changed and then deleted ones.
func TestAPatchIsFinishedFromEveryStep(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(verifiableCalls, func(c verifiableCall) bool { return c.name == "a patch of everything" })
	c := verifiableCalls[i]
	whole, in := newFixture(t, c.before), inputOf(t, c.args)
	tool := whole.verifiable(c.tool, c.before)
	intent, err := tool.Prepare(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tool.Apply(t.Context(), in, intent); err != nil {
		t.Fatal(err)
	}
	steps := []string{"new/b.txt", "e.txt", "a.txt", "c.txt", "d.txt"}
	if len(steps) != len(intent.Files) {
		t.Fatalf("the intent has %d files: %+v", len(intent.Files), intent.Files)
	}
	for n := range len(steps) + 1 {
		d := newFixture(t, c.before)
		for _, name := range steps[:n] {
			d.take(whole, name)
		}
		res, err := d.verifiable(c.tool, c.before).Apply(t.Context(), in, intent)
		if err != nil || res.Error {
			t.Errorf("after %d steps: %+v, %v", n, res, err)
		}
		sameTree(t, whole.tree(), d.tree())
	}
}

// take brings one file to where another fixture has it.
func (d *fixture) take(from *fixture, name string) {
	d.t.Helper()
	data, err := os.ReadFile(from.path(name))
	if os.IsNotExist(err) {
		must(d.t, os.Remove(d.path(name)))
		return
	}
	must(d.t, err)
	d.put(name, string(data))
	d.chmod(name, from.mode(name).Perm())
}

// stored is an intent as the journal gives it back.
func stored(t *testing.T, intent plan.Intent) plan.Intent {
	t.Helper()
	data, err := plan.MarshalCompact(intent)
	if err != nil {
		t.Fatal(err)
	}
	var out plan.Intent
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestNothingIsWrittenOver lets another process change a file between the intent and
// its settlement.
func TestNothingIsWrittenOver(t *testing.T) {
	t.Parallel()
	for _, c := range verifiableCalls {
		for _, part := range []string{"content", "gone", "link", "directory"} {
			t.Run(c.name+", "+part, func(t *testing.T) {
				t.Parallel()
				d, in := newFixture(t, c.before), inputOf(t, c.args)
				intent, err := d.verifiable(c.tool, c.before).Prepare(t.Context(), in)
				if err != nil {
					t.Fatal(err)
				}
				f := intent.Files[0]
				if part == "gone" && f.Before == "" {
					return // it is as before
				}
				_ = os.Remove(d.path(f.Path))
				switch part {
				case "content":
					d.put(f.Path, "somebody else was here\n")
				case "link":
					d.put("elsewhere.txt", c.before[f.Path])
					must(t, os.MkdirAll(filepath.Dir(d.path(f.Path)), 0o755))
					must(t, os.Symlink(d.path("elsewhere.txt"), d.path(f.Path)))
				case "directory":
					must(t, os.MkdirAll(d.path(f.Path), 0o755))
				}
				stood := d.tree()
				res, err := d.verifiable(c.tool, c.before).Apply(t.Context(), in, intent)
				if err != nil || res.Status != "conflict" || !res.Error || len(res.Files) > 0 {
					t.Fatalf("%+v, %v", res, err)
				}
				d.says(res, f.Path, "Nothing was written over", "Read")
				if part == "content" {
					d.says(res, f.Path+": changed by somebody else")
				}
				sameTree(t, stood, d.tree())
			})
		}
	}
}

// TestOnlyOwnLeftoversAreSwept: a name that is almost ours belongs to others.
func TestOnlyOwnLeftoversAreSwept(t *testing.T) {
	t.Parallel()
	d := newFixture(t, files{"a.txt": "old\n", ".plan-0.tmp": "mine", ".plan-0123456789abcdef.tmp.txt": "mine", ".plan-0123456789abcdef.tmp": "half"})
	in := inputOf(t, args{"path": "a.txt", "content": "new\n"})
	tool := d.verifiable("write", files{"a.txt": "old\n"})
	intent, err := tool.Prepare(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	d.put("a.txt", "new\n") // another process has done it
	if res, err := d.verifiable("write", nil).Apply(t.Context(), in, intent); err != nil || res.Error {
		t.Fatalf("%+v, %v", res, err)
	}
	d.has(".plan-0123456789abcdef.tmp", "(gone)")
	d.has(".plan-0.tmp", "mine")
	d.has(".plan-0123456789abcdef.tmp.txt", "mine")
}

// TestACallThatFailsHasAnEmptyIntent: it fails again with the same words,
// whatever the tree looks like by then.
func TestACallThatFailsHasAnEmptyIntent(t *testing.T) {
	t.Parallel()
	d := newFixture(t, files{"a.txt": "old\n"})
	in := inputOf(t, args{"path": "a.txt", "old_string": "nowhere", "new_string": "x"})
	tool := d.verifiable("edit", files{"a.txt": "old\n"})
	intent, err := tool.Prepare(t.Context(), in)
	if err != nil || len(intent.Files) != 0 || !intent.Error {
		t.Fatalf("%+v, %v", intent, err)
	}
	d.put("a.txt", "nowhere\n")
	res, err := d.verifiable("edit", nil).Apply(t.Context(), in, intent)
	if err != nil || !res.Error || res.Output != intent.Output {
		t.Fatalf("%+v, %v", res, err)
	}
	d.has("a.txt", "nowhere\n")
}

// TestAMarkIsNoSecret: a model that writes back what it was shown of a file
// must not put the mark where the secret is.
func TestAMarkIsNoSecret(t *testing.T) {
	t.Parallel()
	const value = "sk-1234567890"
	mark := config.Redactor([]config.Secret{{Name: "API_KEY", Value: value}})(value)
	if !strings.HasPrefix(mark, plan.SecretMark) {
		t.Fatalf("the mark is %s", mark)
	}
	d := newFixture(t, files{".env": "A=1\nKEY=" + value + "\n", "doc.txt": "a " + mark + "\n1\n"})
	d.read(".env", "doc.txt")
	d.refused("write", args{"path": ".env", "content": "A=2\nKEY=" + mark + "\n"}, ".env", "not shown", "Nothing was changed")
	d.refused("edit", args{"path": ".env", "old_string": "A=1", "new_string": "A=2\nKEY2=" + mark}, ".env")
	d.refused("apply_patch", args{"patch": sections("*** Add File: new.txt\n+" + mark + "\n")}, "new.txt")
	d.has(".env", "A=1\nKEY="+value+"\n")
	d.has("new.txt", "(gone)")
	d.do("edit", args{"path": ".env", "old_string": "A=1", "new_string": "A=2"})
	d.has(".env", "A=2\nKEY="+value+"\n")
	d.do("edit", args{"path": "doc.txt", "old_string": "\n1\n", "new_string": "\n2\n"}) // one that is there stays
	d.do("apply_patch", args{"patch": sections("*** Update File: doc.txt\n*** Move to: moved.txt\n@@\n-2\n+3\n")})
}

// TestAStoppedSettlement: what was not begun is not begun any more, what was
// begun is finished.
func TestAStoppedSettlement(t *testing.T) {
	t.Parallel()
	before := files{"a.txt": "1\n", "b.txt": "1\n"}
	in := inputOf(t, args{"patch": sections("*** Update File: a.txt\n@@\n-1\n+2\n*** Update File: b.txt\n@@\n-1\n+2\n")})
	for _, begun := range []bool{false, true} {
		d := newFixture(t, before)
		intent, err := d.verifiable("apply_patch", before).Prepare(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if begun {
			d.put("a.txt", "2\n")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		res, err := d.verifiable("apply_patch", before).Apply(ctx, in, intent)
		if err != nil || (res.Status == "cancelled") == begun {
			t.Errorf("begun %v: %+v, %v", begun, res, err)
		}
		want := map[bool]string{false: "1\n", true: "2\n"}[begun]
		d.has("a.txt", want)
		d.has("b.txt", want)
	}
}
