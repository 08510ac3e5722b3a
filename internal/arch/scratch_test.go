package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/plan-engine/plan/internal/scratch"
)

// A folder with a name that a sweep looks for is made with its lock, or the next run
// to begin takes it for one that a killed process left: apply and restore lost the
// index that they were reading that way.
func TestSweptFoldersAreMadeWithTheirLock(t *testing.T) {
	t.Parallel()
	if len(sweptFolders(t, "x.go", `package x; var d, _ = os.MkdirTemp(in, "plan-index-")`)) != 1 {
		t.Error("a folder that is made without its lock is not found")
	}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, at := range sweptFolders(t, path, nil) {
			t.Errorf("%s makes a folder that is swept: use internal/scratch", at)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// sweptFolders lists the calls of a file that make a folder with such a name.
func sweptFolders(t *testing.T, path string, source any) []string {
	t.Helper()
	if filepath.Base(filepath.Dir(path)) == "scratch" {
		return nil
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		made, ok := call.Fun.(*ast.SelectorExpr)
		name, literal := call.Args[1].(*ast.BasicLit)
		if !ok || !literal || made.Sel.Name != "MkdirTemp" {
			return true
		}
		value, _ := strconv.Unquote(name.Value)
		for _, prefix := range append(scratch.Temporary(), scratch.Clone, scratch.Draft) {
			if strings.HasPrefix(value, prefix) {
				found = append(found, set.Position(name.Pos()).String())
			}
		}
		return true
	})
	return found
}
