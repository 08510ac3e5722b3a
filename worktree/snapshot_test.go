package worktree_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/worktree"
)

func TestTreeHoldsTheWorkTreeAsItIs(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		init   []string
		change func(t *testing.T, dir string)
		want   []string
	}{
		"clean": {change: func(*testing.T, string) {}, want: []string{"100644 .gitignore", "100644 d/g", "100644 f"}},
		"added, deleted, ignored": {
			change: func(t *testing.T, dir string) {
				remove(t, dir, "f")
				put(t, dir, map[string]string{"new/x": "x", "a.log": "x", "d/a.log": "x"})
			},
			want: []string{"100644 .gitignore", "100644 d/g", "100644 new/x"},
		},
		"odd names": {
			change: func(t *testing.T, dir string) {
				put(t, dir, map[string]string{"-rf": "x", "sp ace": "x", "ünï": "x", "new\nline": "x", ":(top)x": "x", "*": "x", "\xff": "x"})
			},
			want: []string{
				"100644 *", "100644 -rf", "100644 .gitignore", "100644 :(top)x", "100644 d/g", "100644 f",
				"100644 new\nline", "100644 sp ace", "100644 ünï", "100644 \xff",
			},
		},
		"staged": {
			change: func(t *testing.T, dir string) {
				put(t, dir, map[string]string{"new": "x"})
				git(t, dir, "add", "new")
			},
			want: []string{"100644 .gitignore", "100644 d/g", "100644 f", "100644 new"},
		},
		"staged with the wish to add": {
			change: func(t *testing.T, dir string) {
				put(t, dir, map[string]string{"new": "x"})
				git(t, dir, "add", "-N", "new")
			},
			want: []string{"100644 .gitignore", "100644 d/g", "100644 f", "100644 new"},
		},
		"unstaged": {
			change: func(t *testing.T, dir string) { git(t, dir, "rm", "-q", "--cached", "f") },
			want:   []string{"100644 .gitignore", "100644 d/g", "100644 f"},
		},
		"committed since it was opened": {
			change: func(t *testing.T, dir string) { commit(t, dir, map[string]string{"new": "x"}) },
			want:   []string{"100644 .gitignore", "100644 d/g", "100644 f", "100644 new"},
		},
		"modes, links, empty directories": {
			change: func(t *testing.T, dir string) {
				if err := errors.Join(os.Chmod(filepath.Join(dir, "f"), 0o755), os.MkdirAll(filepath.Join(dir, "e/e"), 0o755)); err != nil {
					t.Fatal(err)
				}
				symlink(t, "nowhere", dir, "l")
			},
			want: []string{"100644 .gitignore", "100644 d/g", "100755 f", "120000 l"},
		},
		"file and directory change places": {
			change: func(t *testing.T, dir string) {
				remove(t, dir, "f")
				remove(t, dir, "d")
				put(t, dir, map[string]string{"f/x": "x", "d": "x"})
			},
			want: []string{"100644 .gitignore", "100644 d", "100644 f/x"},
		},
		"all gone": {
			change: func(t *testing.T, dir string) {
				remove(t, dir, "f")
				remove(t, dir, "d")
				remove(t, dir, ".gitignore")
			},
			want: nil,
		},
		"no index": {
			change: func(t *testing.T, dir string) { remove(t, dir, ".git/index") },
			want:   []string{"100644 .gitignore", "100644 d/g", "100644 f"},
		},
		"sha256": {
			init:   []string{"--object-format=sha256"},
			change: func(t *testing.T, dir string) { put(t, dir, map[string]string{"new": "x"}) },
			want:   []string{"100644 .gitignore", "100644 d/g", "100644 f", "100644 new"},
		},
		"split index": {
			change: func(t *testing.T, dir string) {
				git(t, dir, "update-index", "--split-index")
				put(t, dir, map[string]string{"new": "x"})
			},
			want: []string{"100644 .gitignore", "100644 d/g", "100644 f", "100644 new"},
		},
		"unmerged": {
			change: func(t *testing.T, dir string) {
				id := git(t, dir, "rev-parse", "HEAD:f")
				info := filepath.Join(t.TempDir(), "info")
				put(t, filepath.Dir(info), map[string]string{"info": fmt.Sprintf("100644 %s 1\tf\n100644 %s 2\tf\n", id, id)})
				git(t, dir, "rm", "-q", "--cached", "f")
				git(t, dir, "-c", "alias.feed=!git update-index --index-info <"+info, "feed")
			},
			want: []string{"100644 .gitignore", "100644 d/g", "100644 f"},
		},
		"sparse": {
			change: func(t *testing.T, dir string) {
				git(t, dir, "sparse-checkout", "set", "--no-cone", "/f")
				put(t, dir, map[string]string{"outside/new": "x"})
			},
			want: []string{"100644 .gitignore", "100644 d/g", "100644 f", "100644 outside/new"},
		},
		"nested repositories": {
			change: func(t *testing.T, dir string) {
				put(t, dir, map[string]string{"n/[*]/x": "x", "n/[*]/inner/y": "y", "n/[*]/a.log": "x", "n/[*]/.gitignore": "z\n", "n/[*]/z": "z"})
				git(t, dir+"/n/[*]", "init", "-q")
				commit(t, dir+"/n/[*]/inner", map[string]string{"y": "y"})
			},
			want: []string{"100644 .gitignore", "100644 d/g", "100644 f", "100644 n/[*]/.gitignore", "100644 n/[*]/a.log", "100644 n/[*]/inner/y", "100644 n/[*]/x"},
		},
		"nested repository in place of a file": {
			change: func(t *testing.T, dir string) {
				remove(t, dir, "f")
				put(t, dir, map[string]string{"f/x": "x"})
				git(t, dir+"/f", "init", "-q")
			},
			want: []string{"100644 .gitignore", "100644 d/g", "100644 f/x"},
		},
		"nested repository with a pattern for a name": {
			change: func(t *testing.T, dir string) {
				put(t, dir, map[string]string{"n*/x": "x", "nab": "x"})
				git(t, dir+"/n*", "init", "-q")
			},
			want: []string{"100644 .gitignore", "100644 d/g", "100644 f", "100644 n*/x", "100644 nab"},
		},
		"linked worktree in place of a file": {
			change: func(t *testing.T, dir string) {
				remove(t, dir, "f")
				git(t, dir, "worktree", "add", "-q", "f")
			},
			want: []string{"100644 .gitignore", "100644 d/g"},
		},
		"linked worktree inside": {
			change: func(t *testing.T, dir string) { git(t, dir, "worktree", "add", "-q", "trees/side") },
			want:   []string{"100644 .gitignore", "100644 d/g", "100644 f"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, dir := start(t, map[string]string{"f": "x", "d/g": "g", ".gitignore": "*.log\n"}, c.init...)
			c.change(t, dir)
			id := tree(t, r)
			if diff := cmp.Diff(c.want, content(t, dir, id)); diff != "" {
				t.Errorf("tree (-want +got):\n%s", diff)
			}
			if again := tree(t, r); again != id {
				t.Errorf("a second look gives %s, the first gave %s", again, id)
			}
		})
	}
}

