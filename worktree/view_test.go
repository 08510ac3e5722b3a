package worktree_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/worktree"
)

func view(t *testing.T, r *worktree.Repo) *worktree.View {
	t.Helper()
	v, err := r.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// listing describes everything under dir but its .git: type, permissions,
// time, and content or target.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if rel == ".git" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var text string
		switch {
		case info.Mode().IsRegular():
			text = get(t, dir, rel)
		case info.Mode()&fs.ModeSymlink != 0:
			text, err = os.Readlink(path)
		}
		out[rel] = fmt.Sprintf("%v %v %q", info.Mode(), info.ModTime().UnixNano(), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestViewIsACopy(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x", ".gitignore": "node_modules\n", "run.sh": "#!/bin/sh\n"})
	put(t, dir, map[string]string{
		"f": "changed", "new": "x", "node_modules/a/index.js": "x", "node_modules/a/-n\n": "x", "ro/file": "x", "n/own/f": "x",
		"big": strings.Repeat("0123456789abcdef", 1<<16),
	})
	git(t, dir, "init", "-q", "n/own")
	symlink(t, "../f", dir, "node_modules/link")
	symlink(t, "nowhere", dir, "dangling")
	old := time.Unix(1600000000, 123456789)
	for path, mode := range map[string]os.FileMode{"run.sh": 0o755, "ro/file": 0o400, "ro": 0o555, "node_modules/a": 0o700} {
		path = filepath.Join(dir, path)
		if err := errors.Join(os.Chmod(path, mode), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "ro"), 0o700) }) // else only root can remove it
	before := listing(t, dir)
	v := view(t, r)
	if diff := cmp.Diff(before, listing(t, v.Dir)); diff != "" {
		t.Errorf("the copy differs (-original +copy):\n%s", diff)
	}
	if v.Skipped != nil {
		t.Errorf("skipped %q", v.Skipped)
	}
	if filepath.Base(v.Dir) != "repo" {
		t.Errorf("the copy is called %q", v.Dir)
	}
	if info, err := os.Stat(filepath.Dir(v.Dir)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others can look in: %v, %v", info.Mode(), err)
	}
	// Nothing done in the copy shows in the original: no file is shared.
	for _, name := range []string{"f", "run.sh", "big", "node_modules/a/index.js"} {
		f, err := os.OpenFile(filepath.Join(v.Dir, name), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("overwritten"); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
		t.Errorf("the original changed (-before +after):\n%s", diff)
	}
}

func TestViewIsARepositoryOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r, dir := start(t, map[string]string{"f": "x\n", "g": "x\n", "eol": "a\n"}, "--object-format="+format)
			git(t, dir, "tag", "v1")
			git(t, dir, "remote", "add", "origin", dir)
			git(t, dir, "update-ref", "refs/remotes/origin/main", "HEAD")
			git(t, dir, "update-ref", "refs/plan/other/start", "HEAD")
			git(t, dir, "config", "core.autocrlf", "true")
			git(t, dir, "config", "filter.up per.clean", `sed "s/\\t/ /"`)
			git(t, dir, "config", "core.hooksPath", filepath.Join(dir, "hooks"))
			put(t, dir, map[string]string{
				"f": "changed\n", "staged": "s\n", "eol": "a\r\n", ".git/info/exclude": "local-only\n", "local-only": "x",
				"hooks/pre-commit": "#!/bin/sh\nexit 1\n",
			})
			if err := os.Chmod(filepath.Join(dir, "hooks/pre-commit"), 0o755); err != nil {
				t.Fatal(err)
			}
			git(t, dir, "add", "staged")
			refs := func(dir string) string { return git(t, dir, "for-each-ref") }
			status := git(t, dir, "status", "--porcelain=v2", "--branch")
			before := refs(dir)

			v := view(t, r)
			if diff := cmp.Diff(status, git(t, v.Dir, "status", "--porcelain=v2", "--branch")); diff != "" {
				t.Errorf("status (-original +copy):\n%s", diff)
			}
			for _, args := range [][]string{{"log", "--format=%H %D"}, {"diff", "HEAD"}, {"describe", "--tags"}, {"fsck"}, {"config", "filter.up per.clean"}} {
				if args[0] == "log" {
					git(t, dir, "update-ref", "-d", "refs/plan/other/start")
				}
				if diff := cmp.Diff(git(t, dir, args...), git(t, v.Dir, args...)); diff != "" {
					t.Errorf("git %s (-original +copy):\n%s", args, diff)
				}
			}
			git(t, dir, "update-ref", "refs/plan/other/start", "HEAD")
			if got := git(t, v.Dir, "for-each-ref", "refs/plan") + git(t, v.Dir, "remote"); got != "" {
				t.Errorf("the copy knows %q", got)
			}
			if got := git(t, v.Dir, "config", "core.hooksPath"); got != os.DevNull {
				t.Errorf("the copy has its hooks in %q", got)
			}
			git(t, v.Dir, "commit", "-q", "-a", "-m", "in the copy")
			git(t, v.Dir, "gc", "-q", "--prune=now")
			git(t, v.Dir, "reset", "-q", "--hard", "HEAD~1")
			if diff := cmp.Diff(before, refs(dir)); diff != "" {
				t.Errorf("refs of the original (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(status, git(t, dir, "status", "--porcelain=v2", "--branch")); diff != "" {
				t.Errorf("status of the original (-before +after):\n%s", diff)
			}
			git(t, dir, "fsck")
		})
	}
}

