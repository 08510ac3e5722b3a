package tools_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan/tools"
)

// written is code as people write it, and what is asked of it.
var written = files{
	"lib/request.js": `var req = Object.create(http.IncomingMessage.prototype)
module.exports = req

req.get =
req.header = function header(name) {
  return lookup(name)
}

defineGetter(req, 'query', function query(){
  return parse(this.url);
});

Object.defineProperty(req, 'fresh', {
  get: function () { return isFresh(this) }
});

Object.defineProperties(req, { stale: { get() { return !this.fresh } } });
req.__defineGetter__('xhr', () => true);

function defineGetter(obj, name, getter) {
  Object.defineProperty(obj, name, { get: getter });
}
`,
	"lib/response.js": `var send = require('./send');
const { parse } = require("../util/parse.js");
import flat from 'body-parser/flat';

res.status = function status(code) { return this; };
res.send = function send(body) {
  this.status(200);
  return this.json(body);
};
res.contentType =
res.type = function contentType(type) { this.send(type); };
exports.sendFile = res.sendFile = (path) => res.send(read(path));
app.del = deprecate.function(app.delete, 'use delete');
let chained = other = function () {};
const handlers = { onOpen: () => res.send('x'), async onClose() {} };
Foo.prototype.bar = function () { this.baz = () => new Foo(); };
`,
	"test/res.send.js": `describe('res', function () {
  describe('.send(body)', function(){
    it('should set the body as is', function (done) { res.send('x'); });
    it.skip("works later", async () => {});
  });
});
test.each([[1, 2]])('adds %i', (a) => { add(a) });
emitter.on('data', function () {});
`,
	"view.tsx": `@Injectable()
export class Service extends Base<Item> implements Store, Other { @Input() name: string = ''; }
export const View = () => <Panel title="x"><Service /></Panel>;
const twice = useMemo<Service>(() => new Service());
`,
	"config.go": `package config

import (
	"example.com/m/tools/loader"
	other "example.com/m/internal/unloader"
)

// Load mentions Load.
func (c *Config) Load() error { return c.read("Load") }

func (c *Config) read(name string) error { return loader.Load(name) }

type Reader interface {
	Load() error
	io.Closer
}

type wrapped struct {
	*Config
	inner Config
}

func start(c *Config) {
	go func() { _ = c.Load() }()
	f := c.Load
	Map[int](f)
}
`,
	"tools/loader/load.go": "package loader\n\nfunc Load(name string) error { return nil }\n",
	"app/models.py": `from app.base import Base, registered
import app.loader as loading

@registered("user")
class User(Base, metaclass=Meta):
    kind, order = "user", 1
    table = "users"

    @property
    def full_name(self):
        return loading.load(self)

setattr(User, 'patched', load)
A, B = 1, 2
def make() -> User:
    return User(kind=User.kind)
`,
	"Shape.java": `import com.example.base.Base;
@Entity class Shape extends Base implements Area, Named { int area() { return new Helper().help(this::area); } }
interface Area extends Sized { int area(); }
`,
	"shape.rs": `use crate::base::{Base, helper};
#[derive(Debug)]
struct Square;
impl Area for Square { fn area(&self) -> u32 { helper::<u32>(1) } }
trait Area: Sized2 { fn area(&self) -> u32; }
fn show() { println!("{}", helper(2)); square!(); base::run(); }
`,
	"shape.cc": `#include "base/shape.h"
class Square : public Base, private ns::Named { int area() override; };
int Square::area() { return helper<int>(1) + ns::helper2(2); }
#define TWICE(x) helper(x)
`,
	"main.c": "#include \"base/shape.h\"\nint run(struct shape *s) { return s->area(s) + helper(s); }\n",
}

