package tools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plan-engine/plan/tools"
)

// TestSymbolsSeeChanges: an index that has looked at a tree knows at the next call
// whatever has happened to it since, also where every file had stood for long.
func TestSymbolsSeeChanges(t *testing.T) {
	t.Parallel()
	dir := plantGit(t, files{
		".gitignore":   "ignored/\n",
		"a.go":         "package p\nfunc Old() {}\n",
		"sub/b.go":     "package p\nfunc Kept() { Old() }\n",
		"sub/c.go":     "package p\nfunc Other() {}\n",
		"ignored/d.go": "package p\nfunc Hidden() {}\n",
		"deep/x/e.go":  "package p\nfunc Deep() {}\n",
	})
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "commit", "-qm", "all")
	later := func() time.Time { return time.Now().Add(time.Hour) } // so that all has stood for long
	index := tools.NewIndex(filepath.Join(t.TempDir(), "tree.words"))
	set := openSet(t, tools.Config{Root: dir, Index: index, Now: later})
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	put := func(name, text string) {
		t.Helper()
		must(t, os.MkdirAll(filepath.Dir(at(name)), 0o755))
		must(t, os.WriteFile(at(name), []byte(text), 0o644))
	}
	is := func(after, query, want string) {
		t.Helper()
		for _, kind := range []string{"definition", "implementations"} {
			if got := shortened(ask(t, set, "symbols", args{"query": query, "kind": kind}).Output); got != want {
				t.Errorf("after %s: %s of %s: %q; want %q", after, kind, query, got, want)
			}
		}
	}
	is("nothing", "Old", "a.go 2-2 function Old")
	is("nothing", "Hidden", "")
	was, err := os.Stat(at("a.go"))
	must(t, err)
	put("a.go", "package p\nfunc New() {}\n") // as many bytes, at the same time
	must(t, os.Chtimes(at("a.go"), was.ModTime(), was.ModTime()))
	is("an edit", "New", "a.go 2-2 function New")
	is("an edit", "Old", "")
	put("sub/new.go", "package p\nfunc Added() {}\n")
	is("a new file", "Added", "sub/new.go 2-2 function Added")
	must(t, os.MkdirAll(at("empty/inner"), 0o755))
	is("an empty folder", "Inner", "")
	put("empty/inner/f.go", "package p\nfunc Inner() {}\n")
	is("a file in it", "Inner", "empty/inner/f.go 2-2 function Inner")
	must(t, os.Remove(at("sub/c.go")))
	is("a removal", "Other", "")
	must(t, os.Rename(at("deep"), at("moved")))
	is("a move", "Deep", "moved/x/e.go 2-2 function Deep")
	put(".gitignore", "moved/\n")
	is("another .gitignore", "Hidden", "ignored/d.go 2-2 function Hidden")
	is("another .gitignore", "Deep", "")
	put("sub/.gitignore", "new.go\n")
	is("a new .gitignore", "Added", "")
	gitIn(t, dir, "add", "-f", "sub/new.go")
	is("a change of git's index", "Added", "sub/new.go 2-2 function Added")
	put(".git/info/exclude", "a.go\nsub/b.go\n")
	gitIn(t, dir, "rm", "-q", "--cached", "-f", "sub/b.go")
	is("an exclusion", "Kept", "")
	must(t, os.Remove(at("a.go")))
	must(t, os.Symlink("/etc/passwd", at("a.go")))
	is("a link in its place", "New", "")
	must(t, index.Close())
}