func TestViewOfUnusualRepositories(t *testing.T) {
	t.Parallel()
	cases := map[string]func(t *testing.T, dir string) string{
		"detached": func(t *testing.T, dir string) string {
			git(t, dir, "checkout", "-q", "--detach")
			git(t, dir, "branch", "-q", "-D", "main")
			return dir
		},
		"linked worktree": func(t *testing.T, dir string) string {
			linked := filepath.Join(tempDir(t), "a linked\ntree \"x\"")
			git(t, dir, "worktree", "add", "-q", "-b", "side", linked)
			return linked
		},
		"odd path": func(t *testing.T, dir string) string {
			odd := filepath.Join(tempDir(t), "b[*]\n\"q\" \\ ü")
			if err := os.Rename(dir, odd); err != nil {
				t.Fatal(err)
			}
			git(t, odd, "update-index", "--split-index")
			return odd
		},
		"shallow": func(t *testing.T, dir string) string {
			commit(t, dir, map[string]string{"more": "x"})
			shallow := filepath.Join(tempDir(t), "shallow")
			git(t, dir, "clone", "-q", "--depth=1", "file://"+dir, shallow)
			return shallow
		},
		"split index": func(t *testing.T, dir string) string {
			git(t, dir, "update-index", "--split-index")
			return dir
		},
		"untracked cache": func(t *testing.T, dir string) string {
			git(t, dir, "update-index", "--force-untracked-cache")
			git(t, dir, "status")
			return dir
		},
		"sparse index": func(t *testing.T, dir string) string {
			git(t, dir, "sparse-checkout", "set", "--cone", "--sparse-index", "keep")
			return dir
		},
		"no index": func(t *testing.T, dir string) string {
			remove(t, dir, ".git/index")
			return dir
		},
		"submodule": func(t *testing.T, dir string) string {
			_, lib := start(t, map[string]string{"lib.c": "x"})
			git(t, dir, "submodule", "--quiet", "add", lib, "sub")
			git(t, dir, "commit", "-q", "-m", "submodule")
			return dir
		},
		"nested worktree": func(t *testing.T, dir string) string {
			put(t, dir, map[string]string{".git/info/exclude": "nested\n"})
			git(t, dir, "worktree", "add", "-q", "nested")
			return dir
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, dir := start(t, map[string]string{"f": "x", "keep/k": "x", "drop/d": "x"})
			dir = change(t, dir)
			v := view(t, open(t, dir))
			for _, args := range [][]string{{"status", "--porcelain"}, {"log", "--format=%H"}, {"diff", "HEAD", "--stat"}, {"symbolic-ref", "-q", "HEAD"}} {
				if diff := cmp.Diff(say(t, dir, args...), say(t, v.Dir, args...)); diff != "" {
					t.Errorf("git %s (-original +copy):\n%s", args, diff)
				}
			}
		})
	}
}

