package git_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan/worktree/git"
)

func TestWhatLeadsIntoTheTreeIsNoVariable(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree, other := filepath.Join(dir, "tree"), filepath.Join(dir, "other")
	for _, d := range []string{filepath.Join(tree, "bin"), other} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(tree, "bin/ask"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(tree, "bin/ask"), filepath.Join(dir, "ask")); err != nil {
		t.Fatal(err)
	}
	kept := []string{
		"HOME=" + tree, "PWD=" + tree, "XDG_CONFIG_HOME=" + tree + "/.config", "GIT_CONFIG_GLOBAL=" + tree + "/c",
		"SSH_AUTH_SOCK=" + tree + "/s", "TZ=Europe/Berlin", "PAGER=less -R", "LD_LIBRARY_PATH=" + dir + "/lib:/usr/lib",
		"GIT_SSH_COMMAND=ssh -i ~/.ssh/id -o ProxyCommand=/usr/bin/nc", "EMPTY=", "LS_COLORS=*.tar=01;31:*/x=3",
		"URL=https://host" + "/bin/ask", "GIT_AUTHOR_NAME=A/B",
	}
	left := []string{
		"LD_LIBRARY_PATH=/usr/lib:" + tree + "/lib", "LD_PRELOAD=" + tree + "/x.so", "GIT_ASKPASS=" + dir + "/ask",
		"GIT_SSH_COMMAND=ssh -o ProxyCommand='" + tree + "/proxy %h'", "EDITOR=bin/ask", "PAGER=./bin/ask -R",
		"NODE_OPTIONS=--max=1 --require=" + tree + "/x.js", "PERL5LIB=" + tree, "LDFLAGS=-L" + tree + "/lib",
		"GIT_EXEC_PATH=" + dir + "/other/../tree/bin", "BROWSER=" + other + "/browser %s", "OPENER=file://" + tree + "/x",
	}
	path := "PATH=" + strings.Join([]string{tree + "/bin", "/usr/bin", "bin", other, dir + "/other/../tree", ""}, ":")
	got := git.Clear(slices.Concat(kept, left, []string{path}), tree, func(path string) bool {
		return git.Inside(path, other)
	})
	if want := append(kept, "PATH=/usr/bin"); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestGitIsNoLinkIntoTheTree(t *testing.T) {
	dir := t.TempDir()
	tree, bin := filepath.Join(dir, "tree"), filepath.Join(dir, "bin")
	for _, d := range []string{tree, bin} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	fake := filepath.Join(tree, "git")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\necho git version evil\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(fake, filepath.Join(bin, "git")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for where, want := range map[string]bool{"": true, tree: false} {
		program, ok := git.Find(where)
		if !ok {
			t.Fatal("there is no git")
		}
		version, err := program.Version(t.Context())
		if err != nil || strings.Contains(version, "evil") != want {
			t.Errorf("tree %q: %q, %v", where, version, err)
		}
	}
}
