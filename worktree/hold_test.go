package worktree_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/worktree"
)

func TestHoldIsForOne(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"sub/f": "x"})
	linked := filepath.Join(tempDir(t), "linked")
	git(t, dir, "worktree", "add", "-q", "-b", "side", linked)
	locks := filepath.Join(tempDir(t), "locks")
	who := worktree.Holder{Run: "R1", PID: 42, Host: "here", Since: time.Unix(1700000000, 0).UTC()}

	first, err := r.Hold(t.Context(), locks, who)
	if err != nil {
		t.Fatal(err)
	}
	_, err = open(t, filepath.Join(dir, "sub")).Hold(t.Context(), locks, worktree.Holder{Run: "R2"})
	var busy *worktree.BusyError
	if !errors.As(err, &busy) {
		t.Fatalf("error %v, want a BusyError", err)
	}
	who.Root = dir
	if diff := cmp.Diff(who, busy.Holder); diff != "" {
		t.Errorf("holder (-want +got):\n%s", diff)
	}
	if text := err.Error(); !strings.Contains(text, "R1") || !strings.Contains(text, "42") || !strings.Contains(busy.Hint(), "--worktree") {
		t.Errorf("error %q, hint %q", text, busy.Hint())
	}

	other, err := open(t, linked).Hold(t.Context(), locks, worktree.Holder{Run: "R2"})
	if err != nil {
		t.Fatalf("another work tree of the repository: %v", err)
	}
	if err := errors.Join(first.Close(), other.Close()); err != nil {
		t.Fatal(err)
	}
	again, err := r.Hold(t.Context(), locks, worktree.Holder{Run: "R2"})
	if err != nil {
		t.Fatalf("after the first was closed: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestHoldSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x"})
	locks := filepath.Join(dir, "f") // a file
	if _, err := r.Hold(t.Context(), locks, worktree.Holder{}); err == nil || !strings.Contains(err.Error(), dir) || errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
