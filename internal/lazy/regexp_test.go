package lazy_test

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plan-engine/plan/internal/lazy"
)

func TestRegexpIsCompiledOnce(t *testing.T) {
	t.Parallel()
	word := lazy.Regexp(`^\w+$`)
	if !word().MatchString("word") || word().MatchString("two words") {
		t.Error("it is another expression")
	}
	if first, second := word(), word(); first != second {
		t.Error("it was compiled twice")
	}
}

// TestEveryExpressionCompiles tells of a wrong expression what a program would
// otherwise find out at its first use, and not when it starts.
func TestEveryExpressionCompiles(t *testing.T) {
	t.Parallel()
	found := 0
	err := filepath.WalkDir("../..", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		for where, pattern := range expressions(t, dir) {
			found++
			if _, err := regexp.Compile(pattern); err != nil {
				t.Errorf("%s: %v", where, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 50 {
		t.Errorf("found %d expressions; there are more", found)
	}
}

// expressions are the constants that a directory's files give to Regexp, by
// where they stand.
func expressions(t *testing.T, dir string) map[string]string {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	// Nothing is imported, so nearly nothing has a type; constants have.
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	_, _ = (&types.Config{Error: func(error) {}}).Check(dir, set, files, info)
	out := map[string]string{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if ok && len(call.Args) == 1 && types.ExprString(call.Fun) == "lazy.Regexp" {
				if v := info.Types[call.Args[0]].Value; v != nil {
					out[set.Position(call.Pos()).String()] = constant.StringVal(v)
				}
			}
			return true
		})
	}
	return out
}
