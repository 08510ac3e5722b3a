package worktree

import (
	"os"
	"path/filepath"
	"testing"
)

// A child that is being forked elsewhere in the process holds git's output for a
// moment longer than git lives. Here it is one that git leaves behind.
func TestGitIsDoneOnlyWhenItsOutputIs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "git")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nsleep 0.6 &\necho said\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := program{path: path, env: os.Environ()}.run(t.Context(), call{dir: ".", args: []string{"status"}})
	if err != nil || out != "said\n" {
		t.Errorf("%q, %v", out, err)
	}
}
