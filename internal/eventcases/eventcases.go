// Package eventcases lets the tests of a package ask its source which types of
// events a function names in the cases of its type switches, so that a new type
// that a view forgets is a failing test.
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
)

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
