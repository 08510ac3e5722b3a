package checks

import (
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plan-engine/plan/internal/lazy"
)

// goTag finds the build tags of a command of go.
var goTag = lazy.Regexp(`\bgo (?:test|vet|build).*?\s-?-tags[= ]['"]?([\w,. ]+?)['"]?(?:\s|$)`)

// goSide is one side of a change as go sees it.
type goSide struct {
	*reading
	// modules are folders with a go.mod, used those of them that go.work names;
	// nil without one. ignored are folders that go.mod leaves out of "./...".
	modules, used map[string]bool
	ignored       []string
	tags          [][]string // of each way in which the checks build
}

func (r *reading) goSide() goSide {
	g := goSide{reading: r, modules: map[string]bool{}}
	for name := range r.ids {
		if path.Base(name) == "go.mod" {
			g.modules[path.Dir(name)] = true
		}
	}
	if r.ids["go.work"] != "" {
		g.used = map[string]bool{}
		for _, dir := range directives(r.text("go.work"), "use") {
			g.used[path.Clean(dir)] = true
		}
	}
	g.ignored = directives(r.text("go.mod"), "ignore")
	for _, command := range r.calls {
		if m := goTag().FindStringSubmatch(command); m != nil {
			g.tags = append(g.tags, strings.FieldsFunc(m[1], func(c rune) bool { return c == ',' || c == ' ' }))
		} else if strings.HasPrefix(command, "go test") {
			g.tags = append(g.tags, nil)
		}
	}
	if len(g.tags) == 0 {
		g.tags = [][]string{nil}
	}
	return g
}

// directives are the arguments of a directive of go.mod or go.work.
func directives(text, name string) []string {
	var out []string
	in := false
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == ")":
			in = false
		case words[0] == name && len(words) > 1 && words[1] == "(":
			in = true
		case words[0] == name && len(words) > 1:
			out = append(out, strings.Trim(words[1], `"`))
		case in:
			out = append(out, strings.Trim(words[0], `"`))
		}
	}
	return out
}

// off is where go would list a file under no pattern.
const off = "off"

// module says with which module "go list ./..." has a file: "" for those that
// it lists at the root, off for none.
func (g goSide) module(name string) string {
	dir := path.Dir(name)
	for part := range strings.SplitSeq(dir, "/") {
		hidden := part != "." && strings.HasPrefix(part, ".") || strings.HasPrefix(part, "_")
		if hidden || part == "testdata" || part == "vendor" {
			return off
		}
	}
	for _, ignore := range g.ignored {
		rooted := strings.HasPrefix(ignore, "./")
		if clean := path.Clean(ignore); inside(name, clean) || !rooted && strings.Contains("/"+name, "/"+clean+"/") {
			return off
		}
	}
	for !g.modules[dir] {
		if dir == "." {
			return "none"
		}
		dir = path.Dir(dir)
	}
	if dir == "." && g.used == nil || g.used[dir] {
		return ""
	}
	return "module " + dir
}

// builds reports whether go builds a file here, in one of the ways of the
// checks.
func (g goSide) builds(name, text string) bool {
	return slices.ContainsFunc(g.tags, func(tags []string) bool {
		c := build.Default
		c.BuildTags = tags
		c.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
		fits, err := c.MatchFile(path.Dir(name), path.Base(name))
		return fits && err == nil
	})
}

// goTests are the tests of a file that go builds, and the text of its TestMain.
func (g goSide) goTests(name string) (tests []string, main string) {
	text := g.text(name)
	if g.ids[name] == "" || g.module(name) == off || !g.builds(name, text) {
		return nil, ""
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments)
	if err != nil || file.Name.Name == "documentation" {
		return nil, ""
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		switch {
		case !ok || f.Recv != nil:
		case f.Name.Name == "TestMain" && f.Type.Params.NumFields() == 1:
			main = text[files.Position(f.Pos()).Offset:files.Position(f.End()).Offset]
		case f.Type.Params.NumFields() == 1 && (isTestName(f.Name.Name, "Test") || isTestName(f.Name.Name, "Fuzz")):
			tests = append(tests, f.Name.Name)
		}
	}
	for _, example := range doc.Examples(file) {
		if example.Output != "" || example.EmptyOutput {
			tests = append(tests, "Example"+example.Name)
		}
	}
	return tests, main
}

// isTestName reports whether go takes a function for a test: behind the prefix
// there is nothing, or no lower case letter.
func isTestName(name, prefix string) bool {
	rest, found := strings.CutPrefix(name, prefix)
	first, _ := utf8.DecodeRuneInString(rest)
	return found && (rest == "" || !unicode.IsLower(first))
}

// compareGo finds tests of go that are not built any more.
func (c *Changes) compareGo(before, after *reading) {
	goBefore, goAfter := before.goSide(), after.goSide()
	names := differingTests(goBefore, goAfter)
	before.prefetch(names)
	after.prefetch(names)
	mains := map[string]bool{} // each TestMain that there was, which may be moved
	for _, name := range names {
		_, main := goBefore.goTests(name)
		mains[main] = true
	}
	var removed []goTest
	added := map[string]int{} // tests that were not there, by module and name
	for _, name := range names {
		old, _ := goBefore.goTests(name)
		now, main := goAfter.goTests(name)
		stays, stayed := now, old
		module := goAfter.module(name)
		if module != goBefore.module(name) && module != "" { // in another module they are others
			stays, stayed = nil, nil
		}
		removed = append(removed, goBefore.testsBut(name, old, stays)...)
		for _, test := range goAfter.testsBut(name, now, stayed) {
			added[test.module+" "+test.name]++
		}
		if main != "" && !mains[main] {
			c.Mains = append(c.Mains, name)
		}
	}
	c.lose(removed, added)
}

// differingTests are the test files that go may build otherwise on one side than
// on the other.
func differingTests(before, after goSide) []string {
	sameTags := slices.EqualFunc(before.tags, after.tags, slices.Equal)
	names := map[string]bool{}
	for _, ids := range []map[string]string{before.ids, after.ids} {
		for name := range ids {
			differs := before.ids[name] != after.ids[name] || before.module(name) != after.module(name)
			if strings.HasSuffix(name, "_test.go") && (differs || !sameTags) {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// testsBut are the tests of a file but those of another list.
func (g goSide) testsBut(name string, tests, but []string) []goTest {
	var out []goTest
	for _, test := range tests {
		if !slices.Contains(but, test) {
			out = append(out, goTest{name, g.module(name), test})
		}
	}
	return out
}

// goTest is a test in a file of a module.
type goTest struct{ file, module, name string }

// lose keeps those that turn up nowhere else, each of which takes in one.
func (c *Changes) lose(removed []goTest, added map[string]int) {
	for _, test := range removed {
		same, root := test.module+" "+test.name, " "+test.name
		switch {
		case added[same] > 0:
			added[same]--
		case added[root] > 0:
			added[root]--
		default:
			c.Lost[test.file] = append(c.Lost[test.file], test.name)
		}
	}
}

// prefetch reads many files at once.
func (r *reading) prefetch(names []string) {
	if r.err != nil {
		return
	}
	var got map[string]string
	got, r.err = r.tree.Read(r.ctx, names...)
	maps.Copy(r.texts, got)
}
