package worktree_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestWhatBecameSpecial has pipes and sockets in the place of tracked files: a
// snapshot has no such file, and git does not fail on it.
func TestWhatBecameSpecial(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(path string) error{
		"pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"socket": func(path string) error {
			fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			defer syscall.Close(fd)
			return syscall.Bind(fd, &syscall.SockaddrUnix{Name: path})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, dir := start(t, map[string]string{"a": "1\n", "b": "2\n", "d/c": "3\n"})
			if err := errors.Join(os.Remove(filepath.Join(dir, "b")), os.Remove(filepath.Join(dir, "d/c"))); err != nil {
				t.Fatal(err)
			}
			here, err := os.MkdirTemp("", "s") // names of sockets are short
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(here)
			for i, to := range []string{"b", "d/c", "new"} {
				from := filepath.Join(here, string(rune('0'+i)))
				if err := errors.Join(make(from), os.Rename(from, filepath.Join(dir, to))); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "e"), []byte("4\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time from the index that was kept
				tree, err := r.Tree(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Fields(git(t, dir, "ls-tree", "-r", "--name-only", tree)); strings.Join(got, " ") != "a e" {
					t.Errorf("the tree has %q", got)
				}
			}
			if _, err := r.Survey(t.Context()); err != nil {
				t.Error(err)
			}
			files, err := r.Files(t.Context())
			if err != nil || strings.Join(files, " ") != "a e" {
				t.Errorf("files %q, %v", files, err)
			}
		})
	}
}
