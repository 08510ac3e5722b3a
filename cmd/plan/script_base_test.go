package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// copyBase copies the base repository and the base scenarios to dir.
func copyBase(dir string) error {
	if err := os.CopyFS(dir, os.DirFS("testdata/base")); err != nil {
		return fmt.Errorf("copy the base files: %w", err)
	}
	// A go.mod in testdata would make a module of it.
	mod := filepath.Join(dir, "repo", "go.mod")
	if err := os.Rename(mod+".txt", mod); err != nil {
		return fmt.Errorf("name go.mod: %w", err)
	}
	return nil
}

// scriptGoFlags are what go is run with in scripts: the same packages are the same
// in any folder, and the linker leaves out what no script looks at.
const scriptGoFlags = "-trimpath -ldflags=-w -vet=off"

// warmGo has go build once, into its own cache, what the base repository's test
// needs of the standard library. Commands behind a wall read that cache and cannot
// add to it: each wall would build it all again.
var warmGo = sync.OnceValue(func() error {
	dir, err := os.MkdirTemp(programs, "base")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	if err := copyBase(dir); err != nil {
		return err
	}
	compile := exec.Command("go", "test", "-c", "-o", os.DevNull)
	compile.Dir = filepath.Join(dir, "repo")
	compile.Env = append(os.Environ(), "GOFLAGS="+scriptGoFlags, "GOPROXY=off")
	if out, err := compile.CombinedOutput(); err != nil {
		return fmt.Errorf("build the base repository's test: %w\n%s", err, out)
	}
	return nil
})

// cmdGolang has the base repository tested by go, and the base scenarios name that.
func cmdGolang(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: golang")
	}
	ts.Check(os.Remove(ts.MkAbs("repo/Makefile")))
	names := strings.NewReplacer("make  test", "go  test ./...", "make test", "go test ./...")
	for _, name := range []string{"explore.toml", "done.toml"} {
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(names.Replace(ts.ReadFile(name))), 0o600))
	}
}