func TestTreeSeesChangesGitWasToldToOverlook(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--assume-unchanged", "--skip-worktree"} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			r, dir := start(t, map[string]string{"a b": "x", "g": "x"})
			git(t, dir, "update-index", flag, "a b")
			put(t, dir, map[string]string{"a b": "changed"})
			if got := git(t, dir, "show", tree(t, r)+":a b"); got != "changed" {
				t.Errorf("the tree has %q", got)
			}
		})
	}
}

// A file that changes right after the index was written, with its size and
// time as before, is found only if the private index is as old as the real.
func TestTreeSeesLateChangesOfTheSameSize(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "old"})
	stamp := time.Unix(1700000000, 0)
	file, index := filepath.Join(dir, "f"), filepath.Join(dir, ".git/index")
	set := func(path string) {
		if err := os.Chtimes(path, stamp, stamp); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "config", "core.trustctime", "false")
	set(file)
	git(t, dir, "update-index", "--refresh")
	set(index)
	put(t, dir, map[string]string{"f": "new"})
	set(file)
	if got := git(t, dir, "show", tree(t, r)+":f"); got != "new" {
		t.Errorf("the tree has %q", got)
	}
}

func TestTreeIsTheSameUnderLineEndingSettings(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"core.autocrlf=true", "core.autocrlf=input", "core.eol=crlf"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			r, dir := start(t, map[string]string{".gitattributes": "* text=auto\n", "f": "a\nb\n"})
			want := git(t, dir, "rev-parse", "HEAD^{tree}")
			name, value, _ := strings.Cut(setting, "=")
			git(t, dir, "config", name, value)
			git(t, dir, "config", "core.safecrlf", "true")
			put(t, dir, map[string]string{"f": "a\r\nb\r\n"})
			if got := tree(t, r); got != want {
				t.Errorf("tree differs: %q", git(t, dir, "diff-tree", "-p", want, got))
			}
		})
	}
}

