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

// startsGit are the only places that may name the git program to start it:
// worktree/git for plan, and what makes repositories for tests and measurements.
var startsGit = []string{"worktree/git", "bench", "cmd/plan/demo", "internal/gittest"}

// One place runs git, so that nothing of a work tree runs with it. This finds calls
// that start a program, or look for one, with the word "git" among their arguments.
func TestOnePlaceRunsGit(t *testing.T) {
	t.Parallel()
	if found := gitStarts(t, "x.go", `package x; var _ = exec.Command(ctx, "git", "push")`); len(found) != 1 {
		t.Errorf("a call that starts git is found %d times", len(found))
	}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, dir := range startsGit {
			if strings.HasPrefix(filepath.ToSlash(rel), dir+"/") {
				return nil
			}
		}
		for _, at := range gitStarts(t, path, nil) {
			t.Errorf("%s starts git: use worktree/git", at)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// gitStarts lists the calls in a file that start git.
func gitStarts(t *testing.T, path string, source any) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		from, ok := name.X.(*ast.Ident)
		if !ok || from.Name != "exec" && from.Name != "syscall" && name.Sel.Name != "StartProcess" {
			return true
		}
		for _, arg := range call.Args {
			ast.Inspect(arg, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && (text.Value == `"git"` || strings.HasSuffix(text.Value, `/git"`)) {
					found = append(found, set.Position(call.Pos()).String())
				}
				return true
			})
		}
		return true
	})
	return found
}
