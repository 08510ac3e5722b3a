package worktree_test

import (
	"os"
	"path/filepath"
	"testing"
)

// A git that was killed while it wrote a snapshot's ref has left its lock. Whatever
// writes that ref next takes it away; a lock that is not plan's own stays.
func TestLocksOfKilledGitsAreTakenAway(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"a": "x"})
	lock := func(ref string) string {
		t.Helper()
		path := filepath.Join(dir, ".git", filepath.FromSlash(ref)+".lock")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	heads := lock("refs/heads/other")
	lock("refs/plan/R/start")
	if _, err := r.Snapshot(t.Context(), "R", "start"); err != nil {
		t.Errorf("the lock of a snapshot stays: %v", err)
	}
	lock("refs/plan/R/start")
	if err := r.Forget(t.Context(), "R", "start"); err != nil {
		t.Errorf("the lock of a snapshot that goes stays: %v", err)
	}
	if kept, err := r.Kept(t.Context(), "R"); err != nil || len(kept) > 0 {
		t.Errorf("kept %v, %v", kept, err)
	}
	if _, err := os.Lstat(heads); err != nil {
		t.Errorf("the lock of a branch is gone: %v", err)
	}
}
