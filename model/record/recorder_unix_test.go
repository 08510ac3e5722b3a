//go:build unix

package record_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plan-engine/plan/model/record"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{dir, pipe, filepath.Join(dir, "none", "run.jsonl"), os.DevNull} {
		_, err := record.New(says("x"), file, nil)
		if err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("New(%s): %v, want an error with the file's name", file, err)
		}
	}
}
