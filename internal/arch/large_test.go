package arch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// maxTracked is the size in bytes up to which a file may be in the repository.
const maxTracked = 1 << 20

// Nothing large is tracked: a program that go build left beside the sources was once,
// and everyone who clones the repository has its 97 MB.
func TestNothingLargeIsTracked(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	out, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(root, name))
		if err == nil && info.Size() > maxTracked {
			t.Errorf("%s has %d bytes, more than the %d that a tracked file may have", name, info.Size(), maxTracked)
		}
	}
}
