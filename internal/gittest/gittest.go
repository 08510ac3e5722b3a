// Package gittest gives tests real git repositories to work in. It knows nothing
// of this program.
package gittest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Settings are the arguments by which git may clone from a folder, and does no more
// than a test needs: a commit starts no maintenance, and nothing waits for a disk.
func Settings() []string {
	return []string{
		"-c", "protocol.file.allow=always",
		"-c", "maintenance.auto=false",
		"-c", "core.fsync=none",
	}
}

// Git runs git in a directory, as a user would, and returns what it says without
// the last line break. An exit status other than 0 ends the test.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := Run(t.Context(), dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Run is Git for what is no test, such as an Example.
func Run(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append(Settings(), args...)...)
	cmd.Dir = dir
	cmd.Env = append(
		os.Environ(),
		"GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@example.com",
	)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// Write writes files below a directory, with the folders that they need.
func Write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		err := errors.Join(
			os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644),
		)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Digest is the type and the content hash of every file below a directory, by its
// path below it.
func Digest(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	files := os.DirFS(dir)
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		if err != nil {
			return fmt.Errorf("take the digest of %s: %w", dir, err)
		}
		out[path] = fmt.Sprintf("%s %x", d.Type(), sha256.Sum256(data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
