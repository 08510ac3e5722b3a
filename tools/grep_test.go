package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/tools"
)

// What rules do not let be read is not shown by a search that has not named it, which says
// so; a call that does is judged by the rules.
func TestGrepWithholds(t *testing.T) {
	t.Parallel()
	dir := plantGit(t, files{"a.txt": "key\n", "secret.txt": "key = 1\n", "sub/secret.txt": "key = 2\n"})
	gitIn(t, dir, "add", "-A")
	set := openSet(t, tools.Config{
		Root:     dir,
		Withheld: func(path string) bool { return filepath.Base(path) == "secret.txt" },
	})
	note := "files with matches were left out: rules ask about reading them or deny it; only a call that names one can be allowed]\n"
	for name, c := range map[string]struct {
		args args
		want string
	}{
		"all":    {args{"pattern": "key"}, "a.txt\n1:key\n[2 " + note},
		"glob":   {args{"pattern": "key", "glob": "secret.*"}, "no match for `key` in 0 files\n[2 " + note},
		"named":  {args{"pattern": "key", "path": "secret.txt"}, "secret.txt\n1:key = 1\n"},
		"no key": {args{"pattern": "other"}, "no match for `other` in 3 files\n"},
	} {
		if res := ask(t, set, "grep", c.args); res.Output != c.want {
			t.Errorf("%s: %q, want %q", name, res.Output, c.want)
		}
	}
}

// Nor does symbols show lines of them, whether the syntax or a server finds them.
func TestSymbolsWithholds(t *testing.T) {
	t.Parallel()
	withheld := func(path string) bool { return filepath.Base(path) == "secret.go" }
	set := openSet(t, tools.Config{
		Root: plantGit(t, files{
			"a.go":      "package a\n\nfunc Load() {}\n",
			"secret.go": "package a\n\nfunc LoadKey(key string) { Load(); use(\"hunter2\") }\n\ntype Key struct{ Loader }\n",
		}),
		Withheld: withheld,
	})
	served, _, _ := servedWith(t, tools.Config{Withheld: func(path string) bool { return path == "b.go" }}, "answers",
		"a.go:4:12 b.go:3:13 ../outside.go:1:1\na.go:6:5 b.go:4:6 b.go:5:1 impl.go:4:15\n")
	note := "[1 file with matches was left out: rules ask about reading them or deny it; only a call that names one can be allowed]\n"
	languages := "(Go, Python, JavaScript, TypeScript, Rust, Java, C, C++); grep finds other mentions\n"
	for name, c := range map[string]struct {
		set  *tools.Set
		args args
		want string
	}{
		"definitions": {set, args{"query": "load"}, "a.go\n3-3 function Load  func Load()\n" + note},
		"only there":  {set, args{"query": "LoadKey"}, "no definition is named like LoadKey in 2 files " + languages + note},
		"outline":     {set, args{"path": "."}, "a.go\n3-3 function Load  func Load()\n" + note},
		"references":  {set, args{"query": "Load", "kind": "references"}, "no reference to Load in 2 files " + languages + note},
		"callers":     {set, args{"query": "use", "kind": "callers"}, "no call of use in 2 files " + languages + note},
		"types": {
			set,
			args{"query": "Loader", "kind": "implementations"},
			"no implementation of Loader in 2 files " + languages + note,
		},
		"named": {
			set,
			args{"query": "Load", "kind": "callers", "path": "secret.go"},
			"secret.go\n3 call in LoadKey  func LoadKey(key string) { Load(); use(\"hunter2\") }\n",
		},
		"by a server": {
			served,
			args{"query": "C.Load", "kind": "references"},
			"no reference to C.Load in 4 files " + languages + "[1 more outside of the repository]\n" + note,
		},
	} {
		if res := ask(t, c.set, "symbols", c.args); res.Output != c.want {
			t.Errorf("%s: %q, want %q", name, res.Output, c.want)
		}
	}
}

