package durable_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/plan-engine/plan/internal/durable"
)

func TestReplace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"first", "second"} {
		if err := durable.Replace(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("read %q, %v", got, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestAFailedWriteLeavesTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, broken := filepath.Join(dir, "file"), errors.New("broken")
	if err := durable.Replace(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := durable.Write(path, 0o600, func(to io.Writer) error {
		_, _ = io.WriteString(to, "half")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
		t.Errorf("read %q, %v", got, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if durable.Replace(filepath.Join(dir, "none", "file"), nil, 0o600) == nil {
		t.Error("a file in a directory that is not there can be written")
	}
}