// TestSymbolsIndexIsKept: what one process learned another one finds, damaged or not,
// and processes at the same time do not disturb each other. Nothing is written to the
// tree.
func TestSymbolsIndexIsKept(t *testing.T) {
	t.Parallel()
	tree := files{}
	for i := range 120 {
		tree[fmt.Sprintf("f%03d.go", i)] = fmt.Sprintf("package p\nfunc Thing%d() { Common() }\n", i)
	}
	dir := plantGit(t, tree)
	kept := filepath.Join(t.TempDir(), "home", "tree.words")
	question := args{"query": "Common", "kind": "callers", "path": ""}
	answer := func() string {
		index := tools.NewIndex(kept)
		set, err := tools.New(tools.Config{Root: dir, Index: index})
		must(t, err)
		out := ask(t, set, "symbols", question).Output
		must(t, set.Close())
		must(t, index.Close())
		return out
	}
	first := answer()
	whole, err := os.ReadFile(kept)
	must(t, err)
	sameText(t, answer(), first)
	for _, damaged := range [][]byte{nil, whole[:len(whole)/2], append([]byte("x"), whole...)} {
		must(t, os.WriteFile(kept, damaged, 0o600))
		sameText(t, answer(), first)
		if again, err := os.ReadFile(kept); err != nil || len(again) != len(whole) {
			t.Errorf("after damage there are %d bytes of %d, %v", len(again), len(whole), err)
		}
	}
	must(t, os.Remove(kept))
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			if got := answer(); got != first {
				t.Errorf("one of many: %q", got)
			}
		})
	}
	asking.Wait()
	if changed := gitIn(t, dir, "status", "--porcelain", "--ignored", "-uno"); changed != "" {
		t.Errorf("the tree is changed: %s", changed)
	}
}

// TestSymbolsBoundMentions: of a name that is everywhere some is shown of each file, and the
// answer says what is left out.
func TestSymbolsBoundMentions(t *testing.T) {
	t.Parallel()
	tree := files{}
	for i := range 300 {
		text := "package p\nfunc f() {\n"
		for range 12 {
			text += "\tCommon()\n"
		}
		tree[fmt.Sprintf("f%03d.go", i)] = text + "}\n"
	}
	set := openSet(t, tools.Config{Root: plantGit(t, tree)})
	out := ask(t, set, "symbols", args{"query": "Common", "kind": "callers"}).Output
	for _, want := range []string{
		"f000.go\n3 call in f  Common()\n",
		"12 call in f  Common()\n[2 more here; give this path to see them]\nf001.go\n",
		"\n[stopped after 10 of the 300 files that mention it; give a path]\n",
	} {
		mentions(t, out, want)
	}
	out = ask(t, set, "symbols", args{"query": "Common", "kind": "callers", "path": "f007.go"}).Output
	mentions(t, out, "14 call in f  Common()\n")
	refused(t, ask(t, set, "symbols", args{"kind": "callers"}), "query")
	refused(t, ask(t, set, "symbols", args{"kind": "uses", "query": "x"}), "references", "callers")
}

// TestSymbolsOfManyNames: the definition of a name is found among more files that use
// it, or define longer ones, than are parsed in a call.
func TestSymbolsOfManyNames(t *testing.T) {
	t.Parallel()
	tree := files{"zz.go": "package p\n\nfunc Common() {}\n"}
	padding := strings.Repeat("// words that nothing reads, so that a file is as long as files are\n", 900)
	for i := range 150 {
		tree[fmt.Sprintf("a/use%d.go", i)] = fmt.Sprint("package p\n\nfunc f() { return Common() }\n// ", i, padding)
		tree[fmt.Sprintf("b/long%d.go", i)] = fmt.Sprint("package p\n\nfunc CommonAndMore() {}\n// ", i, padding)
	}
	set := openSet(t, tools.Config{Root: plantGit(t, tree)})
	out := ask(t, set, "symbols", args{"query": "Common"}).Output
	mentions(t, out[len(out)-200:], "of 301 files; give a path]\n")
	if !strings.HasPrefix(out, "zz.go\n3-3 function Common  func Common()\n") {
		t.Errorf("the definition is not the first:\n%.300s", out)
	}
}

func mentions(t *testing.T, out, want string) {
	t.Helper()
	if !strings.Contains(out, want) {
		t.Errorf("no %q in\n%.1500s", want, out)
	}
}