func TestGrep(t *testing.T) {
	t.Parallel()
	dir := plantGit(t, files{
		".gitignore":      "ignored/\n*.log\n",
		"a.go":            "package a\n\nfunc Foo() {}\nfunc Bar() {}\n",
		"b/b.go":          "package b\r\n\r\nfunc foo() {}\r\n",
		"b/b.txt":         "func foo in text\n",
		"b/new\nline.txt": "odd name\n",
		"ignored/c.go":    "func foo() {}\n",
		"x.log":           "func foo\n",
		"bin.dat":         "func foo\x00\n",
		"lines.txt":       "1\n2\n3 hit\n4\n5\n6\n7 hit\n8\n9 hit\n10\n",
		"ends.txt":        "hit\nlast hit",
		"broken.txt":      "caf\xe9 hit!\n",
		"wide.txt":        strings.Repeat("a", 500) + "needle" + strings.Repeat("ü", 500) + "\n",
	})
	gitIn(t, dir, "add", "-A")
	must(t, os.Symlink("a.go", filepath.Join(dir, "link.go")))
	must(t, os.Symlink("b", filepath.Join(dir, "linked")))
	set := openSet(t, tools.Config{Root: dir})
	cases := []struct {
		name string
		args args
		want string
	}{
		{"tree", args{"pattern": `^func foo`}, "b/b.go\n3:func foo() {}\n\nb/b.txt\n1:func foo in text\n"},
		{"ignoring case", args{"pattern": `(?i)func foo\(\)`}, "a.go\n3:func Foo() {}\n\nb/b.go\n3:func foo() {}\n"},
		{"end of a CRLF line", args{"pattern": `\{\}$`, "path": "b"}, "b/b.go\n3:func foo() {}\n"},
		{"glob by name", args{"pattern": `foo`, "glob": "*.txt"}, "b/b.txt\n1:func foo in text\n"},
		{"glob by path", args{"pattern": `foo`, "glob": "b/**/*.go"}, "b/b.go\n3:func foo() {}\n"},
		{"glob below path", args{"pattern": `foo`, "glob": "/*.go", "path": "b"}, "b/b.go\n3:func foo() {}\n"},
		{"glob without a file", args{"pattern": `foo`, "glob": "*.rs"}, "no file below . matches the glob *.rs (12 files are there)\n"},
		{"one file", args{"pattern": `Bar`, "path": "a.go"}, "a.go\n4:func Bar() {}\n"},
		{"through a link", args{"pattern": `Bar`, "path": "link.go"}, "link.go\n4:func Bar() {}\n"},
		{"through a link to a directory", args{"pattern": `func foo\(`, "path": "linked"}, "linked/b.go\n3:func foo() {}\n"},
		{"ignored but named", args{"pattern": `foo`, "path": "x.log"}, "x.log\n1:func foo\n"},
		{"ignored directory but named", args{"pattern": `foo`, "path": "ignored"}, "ignored/c.go\n1:func foo() {}\n"},
		{"nothing", args{"pattern": `qux+`, "path": "b"}, "no match for `qux+` in 3 files\n"},
		{
			"context",
			args{"pattern": `hit`, "path": "lines.txt", "context": 1},
			"lines.txt\n2-2\n3:3 hit\n4-4\n--\n6-6\n7:7 hit\n8-8\n9:9 hit\n10-10\n",
		},
		{
			"context that touches",
			args{"pattern": `hit`, "path": "lines.txt", "context": 2},
			"lines.txt\n1-1\n2-2\n3:3 hit\n4-4\n5-5\n6-6\n7:7 hit\n8-8\n9:9 hit\n10-10\n",
		},
		{"no newline at the end", args{"pattern": `hit$`, "path": "ends.txt", "context": 3}, "ends.txt\n1:hit\n2:last hit\n"},
		{"empty lines", args{"pattern": `^$`, "path": "a.go"}, "a.go\n2:\n"},
		{"line by line", args{"pattern": `(?s)2.*3`, "path": "lines.txt"}, "no match for `(?s)2.*3` in 1 file\n"},
		{"space is not a newline", args{"pattern": `2\s+3|\A5\z`, "path": "lines.txt"}, "lines.txt\n5:5\n"},
		{"not UTF-8", args{"pattern": `hit!`}, "broken.txt\n1:caf\uFFFD hit!\n"},
		{"odd name", args{"pattern": `odd name`}, "\"b/new\\nline.txt\"\n1:odd name\n"},
		{"wide line", args{"pattern": `needle`}, "wide.txt\n1:…" + strings.Repeat("a", 100) + "needle" + strings.Repeat("ü", 147) + "…\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			res := ask(t, set, "grep", c.args)
			sameText(t, res.Output, c.want)
			if res.Error {
				t.Error("told as an error")
			}
		})
	}
}

