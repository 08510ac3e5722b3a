package tools_test

import (
	"testing"

	"github.com/plan-engine/plan/tools"
)

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
