package git_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/plan-engine/plan/worktree/git"
)

// A child that is being forked elsewhere in the process holds git's output for a
// moment longer than git lives. Here it is one that git leaves behind.
func TestGitIsDoneOnlyWhenItsOutputIs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "git")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nsleep 0.6 &\necho said\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := git.At(path, os.Environ()).Run(t.Context(), git.Call{Dir: ".", Args: []string{"status"}})
	if err != nil || out != "said\n" {
		t.Errorf("%q, %v", out, err)
	}
}
