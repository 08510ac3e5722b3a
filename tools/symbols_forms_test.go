package tools_test

import (
	"testing"

	"github.com/plan-engine/plan/tools"
)

// forms are ways in which people write what others look for by its name.
var forms = files{
	"page.js": `class Page extends Base {
  state = { open: false };
  onClick = async function (e) { this.clicked = e; this.clicked = null; };
  constructor() { this.title = 'x'; }
}
Page.prototype = { paint: function () {}, wipe() {} };
Object.assign(Page.prototype, { spin() {} });
module.exports = { Page, other: Page, gamma() {} };
res['json'] = function () {};
app[method] = function () {};
app.get('/users', function listUsers(req) { find(req); });
const colors = { red: '#f00', dim: { by() {} }, 'dark-red': () => 1 };
export { Page as Sheet };
function Old() { this.birth = 1; }
draw = function draw() {};
`,
	"module.js": "exports = module.exports = function createThing() { start(); };\n",
	"shape.ts": `declare const VERSION: string;
namespace Outer { export const k = 1; }
class Shape { private cache: Map = new Map(); constructor(private readonly http: Http) {} }
interface Opts { size?: number; }
type Way = { north: boolean };
enum Color { Red = 'r', Green }
declare class Ext { grow(): void; }
function over(a: string): string;
function over(a: any) { return a; }
`,
	"model.py": `if True:
    Maybe = 1
try:
    import json
except ImportError:
    json = None
(low, high) = 1, 2
First = Second = 3
class User:
    def __init__(self):
        self.name = 1
    def rename(self):
        self.name = 2
User.patched = lambda self: 1
`,
	"lib.rs": `pub struct Foo { pub width: u32 }
enum Kind { Round }
trait Has { type Item; }
lazy_static! { static ref TABLE: u32 = 1; }
bitflags! { struct Flags: u32 { const A = 1; } }
`,
	"Box.java": `class Box { private int count = 0; @interface Ann { int level(); } enum Lid { OPEN } record Pt(int left) {} }
`,
	"ops.c": `struct ops { int (*probe)(int fd); int *depth; };
typedef struct { int inner; } outer_t;
enum color { RED, GREEN };
#define FEATURE
`,
	"box_test.cc": `class BOX { public: BOX(const BOX&) {} int side_; };
TEST(BoxTest, Opens) { EXPECT_EQ(1, open()); }
`,
	"box.go": `package box

type Box struct {
	Width int
	log   func(string)
}

func TestBox(t *testing.T) {
	t.Run("an empty one", func(t *testing.T) { check(t) })
}
`,
}

