package worktree_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/worktree"
)

// An untracked file that is too large is left out as an ignored one is, and told of; so
// is one that becomes too large. A tracked one counts, and so does one of that size.
func TestLargeUntrackedFilesAreLeftOut(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"tracked": "x", "d/small": "x"})
	var told []string
	limited := r.WithLarge(worktree.Large{
		Most: 1000,
		Tell: func(paths []string, as worktree.Treatment) { told = append(told, fmt.Sprintln(as, paths)) },
	})
	grow := func(name string, size int64) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(dir, name), size); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(when string, want ...string) {
		t.Helper()
		told = nil
		tree, err := limited.Tree(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := git(t, dir, "ls-tree", "-r", "--name-only", tree)
		if diff := cmp.Diff(lines(want...), got); diff != "" {
			t.Errorf("%s: the tree (-want +got):\n%s", when, diff)
		}
		files, err := limited.Files(t.Context())
		if diff := cmp.Diff(want, files); err != nil || diff != "" {
			t.Errorf("%s: the files: %v\n%s", when, err, diff)
		}
	}
	grow("tracked", 5000)
	grow("d/big *[x]", 1001)
	grow("d/most", 1000)
	grow("grows", 10)
	holds("at first", "d/most", "d/small", "grows", "tracked")
	if diff := cmp.Diff([]string{"1 [d/big *[x]]\n"}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	grow("grows", 2000)
	holds("it has grown", "d/most", "d/small", "tracked")
	grow("grows", 900)
	holds("it has shrunk", "d/most", "d/small", "grows", "tracked")
	grow("huge", 5000)
	limited = limited.WithLarge(worktree.Large{
		Slow: 5000,
		Tell: func(paths []string, as worktree.Treatment) { told = append(told, fmt.Sprintln(as, paths)) },
	})
	told = nil
	if _, err := limited.Tree(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0 [huge]\n"}, told); diff != "" {
		t.Errorf("told of what is read (-want +got):\n%s", diff)
	}
}

func lines(all ...string) (text string) {
	for i, l := range all {
		if i > 0 {
			text += "\n"
		}
		text += l
	}
	return text
}

// What git takes nothing of is left out, and told of, and the rest is there: a run does not
// fail for what a command has made.
func TestWhatGitRefusesIsLeftOut(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{".gitmodules": "", "a": "x", "b": "x", "link": "x"})
	remove(t, dir, ".gitmodules")
	symlink(t, "a", dir, ".gitmodules")
	remove(t, dir, "link")
	symlink(t, "a", dir, "link")
	put(t, dir, map[string]string{".GIT/x": "x", "sub/git~1": "x", "sub/c": "x", "in/b": "y", "b": "y\r\n"})
	git(t, filepath.Join(dir, "in"), "init", "-q")
	symlink(t, "b", dir, "in/.gitmodules")
	var told []string
	r = r.WithLarge(worktree.Large{Tell: func(paths []string, as worktree.Treatment) {
		told = append(told, fmt.Sprintln(as, paths))
	}})
	for range 2 {
		seen, err := r.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{".GIT/x", ".gitmodules", "in/.gitmodules", "sub/git~1"}, seen.LeftOut); diff != "" {
			t.Errorf("left out (-want +got):\n%s", diff)
		}
		names := strings.Fields(git(t, dir, "ls-tree", "-r", "--name-only", seen.Tree))
		if diff := cmp.Diff([]string{"a", "b", "in/b", "link", "sub/c"}, names); diff != "" {
			t.Errorf("the tree has (-want +got):\n%s", diff)
		}
	}
	want := []string{"2 [.GIT/x .gitmodules sub/git~1]\n", "2 [in/.gitmodules]\n"}
	if diff := cmp.Diff(append(want, want...), told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
