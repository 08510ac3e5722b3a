package scratch_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/plan-engine/plan/internal/scratch"
)

func TestRemove(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	inner := filepath.Join(dir, "module", "v1")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(inner, "go.mod"), []byte("module x\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	for _, closed := range []string{inner, filepath.Dir(inner)} {
		if err := os.Chmod(closed, 0); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time there is nothing
		if err := scratch.Remove(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(dir); !os.IsNotExist(err) {
			t.Fatalf("it is still there: %v", err)
		}
	}
}