func TestTreeWithSubmodule(t *testing.T) {
	t.Parallel()
	_, lib := start(t, map[string]string{"lib.c": "x"})
	r, dir := start(t, map[string]string{"f": "x"})
	git(t, dir, "submodule", "--quiet", "add", lib, "sub dir")
	git(t, dir, "commit", "-q", "-m", "submodule")
	want := []string{"100644 .gitmodules", "100644 f", "160000 sub dir"}
	base := tree(t, r)
	if diff := cmp.Diff(want, content(t, dir, base)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	stands := func(what string, dirty bool, inside ...string) {
		t.Helper()
		now, err := r.Standing(t.Context())
		if err != nil || now.Dirty != dirty || !slices.Equal(now.Submodules, inside) {
			t.Errorf("%s: standing %+v, %v", what, now, err)
		}
	}
	stands("as committed", false)
	put(t, dir, map[string]string{"sub dir/lib.c": "y", "sub dir/fresh": "x"})
	stands("changed inside the submodule", false, "sub dir")
	commit(t, filepath.Join(dir, "sub dir"), map[string]string{"lib.c": "y"})
	stands("a commit in the submodule", true)
	moved := tree(t, r)
	changed, err := r.Changed(t.Context(), base, moved)
	if diff := cmp.Diff([]string{"sub dir"}, changed); err != nil || diff != "" {
		t.Errorf("a commit in the submodule: %v, changed (-want +got):\n%s", err, diff)
	}
	git(t, dir, "submodule", "--quiet", "deinit", "-f", "sub dir")
	if got := tree(t, r); got != base {
		t.Errorf("without its checkout the submodule is gone from the tree: %q", content(t, dir, got))
	}
}

func TestSnapshotTouchesNothingOfTheUsers(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x", "g": "x"})
	put(t, dir, map[string]string{"f": "staged", "new": "x"})
	git(t, dir, "add", "f")
	put(t, dir, map[string]string{"f": "changed again"})
	put(t, dir, map[string]string{".git/index.lock": ""}) // another git is at work
	hook := filepath.Join(t.TempDir(), "hook ran")
	put(t, dir, map[string]string{".git/hooks/reference-transaction": "#!/bin/sh\ntouch '" + hook + "'\n"})
	if err := os.Chmod(filepath.Join(dir, ".git/hooks/reference-transaction"), 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "--no-optional-locks", "config", "core.splitIndex", "true")
	before := state(t, dir)
	snap, err := r.Snapshot(t.Context(), "01RUN", "start")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, state(t, dir)); diff != "" {
		t.Errorf("the user's state changed (-before +after):\n%s", diff)
	}
	if _, err := os.Stat(hook); err == nil {
		t.Error("a hook of the repository ran")
	}
	want := plan.Snapshot{Label: "start", Tree: tree(t, r), Ref: "refs/plan/01RUN/start"}
	if diff := cmp.Diff(want, snap); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
	if got := git(t, dir, "show", snap.Ref+":f"); got != "changed again" {
		t.Errorf("the snapshot has %q", got)
	}
	if got, want := git(t, dir, "log", "-1", "--format=%an %ae %at %P", snap.Ref), "plan plan@localhost 0 "+git(t, dir, "rev-parse", "HEAD"); got != want {
		t.Errorf("commit %q, want %q", got, want)
	}
}

// state is what a snapshot must leave alone, byte for byte.
func state(t *testing.T, dir string) map[string]string {
	t.Helper()
	inside, err := filepath.Glob(filepath.Join(dir, ".git/*"))
	if err != nil {
		t.Fatal(err)
	}
	inside = slices.DeleteFunc(inside, func(name string) bool { // plan's own
		return strings.HasPrefix(filepath.Base(name), "plan-index-")
	})
	return map[string]string{
		".git": strings.Join(inside, " "), "index": get(t, dir, ".git/index"), "HEAD": get(t, dir, ".git/HEAD"), "main": get(t, dir, ".git/refs/heads/main"),
		"f": get(t, dir, "f"), "status": git(t, dir, "--no-optional-locks", "status", "--porcelain"),
	}
}

