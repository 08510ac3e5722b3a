package tools_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan/tools"
)

// byMethods is Go, whose types do not say what they implement.
var byMethods = files{
	"store/store.go": `package store

type Store interface {
	Reader // what it has
	Put(ctx context.Context, key, value string) error
	Each(func(key string, n int) bool)
}

type Reader interface{ Get(key string) (string, error) }

type File interface { io.Closer; Name() string }

type memory map[string]string

func (m memory) Get(k string) (value string, err error) { return m[k], nil }
`,
	"store/memory.go": `package store

func (m memory) Put(_ context.Context, key string, value string) error { return nil }
func (m memory) Each(f func(string, int) bool)                     {}
`,
	"disk/disk.go": `package disk

type Disk[K comparable] struct{ dir K }

func (d *Disk[K]) Get(key string) (string, error) { return "", nil }
func (d *Disk[K]) Put(
	ctx context.Context,
	key, value string,
) error {
	return nil
}
func (d *Disk[K]) Each(func(string, int) bool) {}
func (d *Disk[K]) Name() string              { return "" }

type partial struct{}

func (partial) Get(key string) (string, error) { return "", nil }

type otherwise struct{}

func (otherwise) Get(key string) string { return "" }

type wrapped struct{ store.Store }
`,
}

func TestSymbolsOfGoImplementations(t *testing.T) {
	t.Parallel()
	set := openSet(t, tools.Config{Root: plantGit(t, byMethods)})
	for _, c := range []struct{ query, want string }{
		{"Store", "disk/disk.go 23-23 struct wrapped; disk/disk.go 3-3 struct Disk; store/store.go 13-13 type memory"},
		{"store.Store", "disk/disk.go 23-23 struct wrapped; disk/disk.go 3-3 struct Disk; store/store.go 13-13 type memory"},
		{"Store.Put", "disk/disk.go 6-11 method Disk.Put; store/memory.go 3-3 method memory.Put"},
		{"Reader", "store/store.go 3-7 interface Store; disk/disk.go 3-3 struct Disk; 15-15 struct partial; " +
			"store/store.go 13-13 type memory"},
		{"File", "disk/disk.go 3-3 struct Disk"},
	} {
		t.Run(c.query, func(t *testing.T) {
			t.Parallel()
			out := ask(t, set, "symbols", args{"query": c.query, "kind": "implementations"}).Output
			sameText(t, shortened(out), c.want)
			if said := strings.Contains(out, "\n[io.Closer is defined elsewhere; "); said != (c.query == "File") {
				t.Error("what is said of an interface from elsewhere:", out)
			}
		})
	}
}

// inherited is code whose types are of one another, and texts that name what code defines.
var inherited = files{
	"A.java": `interface Shape { double area(); default String name() { return "s"; } }
class Sq implements Shape { public double area() { return 1; } }
class Other { double area() { return 2; } }
class Deep extends Sq { public double area() { return 3; } }
class Use {
  Runnable r = new Runnable() { public void run() { go(); } };
  Shape s = new Shape() { public double area() { return 4; } };
  List<Item> l = new ArrayList<Item>();
  void f() { submit(new Outer.Task<Item>() {
    public void run() {} }); }
}
`,
	"a.js": `function mk() { return class extends Base { paint() {} }; }
const N = class extends Base { paint() {} };
const key = 'x'; res['json'](1); res[json]();
`,
	"lib/thing.js": "export default function thing() {}\nexport const part = 1;\n",
	"lib/index.js": `export {default as x} from './thing.js';
export { part as piece, part } from './thing.js';
export * as ns from './thing';
const far = require('body-parser/far.js');
`,
	"s.rs": `trait Shape { fn area(&self) -> u32; }
impl Shape for Circle { fn area(&self) -> u32 { 1 } }
impl Line { fn area(&self) -> u32 { 2 } }
`,
	"pkg/__init__.py": `from .core import run, stop
__all__ = ["run", 'stop'] + ["late"]
__all__ += ["more"]
__all__.extend(["rest"])
getattr(core, "late")
plain = ["late", "run"]
`,
	"z.ts": "const z = new (class implements Store<Item> { get() { return 9 } })();\n",
}

func TestSymbolsOfHeirs(t *testing.T) {
	t.Parallel()
	set := openSet(t, tools.Config{Root: plantGit(t, inherited)})
	for _, c := range []struct{ kind, query, want string }{
		{"implementations", "Shape.area", "A.java 2-2 method Sq.area; 4-4 method Deep.area; 7-7 method Use.area; " +
			"s.rs 2-2 method Circle.area"},
		{"implementations", "Sq.area", "A.java 2-2 method Sq.area; 4-4 method Deep.area"},
		{"implementations", "Base.paint", "a.js 1-1 method mk.paint; 2-2 method N.paint"},
		{"implementations", "Shape", "A.java 2-2 class Sq; 7-7 class in Use; s.rs 2-2 impl Circle"},
		{"implementations", "Runnable", "A.java 6-6 class in Use"},
		{"implementations", "Runnable.run", "A.java 6-6 method Use.run"},
		{"implementations", "Task", "A.java 9-10 class in Use.f"},
		{"implementations", "ArrayList", ""},
		{"implementations", "Item", ""},
		{"implementations", "Base", "a.js 1-1 class in mk; 2-2 class N"},
		{"implementations", "Store", "z.ts 1-1 class in z"},
		{"callers", "Runnable", "A.java 6 call in Use"},
		{"callers", "Task", "A.java 9 call in Use.f"},
		{"callers", "json", "a.js 3 call"},
		{"references", "json", "a.js 3 call; 3 use"},
		{"references", "late", "pkg/__init__.py 2 use in __all__; 5 use"},
		{"references", "more", "pkg/__init__.py 3 use"},
		{"references", "rest", "pkg/__init__.py 4 use"},
		{"references", "part", "lib/index.js 2 import in piece"},
		{"references", "thing.js", "lib/index.js 1 import; 2 import; 3 import"},
		{"references", "far.js", "lib/index.js 4 import in far"},
		{"references", "near.js", ""},
		{"definition", "x", "lib/index.js 1-1 alias x"},
		{"definition", "ns", "lib/index.js 3-3 alias ns"},
	} {
		t.Run(c.kind+" "+c.query, func(t *testing.T) {
			t.Parallel()
			sameText(t, shortened(ask(t, set, "symbols", args{"query": c.query, "kind": c.kind}).Output), c.want)
		})
	}
}
