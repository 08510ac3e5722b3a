package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/plan-engine/plan/sandbox"
)

// A level that mounts keeps what is there as it is. What is not there yet, and says
// which programs others run, must not be there afterwards.
func TestNewCodeIsRemoved(t *testing.T) {
	t.Parallel()
	for _, level := range sandbox.Levels() {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			if err := sandbox.Try(t.Context(), level, newShell(t), os.Environ()); err != nil {
				t.Logf("no such wall here: %v", err)
				return
			}
			y := newYard(t)
			in := func(name string) string { return filepath.Join(y.tree, name) }
			put := func(name, text string) {
				t.Helper()
				if err := errors.Join(os.MkdirAll(filepath.Dir(in(name)), 0o755), os.WriteFile(in(name), []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			put("git/config", "before\n")
			put("git/tool/file", "before\n")
			w, run := y.wall(t, level, sandbox.Policy{
				Fixed:  []string{in("git/config"), in("git/commondir")},
				Code:   []string{in("git/config"), in("git/commondir"), in("git/objects/info/alternates")},
				CodeIn: []sandbox.CodeDir{{Dir: in("git"), Data: []string{"objects", "*_HEAD"}}},
			})
			run("cd git; mkdir -p objects/info remotes; echo x | tee commondir config.worktree remotes/origin " +
				"objects/info/alternates objects/data MERGE_HEAD tool/file >/dev/null; ls")
			err := w.Close()
			var breach *sandbox.Breach
			if !errors.As(err, &breach) || !slices.Contains(breach.PutBack, in("git/config.worktree")) {
				t.Errorf("nothing is said of it: %v", err)
			}
			for name, want := range map[string]bool{
				"config": true, "objects/data": true, "MERGE_HEAD": true, "tool/file": true,
				"commondir": false, "config.worktree": false, "remotes": false, "objects/info/alternates": false,
			} {
				if _, err := os.Lstat(in("git/" + name)); (err == nil) != want {
					t.Errorf("%s is there: %v", name, err == nil)
				}
			}
		})
	}
}
