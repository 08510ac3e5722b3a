package worktree_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/worktree"
)

func TestOpenFindsTheTop(t *testing.T) {
	t.Parallel()
	_, dir := start(t, map[string]string{"a/b/c": "x"})
	linked := filepath.Join(tempDir(t), "linked tree")
	git(t, dir, "worktree", "add", "-q", "-b", "side", linked)
	odd := filepath.Join(tempDir(t), "with space, ünïcode\nand a line")
	if err := os.Mkdir(odd, 0o755); err != nil {
		t.Fatal(err)
	}
	commit(t, odd, map[string]string{"-f": "x"})
	cases := map[string]struct{ dir, root, branch string }{
		"top":             {dir, dir, "main"},
		"subdirectory":    {filepath.Join(dir, "a/b"), dir, "main"},
		"linked worktree": {filepath.Join(linked, "a"), linked, "side"},
		"odd name":        {odd, odd, "main"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := open(t, c.dir)
			if r.Root() != c.root {
				t.Errorf("root %q, want %q", r.Root(), c.root)
			}
			branch, err := r.Branch(t.Context())
			if err != nil || branch != c.branch {
				t.Errorf("branch %q, %v; want %q", branch, err, c.branch)
			}
			head, err := r.Head(t.Context())
			if want := git(t, c.dir, "rev-parse", "HEAD"); err != nil || head != want {
				t.Errorf("head %q, %v; want %q", head, err, want)
			}
		})
	}
}

func TestBranchIsEmptyWhenDetached(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x"})
	git(t, dir, "checkout", "-q", "--detach")
	if branch, err := r.Branch(t.Context()); err != nil || branch != "" {
		t.Errorf("branch %q, %v", branch, err)
	}
	if now, err := r.Standing(t.Context()); err != nil || now.Branch != "" {
		t.Errorf("standing %+v, %v", now, err)
	}
	git(t, dir, "checkout", "-q", "-b", "feature/heads/x")
	if branch, err := r.Branch(t.Context()); err != nil || branch != "feature/heads/x" {
		t.Errorf("branch %q, %v", branch, err)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	for _, name := range []string{"plain", "empty", "bare", "lost", "broken"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, dir, map[string]string{"file": "x"})
	git(t, filepath.Join(dir, "empty"), "init", "-q")
	git(t, filepath.Join(dir, "bare"), "init", "-q", "--bare")
	commit(t, filepath.Join(dir, "lost"), map[string]string{"f": "x"})
	put(t, dir, map[string]string{"lost/.git/refs/heads/main": strings.Repeat("12", 20) + "\n"})
	commit(t, filepath.Join(dir, "broken"), nil)
	put(t, dir, map[string]string{"broken/.git/config": "[core\n"})
	cases := map[string]struct {
		dir  string
		want error
		says string
	}{
		"no repository":   {"plain", worktree.ErrNotRepo, "git init && git add -A && git commit"},
		"no commit":       {"empty", worktree.ErrNoCommits, "git add -A && git commit"},
		"bare":            {"bare", worktree.ErrBare, "git clone"},
		"inside .git":     {"lost/.git", worktree.ErrNotRepo, "inside a .git directory"},
		"commit is gone":  {"lost", worktree.ErrUnreadable, "commit that is not there"},
		"broken settings": {"broken", worktree.ErrUnreadable, "bad config line 1"},
		"no directory":    {"nowhere", os.ErrNotExist, "nowhere"},
		"a file":          {"file", nil, "not a directory"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := worktree.Open(t.Context(), filepath.Join(dir, c.dir))
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if text := err.Error(); !strings.Contains(text, c.says) || !strings.Contains(text, c.dir) || strings.Contains(text, "\n") {
				t.Errorf("error %q does not name %q and %q in one line", text, c.dir, c.says)
			}
		})
	}
}

func TestOpenWithoutGit(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := worktree.Open(t.Context(), t.TempDir()); !errors.Is(err, worktree.ErrNoGit) {
		t.Errorf("error %v, want ErrNoGit", err)
	}
}

