package worktree_test

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/worktree"
	gitprogram "github.com/plan-engine/plan/worktree/git"
)

// A pipe that keeps git from reading HEAD is named, and no advice is given that would have
// a person wait for it, or commit to a repository that has commits.
func TestOpenNamesThePipe(t *testing.T) {
	t.Parallel()
	for _, pipe := range []string{".git/packed-refs", ".git/shallow", ".git/objects/info/alternates"} {
		t.Run(filepath.Base(pipe), func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			commit(t, dir, map[string]string{"f": "x"})
			if pipe == ".git/packed-refs" {
				git(t, dir, "pack-refs", "--all")
				if err := syscall.Unlink(filepath.Join(dir, pipe)); err != nil {
					t.Fatal(err)
				}
			}
			if err := syscall.Mkfifo(filepath.Join(dir, pipe), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := worktree.Open(t.Context(), dir)
			var stuck *gitprogram.NoFileError
			if !errors.As(err, &stuck) || !strings.HasSuffix(stuck.Path, pipe) || !strings.HasPrefix(hint.Of(err), "Remove it") {
				t.Errorf("it says %v: %s", err, hint.Of(err))
			}
		})
	}
}
