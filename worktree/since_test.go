package worktree_test

import (
	"strings"
	"testing"
)

func TestSince(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"a": "1"})
	git(t, dir, "branch", "-M", "main")
	first := git(t, dir, "rev-parse", "HEAD")
	git(t, dir, "checkout", "-q", "-b", "work")
	for _, word := range []string{"one", "two"} {
		put(t, dir, map[string]string{word: word})
		git(t, dir, "add", "-A")
		git(t, dir, "commit", "-q", "-m", word)
	}
	second := git(t, dir, "rev-parse", "HEAD~")
	git(t, dir, "tag", "v1", second)
	git(t, dir, "checkout", "-q", "main")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "main went on")
	git(t, dir, "checkout", "-q", "work")
	alone := git(t, dir, "commit-tree", "HEAD^{tree}", "-m", "unrelated")

	since := func(ref, wantRef, wantCommit, wantMessages string) {
		t.Helper()
		s, err := r.Since(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		if s.Ref != wantRef || s.Commit != wantCommit || s.Tree != git(t, dir, "rev-parse", wantCommit+"^{tree}") {
			t.Errorf("since %q: %+v", ref, s)
		}
		if got := strings.Join(strings.Fields(s.Messages), " "); got != wantMessages {
			t.Errorf("since %q it says %q", ref, got)
		}
	}
	since("", "main", first, "one two")
	since("main", "main", first, "one two")
	since("v1", "v1", second, "two")
	since("HEAD", "HEAD", git(t, dir, "rev-parse", "HEAD"), "")

	// Where it came from counts before what is here, and the project before a fork.
	git(t, dir, "update-ref", "refs/remotes/origin/main", second)
	since("", "origin/main", second, "two")
	git(t, dir, "update-ref", "refs/remotes/upstream/trunk", first)
	git(t, dir, "symbolic-ref", "refs/remotes/upstream/HEAD", "refs/remotes/upstream/trunk")
	since("", "upstream/HEAD", first, "one two")

	for ref, want := range map[string]string{
		alone: "no commit in common", "nowhere": "no branch, tag or commit", "--all": "no branch, tag or commit",
	} {
		if s, err := r.Since(t.Context(), ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("since %q: %+v, %v; want %q", ref, s, err, want)
		}
	}

	put(t, dir, map[string]string{"long": "x"})
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", strings.Repeat("many words ", 6000))
	if s, err := r.Since(t.Context(), "HEAD~"); err != nil || len(s.Messages) > 33<<10 ||
		!strings.HasSuffix(s.Messages, "left out]") {
		t.Errorf("%d bytes of messages, %v", len(s.Messages), err)
	}
}
