// Package eventcases gives tests events that a view is to show: one that no
// package knows, and each of those that are there and have something to say. It
// also lets the tests of a package ask its source which types of events a function
// names in the cases of its type switches.
//
// It reads source and types only: what a view makes of an event is for the
// view's own tests.
package eventcases

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/planted"
)

// New is the body of an event that no view knows. What it says is its headline.
type New struct{ Level plan.Level }

// Type implements [plan.Body].
func (New) Type() plan.EventType { return "new_event" }

// Headline implements [plan.Body].
func (b New) Headline() plan.Headline {
	return plan.Headline{
		Level: b.Level,
		Label: "newlabel",
		Text:  "what happened",
	}
}

// Unshown returns the types of events, but for those named, of which a view does not
// show what an event says of itself: those in which a person should read that, and
// one that no view knows. Show is the view, as text; it gets a body with a text in
// each field.
func Unshown(t testing.TB, named []plan.EventType, show func(plan.Event) string) []plan.EventType {
	t.Helper()
	bodies := []plan.Body{
		New{Level: plan.LevelInfo},
		New{Level: plan.LevelWarning},
		New{Level: plan.LevelError},
	}
	for _, name := range plan.EventTypes() {
		body, err := plan.DecodeBody(name, "{}")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(named, name) {
			full := reflect.New(reflect.TypeOf(body)).Elem()
			planted.Fill(full, "said")
			bodies = append(bodies, full.Interface().(plan.Body))
		}
	}
	var out []plan.EventType
	for _, body := range bodies {
		h := body.Headline()
		text := show(plan.Event{Run: "R", Seq: 9, Conv: "c", Body: body})
		shown := strings.Contains(text, h.Label) && strings.Contains(text, h.Text)
		if h.Level != plan.LevelDetail && !shown {
			out = append(out, body.Type())
		}
	}
	if text := show(plan.Event{Run: "R", Seq: 9, Conv: "c", Body: New{Level: plan.LevelDetail}}); text != "" {
		t.Errorf("the view shows a detail: %q", text)
	}
	return out
}

// Forgotten returns the types of wanted that functions of the package in the
// current directory do not name between them. A method is named Type.method.
func Forgotten(t testing.TB, wanted []plan.EventType, functions ...string) []plan.EventType {
	t.Helper()
	named := Named(t, functions...)
	return slices.DeleteFunc(slices.Clone(wanted), func(name plan.EventType) bool {
		return slices.Contains(named, name)
	})
}

// Named returns the types of events that functions of the package in the current
// directory name in the cases of their type switches.
func Named(t testing.TB, functions ...string) []plan.EventType {
	t.Helper()
	bodies := map[string]plan.EventType{}
	for _, name := range plan.EventTypes() {
		body, err := plan.DecodeBody(name, "{}")
		if err != nil {
			t.Fatal(err)
		}
		bodies[reflect.TypeOf(body).Name()] = name
	}
	var out []plan.EventType
	for _, function := range functions {
		names := casesOf(t, function)
		if len(names) == 0 {
			t.Fatalf("no function %s with a type switch over bodies of events", function)
		}
		for _, name := range names {
			if event, ok := bodies[name]; ok {
				out = append(out, event)
			}
		}
	}
	return out
}

// casesOf returns the names X of all plan.X in the cases of a function.
func casesOf(t testing.TB, function string) []string {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && nameOf(f) == function {
				names = append(names, switched(f)...)
			}
		}
	}
	return names
}

// nameOf is the name of a function, for a method after that of its type.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if typ, ok := receiver.(*ast.Ident); ok {
		return typ.Name + "." + f.Name.Name
	}
	return f.Name.Name
}

// switched returns the names in the cases of the type switches of a function.
func switched(f *ast.FuncDecl) []string {
	var names []string
	ast.Inspect(f, func(n ast.Node) bool {
		types, ok := n.(*ast.TypeSwitchStmt)
		if !ok {
			return true
		}
		for _, clause := range types.Body.List {
			for _, expr := range clause.(*ast.CaseClause).List {
				if sel, ok := expr.(*ast.SelectorExpr); ok {
					names = append(names, sel.Sel.Name)
				}
			}
		}
		return true
	})
	return names
}
