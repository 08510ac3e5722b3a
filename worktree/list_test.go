package worktree_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFiles(t *testing.T) {
	t.Parallel()
	_, lib := start(t, map[string]string{"lib.c": "x"})
	r, dir := start(t, map[string]string{"z": "x", "gone": "x", "d/f": "x", "swap": "x", "repo": "x", ".gitignore": "*.log\n", "hid/den": "x"})
	git(t, dir, "submodule", "--quiet", "add", lib, "sub")
	git(t, dir, "worktree", "add", "-q", "linked")
	git(t, dir, "update-index", "--skip-worktree", "hid/den")
	remove(t, dir, "hid")
	remove(t, dir, "gone")
	remove(t, dir, "swap")
	remove(t, dir, "repo")
	put(t, dir, map[string]string{"-x": "x", "new\nline": "x", "a.log": "x", "swap/in": "x", "repo/in": "x", "n/own/f": "x"})
	git(t, dir, "init", "-q", "n/own")
	git(t, dir, "init", "-q", "repo")
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "empty"), 0o755), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	got, err := r.Files(t.Context())
	want := []string{"-x", ".gitignore", ".gitmodules", "d/f", "n/own/f", "new\nline", "repo/in", "swap/in", "z"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, files (-want +got):\n%s", err, diff)
	}
}

func TestFilesOfAConflictComeOnce(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x\n"})
	git(t, dir, "checkout", "-q", "-b", "side")
	commit(t, dir, map[string]string{"f": "side\n"})
	git(t, dir, "checkout", "-q", "main")
	commit(t, dir, map[string]string{"f": "main\n"})
	git(t, dir, "-c", "alias.try=!git merge -q side || true", "try")
	got, err := r.Files(t.Context())
	if diff := cmp.Diff([]string{"f"}, got); err != nil || diff != "" {
		t.Errorf("error %v, files (-want +got):\n%s", err, diff)
	}
}

func TestHashes(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "abc", "empty": "", "d/x": "x"})
	put(t, filepath.Dir(dir), map[string]string{"outside": "secret"})
	symlink(t, "f", dir, "link")
	symlink(t, "../outside", dir, "leads-out")
	symlink(t, "loop", dir, "loop")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	want := map[string]string{
		"f": abc, "link": abc, "empty": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"gone": "", "d": "", "d/x/y": "", "../outside": "", "leads-out": "", "loop": "", "pipe": "", "": "",
		filepath.Join(dir, "f"): "", "nul\x00": "",
	}
	var paths []string
	for path := range want {
		paths = append(paths, path)
	}
	got, err := r.Hashes(t.Context(), paths)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, hashes (-want +got):\n%s", err, diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Hashes(ctx, paths); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}
