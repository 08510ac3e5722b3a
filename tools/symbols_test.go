package tools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/tools"
)

// TestSymbolsOutline reads a file of every language; the sources and what is
// expected of them are in testdata/symbols.
func TestSymbolsOutline(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("testdata/symbols/*.src")
	must(t, err)
	if len(sources) < 9 {
		t.Fatalf("only %v", sources)
	}
	for _, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".src")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, err := os.ReadFile(source)
			must(t, err)
			want, err := os.ReadFile(strings.TrimSuffix(source, ".src") + ".want")
			must(t, err)
			set := openSet(t, tools.Config{Root: plant(t, files{name: string(code)})})
			sameText(t, ask(t, set, "symbols", args{"path": name}).Output, string(want))
		})
	}
}

func TestSymbolsQuery(t *testing.T) {
	t.Parallel()
	set := openSet(t, tools.Config{Root: plantGit(t, files{
		".gitignore": "gen.go\n",
		"gen.go":     "package p\nfunc Load() {}\n",
		"b/b.go":     "package b\n\nfunc (c *Config[T]) Load() error { return nil }\nfunc Reload() {}\nfunc LoadAll() {}\n",
		"a/a.py":     "class Config:\n    def load(self):\n        pass\n",
		"c.h":        "class Box { void load(int n); };\nvoid Load(void);\n",
		"c.cc":       "void Box::load(int n) {}\n",
		"notes.txt":  "func Load\n",
	})})
	cases := []struct {
		name string
		args args
		want string
	}{
		{
			"best first", args{"query": "Load"}, "b/b.go\n3-3 method Config.Load  func (c *Config[T]) Load() error\n" +
				"c.h\n2-2 declaration Load  void Load(void)\n" +
				"a/a.py\n2-3 method Config.load  def load(self)\n" +
				"c.cc\n1-1 method Box.load  void Box::load(int n)\n" +
				"c.h\n1-1 declaration Box.load  void load(int n)\n" +
				"b/b.go\n5-5 function LoadAll  func LoadAll()\n" +
				"4-4 function Reload  func Reload()\n",
		},
		{"member", args{"query": "Config.load"}, "a/a.py\n2-3 method Config.load  def load(self)\nb/b.go\n3-3 method Config.Load  func (c *Config[T]) Load() error\n"},
		{"member in C++", args{"query": "Box::load"}, "c.cc\n1-1 method Box.load  void Box::load(int n)\nc.h\n1-1 declaration Box.load  void load(int n)\n"},
		{"below", args{"query": "load", "path": "a"}, "a/a.py\n2-3 method Config.load  def load(self)\n"},
		{"ignored but named", args{"query": "load", "path": "gen.go"}, "gen.go\n2-2 function Load  func Load()\n"},
		{"none", args{"query": "Save"}, "no definition is named like Save in 4 files (Go, Python, JavaScript, TypeScript, Rust, Java, C, C++); grep finds other mentions\n"},
		{"directory", args{"path": "b"}, "b/b.go\n3-3 method Config.Load  func (c *Config[T]) Load() error\n4-4 function Reload  func Reload()\n5-5 function LoadAll  func LoadAll()\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			res := ask(t, set, "symbols", c.args)
			sameText(t, res.Output, c.want)
			if res.Error {
				t.Error("told as an error")
			}
		})
	}
	refused(t, ask(t, set, "symbols", args{"path": "notes.txt"}), "notes.txt", "Go, Python", "grep")
	refused(t, ask(t, set, "symbols", args{"query": "::"}), "no name")
}

func TestSymbolsSurvive(t *testing.T) {
	t.Parallel()
	set := openSet(t, tools.Config{Root: plant(t, files{
		"broken.go":   "package p\n\nfunc Good() {}\n\nfunc Bad() { x := ; if }\n\ntype T struct{ x int }\n\nfunc After() { return }\n",
		"empty.go":    "",
		"junk.py":     "\xff\xfe def \x01 f(:\n)))\nclass A:\n  def ok(self): pass\n",
		"bin.js":      "a\x00b",
		"big.ts":      strings.Repeat("const a = 1;\n", 100_000),
		"latin.c":     "int caf\xe9(void) { return 0; }\nint ok(void) { return 1; }\n",
		"readme.text": "no code",
	})})
	out := ask(t, set, "symbols", args{"path": "broken.go"}).Output
	for _, want := range []string{"broken.go\n3-3 function Good", "struct T", "function After"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	sameText(t, ask(t, set, "symbols", args{"path": "empty.go"}).Output, "no definitions in 1 file\n")
	if out := ask(t, set, "symbols", args{"path": "junk.py"}).Output; !strings.Contains(out, "A.ok") {
		t.Errorf("no A.ok in\n%s", out)
	}
	if out := ask(t, set, "symbols", args{"query": "ok"}).Output; !strings.Contains(out, "latin.c\n2-2 function ok") {
		t.Errorf("no ok in\n%s", out)
	}
	refused(t, ask(t, set, "symbols", args{"path": "bin.js"}), "bin.js", "binary")
	refused(t, ask(t, set, "symbols", args{"path": "big.ts"}), "big.ts", "too large", "1.0 MB")
}

func TestSymbolsBounds(t *testing.T) {
	t.Parallel()
	tree := files{}
	for i := range 150 {
		var b strings.Builder
		b.WriteString("package p\n")
		for j := range 10 {
			fmt.Fprintf(&b, "func Thing%d_%d() {}\n", i, j)
		}
		tree[fmt.Sprintf("f%03d.go", i)] = b.String()
	}
	set := openSet(t, tools.Config{Root: plant(t, tree)})
	out := ask(t, set, "symbols", args{}).Output
	if n := strings.Count(out, " function "); n != 400 || !strings.HasSuffix(out, "[400 definitions shown, up to f039.go; there are 150 files: give a path or a query]\n") {
		t.Errorf("%d definitions, ends with %q", n, out[len(out)-100:])
	}
	out = ask(t, set, "symbols", args{"query": "thing"}).Output
	if n := strings.Count(out, " function "); n != 100 || !strings.HasSuffix(out, "[1400 more definitions fit; give a longer name or a path]\n") {
		t.Errorf("%d definitions, ends with %q", n, out[len(out)-100:])
	}
}

// FuzzSymbols: no text breaks the tool, and what it says can be read.
func FuzzSymbols(f *testing.F) {
	sources, err := filepath.Glob("testdata/symbols/*.src")
	must(f, err)
	for i, source := range sources {
		code, err := os.ReadFile(source)
		must(f, err)
		f.Add(string(code), uint8(i))
	}
	dir := f.TempDir()
	set := openSet(f, tools.Config{Root: dir})
	f.Fuzz(func(t *testing.T, code string, pick uint8) {
		name := strings.TrimSuffix(filepath.Base(sources[int(pick)%len(sources)]), ".src")
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(code), 0o644))
		res := ask(t, set, "symbols", args{"path": name})
		lines := strings.Count(code, "\n") + 1
		for _, l := range strings.Split(res.Output, "\n") {
			var first, last int
			rest, ok := strings.CutPrefix(l, name+":")
			if !ok {
				continue
			}
			if _, err := fmt.Sscanf(rest, "%d-%d ", &first, &last); err != nil || first < 1 || last < first || last > lines {
				t.Fatalf("%q in a text of %d lines", l, lines)
			}
		}
	})
}
