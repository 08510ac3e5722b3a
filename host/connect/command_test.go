package connect_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/plan-engine/plan/host/connect"
)

// A command that prints a key finds no program in the work tree, neither by the PATH nor
// where plan stands.
func TestACommandForAKeyRunsNothingOfTheTree(t *testing.T) {
	dir := t.TempDir()
	tree, own := filepath.Join(dir, "tree"), filepath.Join(dir, "own")
	for name, says := range map[string]string{
		filepath.Join(tree, "bin", "getkey"): "evil",
		filepath.Join(tree, "bin", "sh"):     "evil",
		filepath.Join(tree, "getkey"):        "evil",
		filepath.Join(own, "getkey"):         "key",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("#!/bin/sh\necho "+says+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(tree)
	t.Setenv("PATH", filepath.Join(tree, "bin")+":.:"+own+":"+os.Getenv("PATH"))
	to := connect.Connector{Environ: append(os.Environ(), "HOME="+own), Tree: tree}
	for _, line := range []string{"getkey", "./getkey"} {
		if got, err := to.KeyCommand(t.Context(), line); err != nil || got != "key\n" {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
}
