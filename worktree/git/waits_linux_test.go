package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/worktree/git"
)

// A pipe where git looks for a file stops no command: which it is, is said.
func TestNothingWaitsForAPipe(t *testing.T) {
	t.Parallel()
	for name, pipe := range map[string]string{
		"rules of a folder": "sub/.gitignore",
		"attributes":        ".gitattributes",
		"rules":             ".git/info/exclude",
		"the index":         ".git/index",
		"packed refs":       ".git/packed-refs",
		"an included file":  "included",
		"settings of old":   ".git/config.worktree",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			gittest.Git(t, dir, "init", "-q")
			gittest.Write(t, dir, map[string]string{"sub/file": "", "file": ""})
			gittest.Git(t, dir, "add", "file")
			gittest.Git(t, dir, "config", "include.path", "../included")
			gittest.Git(t, dir, "config", "extensions.worktreeConfig", "true")
			program, ok := git.Find(dir)
			if !ok {
				t.Fatal("no git")
			}
			// Only where a file looks changed does git read it, and its attributes.
			if err := os.Chtimes(filepath.Join(dir, "file"), time.Time{}, time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, pipe)
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			guarded, err := program.Guard(t.Context(), dir, filepath.Join(dir, ".git"))
			if err == nil {
				_, err = guarded.Run(t.Context(), git.Call{Dir: dir, Args: []string{"status", "--porcelain", "-uall"}})
			}
			if err == nil {
				_, err = guarded.Run(t.Context(), git.Call{Dir: dir, Args: []string{"for-each-ref"}})
			}
			var waited *git.NoFileError
			if !errors.As(err, &waited) || filepath.Clean(waited.Path) != path {
				t.Errorf("after %v: %v", time.Since(begin), err)
			}
		})
	}
}

// Nor does a link to a device that never ends: git would read until there is no memory.
func TestNothingIsReadWithoutEnd(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, dir, "init", "-q")
	if err := os.Symlink("/dev/zero", filepath.Join(dir, ".git/objects/info/alternates")); err != nil {
		t.Fatal(err)
	}
	program, ok := git.Find(dir)
	if !ok {
		t.Fatal("no git")
	}
	_, err = program.Run(t.Context(), git.Call{Dir: dir, Args: []string{"cat-file", "--batch-all-objects", "--batch-check"}})
	var read *git.NoFileError
	if !errors.As(err, &read) || !read.Device || read.Path != "/dev/zero" || read.Hint() == "" {
		t.Errorf("it ends with %v", err)
	}
}