func TestInheritedGitVariablesDoNotMislead(t *testing.T) {
	_, dir := start(t, map[string]string{"f": "x"})
	_, other := start(t, map[string]string{"g": "x"})
	t.Setenv("GIT_DIR", filepath.Join(other, ".git"))
	t.Setenv("GIT_WORK_TREE", other)
	t.Setenv("GIT_INDEX_FILE", filepath.Join(other, ".git/index"))
	t.Setenv("GIT_LITERAL_PATHSPECS", "1")
	t.Setenv("LC_ALL", "xx_XX.UTF-8")
	r := open(t, dir)
	if r.Root() != dir {
		t.Fatalf("opened %q", r.Root())
	}
	files, err := r.Files(t.Context())
	if err != nil || len(files) != 1 || files[0] != "f" {
		t.Errorf("files %q, %v", files, err)
	}
	put(t, dir, map[string]string{"nested/.git/HEAD": "ref: refs/heads/main\n", "nested/.git/objects/x": "", "nested/.git/refs/x": "", "nested/x": "x"})
	if _, err := r.Tree(t.Context()); err != nil { // takes a pathspec that is not literal
		t.Error(err)
	}
}

func TestOpenHeedsTheContext(t *testing.T) {
	t.Parallel()
	_, dir := start(t, map[string]string{"f": "x"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := worktree.Open(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestDirty(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(t *testing.T, dir string)
		want   bool
	}{
		"clean":           {func(*testing.T, string) {}, false},
		"modified":        {func(t *testing.T, dir string) { put(t, dir, map[string]string{"f": "changed"}) }, true},
		"deleted":         {func(t *testing.T, dir string) { remove(t, dir, "f") }, true},
		"untracked":       {func(t *testing.T, dir string) { put(t, dir, map[string]string{"new": "x"}) }, true},
		"ignored":         {func(t *testing.T, dir string) { put(t, dir, map[string]string{"a.log": "x"}) }, false},
		"empty directory": {func(t *testing.T, dir string) { _ = os.Mkdir(filepath.Join(dir, "d"), 0o755) }, false},
		"touched":         {func(t *testing.T, dir string) { put(t, dir, map[string]string{"f": "x"}) }, false},
		"linked worktree": {func(t *testing.T, dir string) { git(t, dir, "worktree", "add", "-q", "w/t") }, false},
		"nested repository": {func(t *testing.T, dir string) {
			put(t, dir, map[string]string{"n/x": ""})
			git(t, dir+"/n", "init", "-q")
		}, true},
		"hidden untracked": {func(t *testing.T, dir string) {
			git(t, dir, "config", "status.showUntrackedFiles", "no")
			put(t, dir, map[string]string{"new": "x"})
		}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, dir := start(t, map[string]string{"f": "x", ".gitignore": "*.log\n"})
			c.change(t, dir)
			head, branch := git(t, dir, "rev-parse", "HEAD"), git(t, dir, "branch", "--show-current")
			got, err := r.Standing(t.Context())
			if err != nil || got.Dirty != c.want || got.Head != head || got.Branch != branch {
				t.Errorf("standing %+v, %v; want %s at %s, dirty %v", got, err, branch, head, c.want)
			}
		})
	}
}

// A git that lies in the tree could have been written by a run.
func TestGitInTheTreeIsNotRun(t *testing.T) {
	_, dir := start(t, map[string]string{"f": "x"})
	mark := filepath.Join(t.TempDir(), "ran")
	put(t, dir, map[string]string{"bin/git": "#!/bin/sh\ntouch " + mark + "\nexec /bin/false\n"})
	if err := os.Chmod(filepath.Join(dir, "bin/git"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(dir, "bin"), link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+link+":bin:"+os.Getenv("PATH"))
	t.Chdir(dir)
	for _, at := range []string{dir, filepath.Join(dir, "bin")} {
		r, err := worktree.Open(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		tree(t, r)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("it was run")
	}
}
