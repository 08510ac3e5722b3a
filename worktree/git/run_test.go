package git_test

import (
	"os"
	"path/filepath"
	"strings"
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

// Git syncs what the journal says is kept, whatever the repository's settings say.
func TestGitSyncs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, ok := git.Find("")
	if !ok {
		t.Fatal("there is no git")
	}
	run := func(index bool, args ...string) string {
		out, err := program.Run(t.Context(), git.Call{
			Dir:    dir,
			Index:  index,
			Writes: []string{dir},
			Args:   args,
		})
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	run(false, "init", "-q")
	run(false, "config", "core.fsync", "none")
	for index, want := range map[bool]string{false: "committed,derived-metadata,reference", true: "all"} {
		if got := run(index, "config", "core.fsync"); got != want {
			t.Errorf("index %v: it syncs %s, want %s", index, got, want)
		}
	}
	if got := run(false, "config", "core.fsyncMethod"); got != "batch" {
		t.Errorf("it syncs by %s", got)
	}
}