func TestGrepRefuses(t *testing.T) {
	t.Parallel()
	set := openSet(t, tools.Config{Root: plant(t, files{"bin": "a\x00b", "a": "a"})})
	for pattern, says := range map[string][]string{
		"":             {"empty"},
		"foo(":         {"foo(", "missing closing )"},
		`(?=foo)bar`:   {"RE2", "lookahead"},
		`(?<!foo)bar`:  {"RE2", "lookbehind"},
		`(a)\1`:        {"RE2", "backreferences"},
		"a\nb":         {"newline"},
		`a\nb`:         {"newline"},
		"a{2000}":      {"invalid repeat count"},
		"*.go":         {"missing argument to repetition operator"},
		"[z-a]\xff(?=": {"not a valid regular expression"},
	} {
		refused(t, ask(t, set, "grep", args{"pattern": pattern}), says...)
	}
	refused(t, ask(t, set, "grep", args{"pattern": "a", "path": "bin"}), "bin is binary")
	refused(t, ask(t, set, "grep", args{"pattern": "a", "glob": "{a"}), "malformed")
	refused(t, ask(t, set, "grep", args{"pattern": "a", "glob": "../*"}), "leads outside")
}

// TestGrepWithoutGit: where git has nothing to say, everything but .git is
// searched.
func TestGrepWithoutGit(t *testing.T) {
	t.Parallel()
	set := openSet(t, tools.Config{Root: plant(t, files{
		".gitignore": "x.txt\n", "x.txt": "hit\n", "d/.git/config": "hit\n", "d/y.txt": "hit\n",
	})})
	sameText(t, ask(t, set, "grep", args{"pattern": "hit"}).Output, "d/y.txt\n1:hit\n\nx.txt\n1:hit\n")
}

// TestGrepNested: submodules and other repositories inside are searched by
// their own rules.
func TestGrepNested(t *testing.T) {
	t.Parallel()
	dir := plantGit(t, files{"a.txt": "hit\n", "inner/.gitignore": "no.txt\n", "inner/no.txt": "hit\n", "inner/yes.txt": "hit\n", "linked/z.txt": "hit\n"})
	for _, inner := range []string{"inner", "linked"} {
		gitIn(t, filepath.Join(dir, inner), "init", "-q")
		gitIn(t, filepath.Join(dir, inner), "add", "-A")
		gitIn(t, filepath.Join(dir, inner), "commit", "-qm", "inner")
	}
	gitIn(t, dir, "-c", "advice.addEmbeddedRepo=false", "add", "linked") // a gitlink, as a submodule is
	set := openSet(t, tools.Config{Root: dir})
	want := "a.txt\n1:hit\n\ninner/yes.txt\n1:hit\n\nlinked/z.txt\n1:hit\n"
	sameText(t, ask(t, set, "grep", args{"pattern": "hit"}).Output, want)
}

