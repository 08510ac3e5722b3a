package tools_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan/tools"
)

// Patches that git makes of random files do what they say, in both directions.
func TestPatchesFromGit(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 25 {
		old := randomLines(rng)
		d := newFixture(t, files{"a.txt": old, "d/b c.txt": old})
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

// TestAPatchNamesWhatItChanges: what rules judge of a patch, what the tool says
// that it changed and what is different afterwards are the same files, whatever
// git says of a file: hunks, a new name, a mode, nothing but a deletion.
func TestAPatchNamesWhatItChanges(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 12 {
		had := files{}
		for i := range 6 {
			had[fmt.Sprintf("d%d/f %d.txt", i%2, i)] = strings.Repeat(fmt.Sprintln("line", i), 6)
		}
		had["empty"] = ""
		d := newFixture(t, had)
		gitIn(t, d.dir, "init", "-q")
		gitIn(t, d.dir, "config", "core.autocrlf", "false")
		gitIn(t, d.dir, "add", ".")
		gitIn(t, d.dir, "-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "x")
		for name := range had {
			path := d.path(name)
			switch rng.IntN(6) {
			case 0:
				must(t, os.Remove(path))
			case 1:
				must(t, os.Rename(path, path+" moved"))
			case 2:
				must(t, os.Chmod(path, 0o755))
			case 3:
				d.put(name, mutate(rng, had[name])+"more\n")
			case 4:
				must(t, os.Rename(path, d.path("é"+filepath.Base(name))))
				d.put("é"+filepath.Base(name), had[name]+"more\n")
			}
		}
		gitIn(t, d.dir, "add", "-A")
		patch := gitIn(t, d.dir, "diff", "--cached", "-M")
		var want []string
		for _, entry := range strings.Split(gitIn(t, d.dir, "diff", "--cached", "--no-renames", "--name-only", "-z"), "\x00") {
			if entry != "" {
				want = append(want, entry)
			}
		}
		gitIn(t, d.dir, "reset", "-q", "--hard")
		if patch == "" {
			continue
		}
		for name := range had {
			d.call("read", args{"path": name}) // a model deletes what it has read
		}
		raw, err := json.Marshal(args{"patch": patch})
		must(t, err)
		said := tools.Describe("apply_patch", raw, d.dir).Paths
		res := d.call("apply_patch", args{"patch": patch})
		if res.Error {
			t.Fatalf("%s\n%s", res.Output, patch)
		}
		slices.Sort(want)
		slices.Sort(said)
		if got := slices.Sorted(maps.Keys(res.Files)); !slices.Equal(got, want) || !slices.Equal(said, want) {
			t.Fatalf("changed %q\ntold %q\njudged %q\n%s", want, got, said, patch)
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
		d := newFixture(t, files{"a.txt": "1\n2\n3\n", "d/b.txt": "x\r\ny", "empty.txt": "", ".git/config": "[core]\n", "../beside/y.txt": "y"})
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