func TestSymbolsForms(t *testing.T) {
	t.Parallel()
	set := openSet(t, tools.Config{Root: plantGit(t, forms)})
	for query, want := range map[string]string{
		"Page.state":   "page.js 2-2 field Page.state",
		"onClick":      "page.js 3-3 method Page.onClick",
		"clicked":      "page.js 3-3 field Page.clicked",
		"Page.title":   "page.js 4-4 field Page.title",
		"Page.paint":   "page.js 6-6 method Page.paint",
		"wipe":         "page.js 6-6 method Page.wipe",
		"Page.spin":    "page.js 7-7 method Page.spin",
		"other":        "page.js 8-8 property other",
		"gamma":        "page.js 8-8 method gamma",
		"res.json":     "page.js 9-9 method res.json",
		"app":          "",
		"listUsers":    "page.js 11-11 function listUsers",
		"colors.red":   "page.js 12-12 property colors.red; 12-12 method colors.dark-red",
		"colors.dim":   "page.js 12-12 property colors.dim",
		"by":           "page.js 12-12 method colors.dim.by",
		"dark-red":     "page.js 12-12 method colors.dark-red",
		"Sheet":        "page.js 13-13 alias Sheet",
		"birth":        "page.js 14-14 field Old.birth",
		"draw":         "page.js 15-15 function draw",
		"createThing":  "module.js 1-1 function createThing",
		"VERSION":      "shape.ts 1-1 constant VERSION",
		"Outer.k":      "shape.ts 2-2 constant Outer.k",
		"cache":        "shape.ts 3-3 field Shape.cache",
		"Shape.http":   "shape.ts 3-3 field Shape.http",
		"Opts.size":    "shape.ts 4-4 field Opts.size",
		"Way.north":    "shape.ts 5-5 field Way.north",
		"Color.Red":    "shape.ts 6-6 constant Color.Red; ops.c 3-3 constant color.RED",
		"Green":        "shape.ts 6-6 constant Color.Green; ops.c 3-3 constant color.GREEN",
		"Ext.grow":     "shape.ts 7-7 method Ext.grow",
		"over":         "shape.ts 8-8 function over; 9-9 function over",
		"Maybe":        "model.py 2-2 variable Maybe",
		"json":         "model.py 6-6 variable json; page.js 9-9 method res.json",
		"high":         "model.py 7-7 variable high",
		"Second":       "model.py 8-8 variable Second",
		"User.name":    "model.py 11-11 field User.name; 12-13 method User.rename",
		"User.patched": "model.py 14-14 property User.patched",
		"Foo.width":    "lib.rs 1-1 field Foo.width",
		"Kind.Round":   "lib.rs 2-2 variant Kind.Round",
		"Has.Item":     "lib.rs 3-3 type Has.Item",
		"TABLE":        "lib.rs 4-4 variable TABLE",
		"Flags":        "lib.rs 5-5 struct Flags",
		"count":        "Box.java 1-1 field Box.count",
		"level":        "Box.java 1-1 method Box.Ann.level",
		"Lid.OPEN":     "Box.java 1-1 constant Box.Lid.OPEN",
		"left":         "Box.java 1-1 field Box.Pt.left",
		"ops.probe":    "ops.c 1-1 field ops.probe",
		"depth":        "ops.c 1-1 field ops.depth",
		"outer_t":      "ops.c 2-2 type outer_t",
		"inner":        "ops.c 2-2 field outer_t.inner",
		"GREEN":        "ops.c 3-3 constant color.GREEN; shape.ts 6-6 constant Color.Green",
		"FEATURE":      "ops.c 4-4 macro FEATURE",
		"BOX.side_":    "box_test.cc 1-1 field BOX.side_",
		"Opens":        "box_test.cc 2-2 test BoxTest.Opens",
		"Box.Width":    "box.go 4-4 field Box.Width",
		"an empty one": "box.go 9-9 test an empty one",
	} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			res := ask(t, set, "symbols", args{"query": query})
			sameText(t, shortened(res.Output), want)
		})
	}
	for query, want := range map[string]string{
		"find":  "page.js 11 call in listUsers",
		"start": "module.js 1 call in createThing",
		"open":  "box_test.cc 2 call in BoxTest.Opens",
		"check": "box.go 9 call in an empty one",
	} {
		t.Run("callers "+query, func(t *testing.T) {
			t.Parallel()
			sameText(t, shortened(ask(t, set, "symbols", args{"query": query, "kind": "callers"}).Output), want)
		})
	}
}

// TestSymbolsFieldsAreToldWhenAsked: an outline has no room for them, nor has what is
// named like a part of them.
func TestSymbolsFieldsAreToldWhenAsked(t *testing.T) {
	t.Parallel()
	set := openSet(t, tools.Config{Root: plantGit(t, forms)})
	sameText(t, shortened(ask(t, set, "symbols", args{"path": "box.go"}).Output),
		"box.go 3-6 struct Box; 8-10 function TestBox; 9-9 test an empty one")
	sameText(t, shortened(ask(t, set, "symbols", args{"query": "Wid"}).Output), "")
	sameText(t, shortened(ask(t, set, "symbols", args{"query": "probe", "kind": "implementations"}).Output), "")
}
