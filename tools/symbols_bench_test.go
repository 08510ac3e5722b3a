package tools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plan-engine/plan/tools"
)

// BenchmarkSymbols asks a tree of 50,000 source files, of which a kept index may know
// nothing: "first" is that, "kept" the first question of another process, "again" a
// question that was asked before, "next" one that was not. On a machine that does other
// things, the processor's time says more than the clock's.
func BenchmarkSymbols(b *testing.B) {
	tree := os.Getenv("PLAN_BENCH_TREE")
	if tree == "" {
		tree = plantMany(b, 50_000)
	}
	kept := filepath.Join(b.TempDir(), "tree.words")
	questions := []args{
		{"query": "needle31234"},
		{"query": "needle31234", "kind": "callers"},
		{"query": "saveOrder", "kind": "references"},
		{"query": "saveOrder"},
		{"query": "saveOrder", "kind": "implementations"},
	}
	opened := func(b *testing.B, path string) (*tools.Set, func()) {
		b.Helper()
		index := tools.NewIndex(path)
		set, err := tools.New(tools.Config{Root: tree, Index: index})
		must(b, err)
		return set, func() {
			must(b, set.Close())
			must(b, index.Close())
		}
	}
	for _, q := range questions {
		name := fmt.Sprint(q["query"], " ", q["kind"])
		b.Run("first "+name, func(b *testing.B) {
			defer cpuTime(b)()
			for b.Loop() {
				_ = os.Remove(kept)
				set, shut := opened(b, kept)
				_ = ask(b, set, "symbols", q)
				b.StopTimer()
				shut()
				b.StartTimer()
			}
		})
		b.Run("kept "+name, func(b *testing.B) {
			defer cpuTime(b)()
			for b.Loop() {
				set, shut := opened(b, kept)
				_ = ask(b, set, "symbols", q)
				b.StopTimer()
				shut()
				b.StartTimer()
			}
		})
	}
	set, shut := opened(b, kept)
	defer shut()
	for _, q := range questions {
		_ = ask(b, set, "symbols", q)
		b.Run("again "+fmt.Sprint(q["query"], " ", q["kind"]), func(b *testing.B) {
			defer cpuTime(b)()
			for b.Loop() {
				_ = ask(b, set, "symbols", q)
			}
		})
	}
	for _, kind := range []string{"definition", "callers", "references", "implementations"} {
		for name, query := range map[string]func(i int) string{
			"rare": func(i int) string {
				n := i * 771 % 50_000
				return fmt.Sprintf("%s%s_%d_5", verbs[(n*7+5)%len(verbs)], nouns[(n*3+25)%len(nouns)], n)
			},
			"common": func(i int) string { return verbs[i%len(verbs)] + nouns[i/len(verbs)%len(nouns)] },
		} {
			asked := 0
			b.Run("next "+name+" "+kind, func(b *testing.B) {
				defer cpuTime(b)()
				for b.Loop() {
					_ = ask(b, set, "symbols", args{"query": query(asked), "kind": kind})
					asked++
				}
			})
		}
	}
}

var (
	verbs = strings.Fields("load save read write parse format handle build make open close list find sort merge")
	nouns = strings.Fields("Config User Order Item Page File Entry Token Node Tree Graph Query Cache Batch Queue")
)

// cpuTime reports what a benchmark takes of the processor from now on.
func cpuTime(b *testing.B) func() {
	used := func() time.Duration {
		var u unix.Rusage
		must(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	from := used()
	return func() { b.ReportMetric(float64((used()-from).Milliseconds())/float64(b.N), "cpu-ms/op") }
}

// plantMany writes a git work tree of so many source files of about 4 KB.
func plantMany(b *testing.B, n int) string {
	b.Helper()
	dir := b.TempDir()
	for i := range n {
		var text strings.Builder
		ext := "go"
		if text.WriteString("package p\n\n"); i%2 == 1 {
			ext = "js"
			text.Reset()
		}
		for j := range 14 {
			verb, noun := verbs[(i*7+j)%len(verbs)], nouns[(i*3+j*5)%len(nouns)]
			fmt.Fprintf(&text, "// %s%s_%d_%d does what is asked of it, as the words here say that nothing reads.\n", verb, noun, i, j)
			if ext == "go" {
				fmt.Fprintf(&text, "func %s%s_%d_%d(in %s) error {\n\tout, err := %s%s(in.%s)\n\tif err != nil {\n\t\treturn err\n\t}\n"+
					"\treturn out.%s()\n}\n\n", verb, noun, i, j, noun, verb, noun, verb, noun)
			} else {
				fmt.Fprintf(&text, "function %s%s_%d_%d(value) {\n  const out = %s%s(value.%s);\n  if (!out) { return null; }\n"+
					"  return out.%s();\n}\n\n", verb, noun, i, j, verb, noun, verb, noun)
			}
		}
		if i%5000 == 1234 {
			fmt.Fprintf(&text, "function needle%d() { needle%d() }\n", i, i)
		}
		name := filepath.Join(dir, fmt.Sprintf("pkg%d/sub%d", i/500, i/20%25), fmt.Sprintf("f%d.%s", i, ext))
		if i%500 == 0 || i%20 == 0 {
			must(b, os.MkdirAll(filepath.Dir(name), 0o755))
		}
		must(b, os.WriteFile(name, []byte(text.String()), 0o644))
	}
	gitIn(b, dir, "init", "-q")
	gitIn(b, dir, "add", "-A")
	gitIn(b, dir, "commit", "-qm", "all")
	return dir
}