func TestSymbolsKinds(t *testing.T) {
	t.Parallel()
	set := openSet(t, tools.Config{Root: plantGit(t, written)})
	for _, c := range []struct {
		kind, query string
		want        string // the lines, without their texts; "" for an answer that says that there are none
	}{
		{"definition", "req.query", "lib/request.js 9-11 property req.query"},
		{"definition", "fresh", "lib/request.js 13-15 property req.fresh"},
		{"definition", "stale", "lib/request.js 17-17 property req.stale"},
		{"definition", "req.xhr", "lib/request.js 18-18 property req.xhr"},
		{"definition", "req.get", "lib/request.js 4-7 method req.get"},
		{"definition", "header", "lib/request.js 5-7 method req.header"},
		{"definition", "res.send", "lib/response.js 6-9 method res.send; 12-12 method res.sendFile"},
		{"definition", "contentType", "lib/response.js 10-11 method res.contentType"},
		{"definition", "res.type", "lib/response.js 11-11 method res.type; 10-11 method res.contentType"},
		{"definition", "exports.sendFile", "lib/response.js 12-12 function sendFile; 12-12 method res.sendFile"},
		{"definition", "del", "lib/response.js 13-13 property app.del"},
		{"definition", "other", "lib/response.js 14-14 function other"},
		{"definition", "onOpen", "lib/response.js 15-15 method handlers.onOpen"},
		{"definition", "Foo.prototype.bar", "lib/response.js 16-16 method Foo.bar"},
		{"definition", "baz", "lib/response.js 16-16 function Foo.bar.baz"},
		{"definition", "should set the body", "test/res.send.js 3-3 test should set the body as is"},
		{"definition", "works later", "test/res.send.js 4-4 test works later"},
		{"definition", "adds %i", "test/res.send.js 7-7 test adds %i"},
		{"definition", "Config.Load", "config.go 9-9 method Config.Load"},
		{"definition", "(*Config).Load()", "config.go 9-9 method Config.Load"},
		{"definition", "loader.Load", "tools/loader/load.go 3-3 function Load"},
		{"definition", "models.make", "app/models.py 15-16 function make"},
		{"definition", "full_name", "app/models.py 9-11 method User.full_name"},
		{"definition", "table", "app/models.py 7-7 field User.table"},
		{"definition", "User.patched", "app/models.py 13-13 property User.patched"},
		{"definition", "Service", "view.tsx 1-2 class Service"},

		{"references", "Load", "config.go 11 call in Config.read; 24 call in start; 25 use in start"},
		{"references", "lib/send.js", "lib/response.js 1 import in send"},
		{"references", "util/parse", "lib/response.js 2 import"},
		{"references", "tools/loader", "config.go 4 import"},
		{"references", "app/loader.py", "app/models.py 2 import"},
		{"references", "base/shape.h", "main.c 1 import; shape.cc 1 import"},
		{"references", "body-parser/flat", "lib/response.js 3 import"},
		{"references", "registered", "app/models.py 1 import; 4 call"},
		{"references", "Entity", "Shape.java 2 call in Shape"},
		{"references", "nothing_of_that_name", ""},

		{"callers", "res.send", "lib/response.js 11 call in res.type; 12 call in res.sendFile; 15 call in handlers.onOpen; " +
			"test/res.send.js 3 call in should set the body as is"},
		{"callers", "defineGetter", "lib/request.js 9 call in req.query"},
		{"callers", "Foo", "lib/response.js 16 call in Foo.bar.baz"},
		{"callers", "Service", "view.tsx 3 call in View; 4 call in twice"},
		{"callers", "Panel", "view.tsx 3 call in View"},
		{"callers", "Injectable", "view.tsx 1 call"},
		{"callers", "Load", "config.go 11 call in Config.read; 24 call in start"},
		{"callers", "Map", "config.go 26 call in start"},
		{"callers", "User", "app/models.py 16 call in make"},
		{"callers", "Helper", "Shape.java 2 call in Shape.area"},
		{"callers", "help", "Shape.java 2 call in Shape.area"},
		{"callers", "helper", "main.c 2 call in run; shape.cc 3 call in Square.area; 4 call in TWICE; " +
			"shape.rs 4 call in Square.area; 6 call in show"},
		{"callers", "helper2", "shape.cc 3 call in Square.area"},
		{"callers", "square", "shape.rs 6 call in show"},

		{"implementations", "Base", "Shape.java 2-2 class Shape; app/models.py 4-11 class User; shape.cc 2-2 class Square; " +
			"view.tsx 1-2 class Service"},
		{"implementations", "Area", "Shape.java 2-2 class Shape; shape.rs 4-4 impl Square"},
		{"implementations", "Named", "Shape.java 2-2 class Shape; shape.cc 2-2 class Square"},
		{"implementations", "Store", "view.tsx 1-2 class Service"},
		{"implementations", "Sized2", "shape.rs 5-5 trait Area"},
		{"implementations", "Closer", "config.go 13-16 interface Reader"},
		{"implementations", "Config", "config.go 18-21 struct wrapped"},
		{"implementations", "area", "Shape.java 2-2 method Shape.area; shape.cc 3-3 method Square.area; shape.rs 4-4 method Square.area"},
		{"implementations", "Load", "config.go 9-9 method Config.Load; tools/loader/load.go 3-3 function Load"},
	} {
		t.Run(c.kind+" "+c.query, func(t *testing.T) {
			t.Parallel()
			res := ask(t, set, "symbols", args{"query": c.query, "kind": c.kind})
			if res.Error {
				t.Errorf("told as an error: %s", res.Output)
			}
			sameText(t, shortened(res.Output), c.want)
		})
	}
}

// shortened is a result without the texts of its lines.
func shortened(output string) string {
	var out []string
	path := ""
	for line := range strings.Lines(output) {
		entry, _, ok := strings.Cut(strings.TrimSpace(line), "  ")
		switch {
		case strings.HasPrefix(line, "["), strings.HasPrefix(line, "no "):
		case ok:
			out = append(out, path+entry)
			path = ""
		default:
			path = entry + " "
		}
	}
	return strings.Join(out, "; ")
}