// say is what git says, failing or not.
func say(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// Pointers that lead back to the original are not taken over: a .git file, and
// a link to a place in the original by its full name.
func TestViewDoesNotLeadBack(t *testing.T) {
	t.Parallel()
	_, lib := start(t, map[string]string{"lib.c": "x"})
	r, dir := start(t, map[string]string{"f": "x"})
	git(t, dir, "submodule", "--quiet", "add", lib, "sub")
	git(t, dir, "worktree", "add", "-q", "linked")
	symlink(t, filepath.Join(dir, "f"), dir, "absolute")
	symlink(t, dir, dir, "top")
	symlink(t, lib, dir, "outside")
	v := view(t, r)
	for _, name := range []string{"sub/.git", "linked/.git"} {
		if _, err := os.Lstat(filepath.Join(v.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was copied: %v", name, err)
		}
	}
	for name, want := range map[string]string{"absolute": filepath.Join(v.Dir, "f"), "top": v.Dir, "outside": lib} {
		if got, err := os.Readlink(filepath.Join(v.Dir, name)); err != nil || got != want {
			t.Errorf("%s leads to %q, %v; want %q", name, got, err, want)
		}
	}
	if got := get(t, v.Dir, "sub/lib.c"); got != "x" {
		t.Errorf("the submodule's file has %q", got)
	}
}

func TestViewLeavesOutWhatIsNoFile(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x", "d/f": "x"})
	if err := syscall.Mkfifo(filepath.Join(dir, "d/pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	v := view(t, r)
	if diff := cmp.Diff([]string{"d/pipe"}, v.Skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	if _, err := os.Lstat(filepath.Join(v.Dir, "d/pipe")); err == nil {
		t.Error("the pipe is there")
	}
}

func TestViewCloseRemovesReadOnlyDirectories(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x", "mod/cache/f": "x"})
	for _, name := range []string{"mod/cache/f", "mod/cache", "mod"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o555); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		_ = os.Chmod(filepath.Join(dir, "mod"), 0o755)
		_ = os.Chmod(filepath.Join(dir, "mod/cache"), 0o755)
	})
	v, err := r.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(v.Close(), v.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Dir(v.Dir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
}

func TestViewCancelledLeavesNothing(t *testing.T) {
	tmp := filepath.Join(t.TempDir(), "tmp")
	r, dir := start(t, map[string]string{"f": "x"})
	files := map[string]string{}
	for i := range 500 {
		files[fmt.Sprint("d/", i)] = strings.Repeat("x", 1<<12)
	}
	put(t, dir, files)
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	why := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	copying := make(chan struct{})
	go func() { // stops the copy once it is under way
		defer close(copying)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			if found, _ := filepath.Glob(filepath.Join(tmp, "plan-view-*/repo/d/*")); len(found) > 0 {
				cancel(why)
			}
		}
	}()
	_, err := r.View(ctx)
	cancel(nil)
	<-copying
	if !errors.Is(err, why) {
		t.Errorf("error %v, want the cause", err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// With the temporary directory inside the work tree the copy must not copy
// itself.
func TestViewWithTheTemporaryDirectoryInside(t *testing.T) {
	r, dir := start(t, map[string]string{"f": "x", "tmp/kept": "x"})
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	v := view(t, r)
	if diff := cmp.Diff(listing(t, dir), listing(t, v.Dir)); diff != "" {
		t.Errorf("the copy differs (-original +copy):\n%s", diff)
	}
}
