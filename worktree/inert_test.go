package worktree_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/internal/sanitize"
)

// TestInertPatches: a patch that goes to a pipe does nothing to a terminal behind
// it, and git still applies it.
func TestInertPatches(t *testing.T) {
	t.Parallel()
	before := map[string]string{
		"plain": "a\nb\n", "évil": "x\n", "crlf": "a\r\nb\r\n", "moved": "1\n2\n3\n4\n5\n6\n\u202e\n", "latin": "\xe9\n", "gone": "\x07\n",
		".gitattributes": "* diff\n",
	}
	after := map[string]string{
		"plain": "a\nB\n", "évil": "x\x1b[2J\n", "crlf": "a\r\nB\r\n", "to": "1\n2\n3\n4\n5\n6\n\u202e\nx\n", "latin": "\xe9\xe9\n",
		"\u202eno": "\u009b31m", "zero": "a\u200bb\U000e0041\ufeff\u2028\n",
	}
	r, dir := start(t, before)
	from := git(t, dir, "rev-parse", "HEAD")
	remove(t, dir, "gone")
	remove(t, dir, "moved")
	put(t, dir, after)
	to := tree(t, r)
	for name, read := range map[string]func() (string, error){
		"a diff":  func() (string, error) { return r.Diff(t.Context(), from, to) },
		"a patch": func() (string, error) { return r.Patch(t.Context(), from, to) },
	} {
		text, err := read()
		if err != nil {
			t.Fatal(err)
		}
		if sanitize.IsInert(text) {
			t.Fatalf("%s shows nothing that acts", name)
		}
		patch, err := r.Inert(t.Context(), from, to, text)
		if err != nil {
			t.Fatal(err)
		}
		if !sanitize.IsInert(patch) || !strings.Contains(patch, "\n-b\n+B\n") || !strings.Contains(patch, "\n+B\r\n") {
			t.Errorf("%s:\n%q", name, patch)
		}
		copied := filepath.Join(t.TempDir(), "copy")
		git(t, dir, "clone", "-q", ".", copied)
		cmd := exec.Command("git", "apply", "-")
		cmd.Dir, cmd.Stdin = copied, strings.NewReader(patch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s\n%q", name, err, out, patch)
		}
		for file, want := range after {
			got, err := os.ReadFile(filepath.Join(copied, file))
			if err != nil || string(got) != want {
				t.Errorf("%s: %q is %q, want %q (%v)", name, file, got, want, err)
			}
		}
	}
}
