package worktree_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/worktree"
)

// filesIn is all that is in a work tree, with modes, but for git's data.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range names(t, dir) {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := os.Readlink(path)
		if info.Mode().IsRegular() {
			text = get(t, dir, name)
		}
		out[name] = info.Mode().String() + " " + text
	}
	return out
}

// TestAMoveThatFailsTouchesNothing: what is in the way is found only when files
// have been moved already.
func TestAMoveThatFailsTouchesNothing(t *testing.T) {
	t.Parallel()
	r, dir := workplace(t)
	from := tree(t, r)
	work(t, dir)
	left := tree(t, r)
	if _, err := r.Restore(t.Context(), left, from, worktree.Options{}); err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string]string{"dir/a.log": "ignored, where a file is to be"})
	before := filesIn(t, dir)
	file := filepath.Join(t.TempDir(), "intent")
	_, err := r.Restore(t.Context(), from, left, worktree.Options{Intent: file})
	if err == nil || worktree.Halfway(err) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(before, filesIn(t, dir)); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the intent is there: %v", err)
	}
}

// TestFinish goes on from every state that a process can have died in: any of the
// files moved, and one taken out whose new content has not come.
func TestFinish(t *testing.T) {
	t.Parallel()
	r, dir := workplace(t)
	from, before := tree(t, r), filesIn(t, dir)
	work(t, dir)
	remove(t, dir, "gone") // empty directories go with what was in them
	to, after := tree(t, r), filesIn(t, dir)
	file := filepath.Join(t.TempDir(), "intent")
	text, err := json.Marshal(map[string]string{"root": dir, "from": from, "to": to, "stage": ".plan-move-1"})
	if err != nil {
		t.Fatal(err)
	}
	for name, died := range map[string]func(){
		"nothing moved": func() {},
		"one moved":     func() { put(t, dir, map[string]string{"f": "theirs"}) },
		"an older move has left its folder": func() {
			put(t, dir, map[string]string{".plan-move-0/.gitignore": "*\n", ".plan-move-0/old/new/deep/f": "old"})
		},
		"all taken out":  func() { remove(t, dir, "dir"); remove(t, dir, "file"); remove(t, dir, "gone") },
		"a mode changed": func() { _ = os.Chmod(filepath.Join(dir, "run"), 0o755) },
		"one taken out": func() {
			put(t, dir, map[string]string{".plan-move-1/.gitignore": "*\n", ".plan-move-1/old/f": get(t, dir, "f")})
			remove(t, dir, "f")
		},
	} {
		if _, err := r.Restore(t.Context(), to, from, worktree.Options{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, filesIn(t, dir)); diff != "" {
			t.Fatalf("%s (-before +after):\n%s", name, diff)
		}
		died()
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, found, err := r.Finish(t.Context(), file); err != nil || !found {
			t.Errorf("%s: %v, %v", name, found, err)
		}
		if diff := cmp.Diff(after, filesIn(t, dir)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if _, found, err := r.Finish(t.Context(), file); err != nil || found {
			t.Errorf("%s, once more: %v, %v", name, found, err)
		}
	}

	// What is neither is a person's.
	put(t, dir, map[string]string{"f": "mine"})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err = r.Finish(t.Context(), file)
	var conflict *worktree.Conflict
	if !errors.As(err, &conflict) || len(conflict.Paths) != 1 || get(t, dir, "f") != "mine" {
		t.Errorf("got %v", err)
	}
	put(t, dir, map[string]string{"f": "theirs"})
	if _, found, err := r.Finish(t.Context(), file); err != nil || !found {
		t.Errorf("mended: %v, %v", found, err)
	}
}

// TestAFullDisk: a tree on a disk that has room for half of a change is left as it
// was, and moved once there is room. Where no disk can be made for it, that is said.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv("PLAN_TEST_FULL_DISK"); dir != "" {
		fullDisk(t, dir)
		return
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "unshare", "-rm", "sh", "-c",
		`mount -t tmpfs -o size=8m tmpfs "$PLAN_TEST_FULL_DISK" || exit 9; exec "$0" -test.run '^TestAFullDisk$' -test.v`, os.Args[0])
	cmd.Env = append(os.Environ(), "PLAN_TEST_FULL_DISK="+dir)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil && strings.Contains(string(out), "the disk was full"):
	case errors.Is(err, exec.ErrNotFound), errors.As(err, &exit) && (exit.ExitCode() == 9 || strings.HasPrefix(string(out), "unshare:")):
		t.Logf("no disk can be made here, so a full one is not tried: %v\n%s", err, out)
	default:
		t.Errorf("%v\n%s", err, out)
	}
}

func fullDisk(t *testing.T, disk string) {
	dir := filepath.Join(disk, "repo")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for i := range 21 {
		files[fmt.Sprintf("f%02d", i)] = strings.Repeat(fmt.Sprintf("line %d\n", i), 10_000) // packs well
	}
	commit(t, dir, files)
	r := open(t, dir)
	from := tree(t, r)
	for name, text := range files {
		files[name] = strings.ToUpper(text)
	}
	put(t, dir, files)
	left := tree(t, r)
	before := filesIn(t, dir)
	file := filepath.Join(t.TempDir(), "intent")
	ballast, err := os.Create(filepath.Join(disk, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	for piece := make([]byte, 1<<12); err == nil; {
		_, err = ballast.Write(piece)
	}
	info, err := ballast.Stat()
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range []int64{0, 300_000, 900_000} {
		if err := ballast.Truncate(info.Size() - room); err != nil {
			t.Fatal(err)
		}
		_, err := r.Restore(t.Context(), left, from, worktree.Options{Intent: file})
		if err == nil {
			t.Errorf("with room for %d bytes it went well", room)
			break
		}
		t.Logf("the disk was full: %v", err)
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("with room for %d bytes it does not say that the disk is full: %v", room, err)
		}
		if diff := cmp.Diff(before, filesIn(t, dir)); diff != "" {
			t.Errorf("room for %d: files differ: %d bytes of difference", room, len(diff))
		}
	}
	_, _, err = r.Add(t.Context(), worktree.NewTree{
		Dir:    filepath.Join(disk, "tree"),
		Branch: "other",
		Base:   "HEAD",
		Tree:   left,
	})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a work tree with no room for its files: %v", err)
	}
	if err := errors.Join(ballast.Close(), os.Remove(ballast.Name())); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Restore(t.Context(), left, from, worktree.Options{Intent: file}); err != nil || tree(t, r) != from {
		t.Errorf("with room: %v", err)
	}
}