// TestGrepBounds: of very many matches the first are shown, the same each
// time, and the rest is counted.
func TestGrepBounds(t *testing.T) {
	t.Parallel()
	tree := files{}
	for i := range 600 {
		tree[fmt.Sprintf("d%d/f%03d.txt", i%7, i)] = "hit\nmiss\nhit\n"
	}
	for i := range 10 {
		tree[fmt.Sprintf("wide/w%d.txt", i)] = strings.Repeat(strings.Repeat("x", 390)+" wide\n", 15)
	}
	tree["zz/deep.txt"] = strings.Repeat("deep\n", 12_000)
	set := openSet(t, tools.Config{Root: plant(t, tree)})

	first := ask(t, set, "grep", args{"pattern": "hit"}).Output
	if n := strings.Count(first, ":hit\n"); n != 200 {
		t.Errorf("%d matches are shown", n)
	}
	if !strings.HasPrefix(first, "d0/f000.txt\n1:hit\n3:hit\n\nd0/f007.txt\n") {
		t.Errorf("begins with %q", first[:60])
	}
	if !strings.HasSuffix(first, "[200 of 1200 matching lines shown; narrow the pattern, path or glob to see the others]\n") {
		t.Errorf("ends with %q", first[len(first)-100:])
	}
	for range 5 {
		sameText(t, ask(t, set, "grep", args{"pattern": "hit"}).Output, first)
	}
	wide := ask(t, set, "grep", args{"pattern": "wide$"}).Output
	if len(wide) > 41<<10 || !regexp.MustCompile(`\[10\d of 150 matching`).MatchString(wide) {
		t.Errorf("%d bytes, ends with %q", len(wide), wide[len(wide)-100:])
	}
	if deep := ask(t, set, "grep", args{"pattern": "deep"}).Output; !strings.HasSuffix(deep, "20:deep\n[9980 more here; give this path to see them]\n") {
		t.Errorf("ends with %q", deep[len(deep)-100:])
	}
	one := ask(t, set, "grep", args{"pattern": "deep", "path": "zz/deep.txt"}).Output
	if !strings.Contains(one, "[200 of more than 9999 matching") {
		t.Errorf("ends with %q", one[len(one)-100:])
	}
}

func TestGrepLargeFile(t *testing.T) {
	t.Parallel()
	dir := plant(t, files{"small.txt": "hit\n"})
	large := filepath.Join(dir, "large.txt")
	must(t, os.WriteFile(large, []byte("hit\n"+strings.Repeat("0123456\n", 17<<17)), 0o644)) // 17 MB
	set := openSet(t, tools.Config{Root: dir})
	sameText(t, ask(t, set, "grep", args{"pattern": "hit"}).Output, "small.txt\n1:hit\n[1 file larger than 16.0 MB not searched]\n")
	sameText(t, ask(t, set, "grep", args{"pattern": "hit", "path": "large.txt"}).Output, "large.txt\n1:hit\n")
}

func TestGrepCancelled(t *testing.T) {
	t.Parallel()
	set := openSet(t, tools.Config{Root: plant(t, files{"a.txt": "a\n"})})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tool := range []string{"grep", "glob", "list_dir", "symbols"} {
		if _, err := runTool(t, ctx, set, tool, args{"pattern": "a", "query": "a"}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error is %v", tool, err)
		}
	}
}

// TestGrepHostileConfig: a repository's configuration starts no program.
func TestGrepHostileConfig(t *testing.T) {
	t.Parallel()
	dir := plantGit(t, files{"a.txt": "hit\n"})
	gitIn(t, dir, "add", "-A")
	mark := filepath.Join(t.TempDir(), "ran")
	hook := filepath.Join(t.TempDir(), "hook")
	must(t, os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o755))
	gitIn(t, dir, "config", "core.fsmonitor", hook)
	set := openSet(t, tools.Config{Root: dir})
	sameText(t, ask(t, set, "grep", args{"pattern": "hit"}).Output, "a.txt\n1:hit\n")
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the repository's configuration ran")
	}
	gitIn(t, dir, "ls-files", "-co", "--exclude-standard")
	if _, err := os.Stat(mark); err != nil {
		t.Error("the test proves nothing: this git does not run the program anyway")
	}
}

