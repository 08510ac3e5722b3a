package worktree_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A process that may write the tree may put a repository with settings of its own where
// a submodule is. Git, asked what differs in there, would run what they name.
func TestASubmodulesSettingsRunNothing(t *testing.T) {
	t.Parallel()
	_, lib := start(t, map[string]string{"lib.txt": "one"})
	r, dir := start(t, map[string]string{"f": "x"})
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "lib")
	git(t, dir, "commit", "-q", "-m", "submodule")
	sub, mark := filepath.Join(dir, "lib"), filepath.Join(t.TempDir(), "ran")
	remove(t, sub, ".git")
	git(t, sub, "init", "-q")
	git(t, sub, "config", "filter.evil.clean", "touch "+mark+"; cat")
	commit(t, sub, map[string]string{"lib.txt": "two", ".gitattributes": "*.txt filter=evil\n"})
	ran := func() bool { // and changes the files for the next time; git need not read those whose size changed
		err := os.Remove(mark)
		put(t, dir, map[string]string{"lib/lib.txt": map[bool]string{true: "six", false: "two"}[get(t, dir, "lib/lib.txt") == "two"], "f": get(t, dir, "f") + "y"})
		return err == nil
	}
	ran()
	git(t, dir, "status", "--porcelain")
	if !ran() {
		t.Fatal("git does not run it either, so this proves nothing")
	}
	for name, do := range map[string]func() error{
		"Tree":            func() error { tree(t, r); return nil },
		"Standing":        func() error { _, err := r.Standing(t.Context()); return err },
		"Files":           func() error { _, err := r.Files(t.Context()); return err },
		"DirtySubmodules": func() error { _, err := r.DirtySubmodules(t.Context()); return err },
		"InSubmodules":    func() error { _, err := r.InSubmodules(t.Context()); return err },
	} {
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if ran() {
			t.Errorf("%s ran it", name)
		}
	}
	now, err := r.Standing(t.Context())
	if err != nil || len(now.Submodules) != 1 || now.Submodules[0] != "lib" {
		t.Errorf("%+v, %v", now, err)
	}
	if inside, err := r.InSubmodules(t.Context()); err != nil || !strings.Contains(inside, "Submodule lib has settings of its own") {
		t.Errorf("%q, %v", inside, err)
	}
	if got := git(t, dir, "ls-tree", tree(t, r), "lib"); !strings.Contains(got, git(t, sub, "rev-parse", "HEAD")) {
		t.Errorf("the snapshot does not hold the submodule's commit: %s", got)
	}
}
