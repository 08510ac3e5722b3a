//go:build unix

package trust_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/plan-engine/plan/config/trust"
)

// What a command names can be a pipe by the time that it is read: no writer is
// waited for.
func TestACommandIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(root, "hook"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "Makefile"), []byte("all:\n\t./hook\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	programs := trust.Programs(root, "./hook", true)
	if sum, err := trust.Command(root, "pre_tool_use", "./hook", programs); err == nil && len(programs) > 0 {
		t.Errorf("the digest of a pipe is %s (%q)", sum, programs)
	}
	if sum, err := trust.Files(root, []string{"hook"}); err == nil {
		t.Errorf("the digest of a pipe is %s", sum)
	}
}
