package worktree_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/worktree"
)

// committing is set for the process that TestKilledCommits kills: work tree, trees and intent.
const committing = "PLAN_TEST_COMMITTING"

// commitAndExit is that process.
func commitAndExit(of string) {
	args := strings.Split(of, ":")
	ctx := context.Background()
	r, err := worktree.Open(ctx, args[0])
	if err == nil {
		_, _, err = r.MergeCommit(ctx, args[1], args[2], "y", worktree.Options{Intent: args[3]})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A plan that was killed together with its git while it committed has left the locks of
// the user's tree. Its intent names them: who next holds the tree takes them away, and
// has the index follow where the branch was moved. The lock of another git stays.
func TestFinishACommit(t *testing.T) {
	t.Parallel()
	const words = "plan moves the branch and the index\n"
	locks := map[string]string{
		".git/HEAD.lock":            "",
		".git/refs/heads/main.lock": "half",
		".git/index.lock":           words,
		".git/plan-index":           words,
		".git/plan-index.lock":      "",
	}
	for name, c := range map[string]struct {
		moved, followed bool
		status          string
	}{
		"the branch stays":          {status: " M a\n?? new"},
		"the branch was moved":      {moved: true},
		"the index followed it too": {moved: true, followed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, dir := start(t, map[string]string{"a": "x", "b": "x"})
			git(t, dir, "branch", "-M", "main")
			base, from := tree(t, r), git(t, dir, "rev-parse", "HEAD")
			put(t, dir, map[string]string{"a": "y", "new": "y"})
			theirs := tree(t, r)
			file := filepath.Join(t.TempDir(), "intent")
			to, _, err := r.MergeCommit(t.Context(), base, theirs, "y", worktree.Options{Intent: file})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(file); err == nil {
				t.Error("the intent stays after all is done")
			}
			if got := git(t, dir, "status", "--porcelain"); got != "" {
				t.Errorf("after a commit: %q", got)
			}
			if !c.moved {
				git(t, dir, "update-ref", "HEAD", from)
			}
			if !c.followed {
				git(t, dir, "read-tree", from)
			}
			put(t, dir, locks)
			text, err := json.Marshal(map[string]string{
				"root": dir, "from": from, "to": to, "branch": "refs/heads/main",
			})
			if err == nil {
				err = os.WriteFile(file, text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, found, err := r.Finish(t.Context(), file); err != nil || !found {
				t.Errorf("finish: %v, %v", found, err)
			}
			for left := range locks {
				if _, err := os.Lstat(filepath.Join(dir, left)); err == nil {
					t.Errorf("%s is left", left)
				}
			}
			if got := git(t, dir, "status", "--porcelain"); got != c.status {
				t.Errorf("status: %q", got)
			}
			put(t, dir, map[string]string{".git/index.lock": "", "b": "y"})
			if _, _, err := r.MergeCommit(t.Context(), theirs, tree(t, r), "z", worktree.Options{Intent: file}); err == nil {
				t.Error("the lock of another git was passed by")
			}
			if _, err := os.Lstat(filepath.Join(dir, ".git/index.lock")); err != nil {
				t.Errorf("the lock of another git: %v", err)
			}
			if _, err := os.Lstat(file); err == nil {
				t.Error("the intent stays where nothing was begun")
			}
		})
	}
}
