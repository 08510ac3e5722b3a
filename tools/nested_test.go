package tools_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/plan-engine/plan/tools"
)

// Folders of the tree can be repositories with settings of their own, and folders
// that look like the data of one. Git, asked about such a place, would fetch what it
// lacks with a program that the settings name.
func TestSearchRunsNothingOfTheTree(t *testing.T) {
	t.Parallel()
	dir := plant(t, files{"a.txt": "x", "nested/b.txt": "x", "nested/skipped": "x", "nested/.gitignore": "skipped\n"})
	mark := filepath.Join(t.TempDir(), "ran")
	script := `set -e
	git init -q .; git add a.txt
	cd nested; git init -q .
	export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a
	mkdir sub; echo c.txt >sub/.gitignore; touch sub/d.txt; git add sub; git commit -qm x; touch sub/e.txt
	git config core.sshCommand "touch ` + mark + `; false"; git config remote.o.url ssh://nowhere.invalid/x
	git config remote.o.promisor true; git config extensions.partialClone o; git config core.repositoryFormatVersion 1
	git update-index --skip-worktree sub/.gitignore; rm sub/.gitignore; rm -f .git/objects/*/*
	cp -r . ../shape; cd ../shape; mv .git/* .; rm -r .git; git config -f config core.worktree .
	`
	sh := func(line string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	sh(script)
	for _, at := range []string{"nested", "shape"} {
		sh("git -C " + at + " ls-files -o --exclude-standard >/dev/null 2>&1 || true")
		if err := os.Remove(mark); err != nil {
			t.Fatalf("git does not run it in %s either, so this proves nothing: %v", at, err)
		}
	}
	set := openSet(t, tools.Config{Root: dir})
	for at, want := range map[string]string{
		"":           "a.txt\nnested/b.txt\nnested/sub/d.txt\nnested/sub/e.txt\nshape/b.txt\nshape/sub/d.txt\nshape/sub/e.txt\n",
		"nested":     "nested/b.txt\nnested/sub/d.txt\nnested/sub/e.txt\n",
		"nested/sub": "nested/sub/d.txt\nnested/sub/e.txt\n",
		"shape":      "shape/b.txt\nshape/sub/d.txt\nshape/sub/e.txt\n",
	} {
		sameText(t, ask(t, set, "glob", args{"pattern": "*.txt", "path": at}).Output, want)
		ask(t, set, "grep", args{"pattern": "x", "path": at})
		ask(t, set, "list_dir", args{"path": at})
		if os.Remove(mark) == nil {
			t.Errorf("a search in %q ran it", at)
		}
	}
	sameText(t, ask(t, set, "glob", args{"pattern": "skipped", "path": "nested"}).Output,
		"no file below nested matches the glob skipped (4 files are there)\n")
}