func TestSnapshotIsRepeatableAndReplaced(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x"})
	take := func() string {
		if _, err := r.Snapshot(t.Context(), "01RUN", "implement-1"); err != nil {
			t.Fatal(err)
		}
		return git(t, dir, "rev-parse", "refs/plan/01RUN/implement-1")
	}
	first := take()
	if again := take(); again != first {
		t.Errorf("the same work tree gave commits %s and %s", first, again)
	}
	put(t, dir, map[string]string{"f": "y"})
	if changed := take(); changed == first {
		t.Error("the second snapshot did not replace the first")
	}
}

func TestSnapshotInALinkedWorktree(t *testing.T) {
	t.Parallel()
	_, dir := start(t, map[string]string{"f": "x"})
	linked := filepath.Join(tempDir(t), "linked")
	git(t, dir, "worktree", "add", "-q", linked)
	put(t, linked, map[string]string{"f": "linked", "new": "x"})
	snap, err := open(t, linked).Snapshot(t.Context(), "01RUN", "start")
	if err != nil {
		t.Fatal(err)
	}
	if got := git(t, dir, "show", snap.Ref+":f"); got != "linked" {
		t.Errorf("the snapshot has %q", got)
	}
}

func TestSnapshotRefusesBadLabels(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x"})
	for _, label := range []string{"", "a b", "../../heads/evil", "a..b", "x.lock", "a\nb"} {
		if snap, err := r.Snapshot(t.Context(), "01RUN", label); err == nil {
			t.Errorf("label %q was taken: %v", label, snap)
		}
	}
	if refs := git(t, dir, "for-each-ref", "--format=%(refname)"); refs != "refs/heads/main" {
		t.Errorf("refs:\n%s", refs)
	}
}

func TestHugeUntrackedTree(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x"})
	files := map[string]string{}
	for i := range 1000 {
		files[fmt.Sprintf("data/%d/%d", i%50, i)] = fmt.Sprint(i % 100)
	}
	put(t, dir, files)
	if got := len(content(t, dir, tree(t, r))); got != len(files)+1 {
		t.Errorf("the tree has %d files, want %d", got, len(files)+1)
	}
	listed, err := r.Files(t.Context())
	if err != nil || len(listed) != len(files)+1 {
		t.Errorf("%d files, %v", len(listed), err)
	}
}

func TestSnapshotHeedsTheContextAndCleansUp(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	r, _ := start(t, map[string]string{"f": "x"})
	why := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := r.Snapshot(ctx, "01RUN", "start"); !errors.Is(err, why) {
		t.Errorf("error %v, want the cause", err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 2 { // the test's own directories
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// With the temporary directory inside the work tree, the private index must
// not become part of the tree.
func TestTreeWithTheTemporaryDirectoryInside(t *testing.T) {
	r, dir := start(t, map[string]string{"f": "x"})
	put(t, dir, map[string]string{"tmp/kept": "x"})
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	if diff := cmp.Diff([]string{"100644 f", "100644 tmp/kept"}, content(t, dir, tree(t, r))); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

// A git that cannot write stands in for a read-only file system, which a test
// cannot make without privileges.
func TestSnapshotOfAReadOnlyRepository(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for verb, says := range map[string]string{
		"add":         "error: insufficient permission for adding an object to repository database .git/objects",
		"commit-tree": "error: unable to create temporary file: Read-only file system",
		"update-ref":  "fatal: update_ref failed for ref 'x': cannot lock ref 'x': unable to create directory for .git/x",
	} {
		t.Run(verb, func(t *testing.T) {
			bin := t.TempDir()
			put(t, bin, map[string]string{"git": fmt.Sprintf("#!/bin/sh\nfor a; do [ \"$a\" = %s ] && echo \"%s\" >&2 && exit 128; done\nexec '%s' \"$@\"\n", verb, says, real)})
			if err := os.Chmod(filepath.Join(bin, "git"), 0o755); err != nil {
				t.Fatal(err)
			}
			_, dir := start(t, map[string]string{"f": "x"})
			put(t, dir, map[string]string{"f": "changed"})
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			_, err := open(t, dir).Snapshot(t.Context(), "01RUN", "start")
			if !errors.Is(err, worktree.ErrReadOnly) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want ErrReadOnly with git's words in one line", err)
			}
		})
	}
}

func TestSnapshotOfAnUnreadableIndexIsNotReadOnly(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x"})
	put(t, dir, map[string]string{".git/index": "not an index"})
	_, err := r.Snapshot(t.Context(), "01RUN", "start")
	if err == nil || errors.Is(err, worktree.ErrReadOnly) || !strings.Contains(err.Error(), "index") {
		t.Errorf("error %v", err)
	}
}