// FuzzGrep finds the lines that a match of each line by itself finds.
func FuzzGrep(f *testing.F) {
	f.Add("a.c", "abc\naxc\r\n\nac")
	f.Add(`(?s)a.*c|^$`, "a\nc\n\n")
	f.Add(`\s*[^a]\z`, "x\n a\n b")
	f.Add(`(?m)^\B|\b$`, "word\n-\n")
	f.Add(`(?i)\Aé[\n\x00-z]?`, "É\né\n\xff")
	f.Add(`(?-m)^a$|[[:space:]]`, "a\nb\na\tb")
	f.Add(`(?i)(us)+x{2,}`, "U\u017FxX\n")
	f.Add(`(?i)ok!`, "O\u212A!\n")
	f.Add(`(abc){0,2}d`, "d\nc\nab")
	f.Add("(\uFFFDab)+", "\xffab\n")
	dir := f.TempDir()
	found, err := openSet(f, tools.Config{Root: dir}).Tools("grep")
	must(f, err)
	f.Fuzz(func(t *testing.T, pattern, text string) {
		// "\r\r\n" depends on which CR belongs to the line end; a NUL makes it binary.
		if strings.Contains(text, "\r\r\n") || strings.Contains(text, "\x00") {
			return
		}
		line, err := regexp.Compile(pattern)
		must(t, os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o644))
		raw, jerr := json.Marshal(args{"pattern": pattern, "path": "f"})
		must(t, jerr)
		var decoded struct{ Pattern string }
		must(t, json.Unmarshal(raw, &decoded))
		if decoded.Pattern != pattern {
			return // not a string that JSON can carry
		}
		got, rerr := found[0].Run(t.Context(), loop.Input{Args: raw})
		must(t, rerr)
		if got.Error {
			if err == nil && pattern != "" && !strings.Contains(got.Output, "newline") {
				t.Fatalf("refused a good pattern %q: %s", pattern, got.Output)
			}
			return
		}
		if diff := cmp.Diff(linesThatMatch(line, text), linesShown(got.Output)); diff != "" {
			t.Fatalf("pattern %q, text %q: -want +got\n%s", pattern, text, diff)
		}
	})
}

func linesThatMatch(re *regexp.Regexp, text string) []int {
	var out []int
	if text == "" {
		return nil
	}
	text = strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, l := range strings.Split(text, "\n") {
		if re.MatchString(l) {
			out = append(out, i+1)
		}
	}
	return out
}

func linesShown(output string) []int {
	var out []int
	rest, ok := strings.CutPrefix(output, "f\n")
	if !ok {
		return nil
	}
	for _, l := range strings.Split(strings.TrimSuffix(rest, "\n"), "\n") {
		number, _, _ := strings.Cut(l, ":")
		if n, err := strconv.Atoi(number); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// BenchmarkGrep compares a search of 5,000 files with git grep, which reads the
// same list of files.
func BenchmarkGrep(b *testing.B) {
	words := []string{"func", "return", "error", "context", "if err != nil {", "}", "for i := range n {", "value", "type", "struct"}
	random := rand.New(rand.NewPCG(1, 2))
	tree := files{}
	for i := range 5000 {
		var text strings.Builder
		for range 120 {
			fmt.Fprintf(&text, "\t%s %s %s\n", words[random.IntN(len(words))], words[random.IntN(len(words))], words[random.IntN(len(words))])
		}
		if i%100 == 0 {
			text.WriteString("needle42\n")
		}
		tree[fmt.Sprintf("p%02d/q%02d/file%04d.go", i%50, i%20, i)] = text.String()
	}
	dir := plantGit(b, tree)
	gitIn(b, dir, "add", "-A")
	set := openSet(b, tools.Config{Root: dir})
	for name, pattern := range map[string]string{"literal": `needle42`, "class": `needle\d+`, "fold": `(?i)NEEDLE42`, "scan": `[m-z]eedle\d`} {
		b.Run(name+"/tool", func(b *testing.B) {
			for b.Loop() {
				if out := ask(b, set, "grep", args{"pattern": pattern}).Output; strings.Count(out, "needle42\n") != 50 {
					b.Fatal(out)
				}
			}
		})
		b.Run(name+"/git", func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command("git", "grep", "-nP", "--untracked", pattern)
				cmd.Dir = dir
				if out, err := cmd.Output(); err != nil || strings.Count(string(out), "needle42\n") != 50 {
					b.Fatal(err, string(out))
				}
			}
		})
	}
}
