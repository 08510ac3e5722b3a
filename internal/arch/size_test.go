package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestSizes holds files, functions and interfaces to what AGENTS.md says. Tables of tests may be
// as long as their file.
func TestSizes(t *testing.T) {
	t.Parallel()
	const root, mostFunc, mostMethods = "../..", 80, 3
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || path != root && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ofTest, most := strings.HasSuffix(path, "_test.go"), 400
		if ofTest {
			most = 500
		}
		if lines := set.File(file.Pos()).LineCount(); lines >= most {
			t.Errorf("%s has %d lines, and is to have less than %d", path, lines, most)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				lines := set.Position(n.End()).Line - set.Position(n.Pos()).Line + 1
				if !ofTest && lines > mostFunc {
					t.Errorf("%s: %s has %d lines, and may have %d", path, n.Name.Name, lines, mostFunc)
				}
			case *ast.TypeSpec:
				if of, ok := n.Type.(*ast.InterfaceType); ok && len(of.Methods.List) > mostMethods {
					t.Errorf("%s: %s has %d methods, and may have %d", path, n.Name.Name, len(of.Methods.List), mostMethods)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 1000 {
		t.Errorf("%d files were looked at: there are more", files)
	}
}
