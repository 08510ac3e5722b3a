package worktree_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// logged puts a git on the PATH that writes into a file what it is asked, as far as it
// may write there, and returns what reads that.
func logged(t *testing.T, log string) (asked func() string) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho \"$@\" 2>/dev/null >>'%s'\nexec '%s' \"$@\"\n", log, real)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return func() string {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// A review asks for the same trees before each of its trials: git is asked once, and
// again when what it made is gone.
//
//nolint:paralleltest // it sets the PATH
func TestGitIsAskedOnceForTheSameTrees(t *testing.T) {
	_, dir := start(t, map[string]string{"a": "a", "test": "t"})
	asked := logged(t, filepath.Join(dir, ".git", "log"))
	r := open(t, dir)
	from := tree(t, r)
	put(t, dir, map[string]string{"a": "x", "test": "x"})
	to := tree(t, r)
	v := views(t, r, "HEAD")
	look := func(isTest func(string) bool) string {
		counter, err := v.Counter(t.Context(), from, to, isTest)
		if err != nil {
			t.Fatal(err)
		}
		if !v.AtBase(t.Context(), from) || v.AtBase(t.Context(), counter) {
			t.Error("it does not know the tree that the run began at")
		}
		if puts, err := v.Files(t.Context(), to, counter); err != nil || len(puts) != 1 {
			t.Errorf("%v, %v", puts, err)
		}
		if _, err := v.Git(t.Context(), from, counter, false); err != nil {
			t.Error(err)
		}
		return counter
	}
	first, once := look(isTest), asked()
	if again := look(isTest); again != first || asked() != once {
		t.Errorf("%s, then %s; git was asked again:\n%s", first, again, strings.TrimPrefix(asked(), once))
	}
	if other := look(func(path string) bool { return path == "a" }); other == first {
		t.Error("what counts as a test makes no difference")
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if again := look(isTest); again != first {
		t.Errorf("%s, and once the views were closed %s", first, again)
	}
}

// A tree that was not touched is listed and not written again; what its list does not
// show, such as the rules of what is ignored, makes it be written.
//
//nolint:paralleltest // it sets the PATH
func TestATreeThatIsAsItWasIsNotWrittenAgain(t *testing.T) {
	_, dir := start(t, map[string]string{"a": "a"})
	asked := logged(t, filepath.Join(dir, ".git", "log"))
	r := open(t, dir)
	put(t, dir, map[string]string{"a": "x", "new": "n"})
	first := tree(t, r)
	look := func() (id string, writes int) {
		before := strings.Count(asked(), "write-tree")
		id = tree(t, r)
		return id, strings.Count(asked(), "write-tree") - before
	}
	second, _ := look() // from the index that the first look kept
	if third, writes := look(); third != first || second != first || writes != 0 {
		t.Errorf("%s, %s, then %s with %d writes", first, second, third, writes)
	}
	put(t, dir, map[string]string{".git/info/exclude": "new\n"})
	ignored, writes := look()
	if ignored == first || writes == 0 {
		t.Errorf("a file that is ignored now is still in the tree: %s with %d writes", ignored, writes)
	}
	put(t, dir, map[string]string{"a": "y"})
	if changed, _ := look(); changed == ignored {
		t.Error("a change is not seen")
	}
}

// A snapshot of a tree that was not touched takes three processes of git: one lists the
// tree, one makes the commit on HEAD, one the ref.
//
//nolint:paralleltest // it sets the PATH
func TestASnapshotTakesThreeProcesses(t *testing.T) {
	_, dir := start(t, map[string]string{"a": "a"})
	asked := logged(t, filepath.Join(dir, ".git", "log"))
	r := open(t, dir)
	put(t, dir, map[string]string{"a": "x"})
	if _, err := r.Snapshot(t.Context(), "R", "first"); err != nil {
		t.Fatal(err)
	}
	before := asked()
	snap, err := r.Snapshot(t.Context(), "R", "second") // it begins with the index that the first kept
	if err != nil {
		t.Fatal(err)
	}
	commands := strings.TrimPrefix(asked(), before)
	if n := strings.Count(commands, "\n"); n != 3 {
		t.Errorf("%d processes:\n%s", n, commands)
	}
	if got, want := git(t, dir, "rev-parse", snap.Ref+"^"), git(t, dir, "rev-parse", "HEAD"); got != want {
		t.Errorf("it is on top of %s, and HEAD is %s", got, want)
	}
}
