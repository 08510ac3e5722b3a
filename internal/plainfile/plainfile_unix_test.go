//go:build unix

package plainfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/plan-engine/plan/internal/plainfile"
)

// What is no file is not waited for, whatever leads to it, and read as little as a file
// without an end.
func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	pipe, file := at("pipe"), at("file")
	if err := errors.Join(
		syscall.Mkfifo(pipe, 0o600),
		os.Symlink(pipe, at("to-pipe")),
		os.Symlink("/dev/zero", at("to-zero")),
		os.WriteFile(file, []byte("text"), 0o600),
		os.Symlink(file, at("to-file")),
		os.WriteFile(at("large"), nil, 0o600),
		os.Truncate(at("large"), 10<<30),
	); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pipe", "to-pipe", "to-zero"} {
		var none *plainfile.TypeError
		if _, err := plainfile.Read(at(name)); !errors.As(err, &none) || none.Path != at(name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"file", "to-file"} {
		if got, err := plainfile.Read(at(name)); err != nil || string(got) != "text" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := plainfile.UpTo(at("large"), 1<<10); err == nil {
		t.Error("a file is read that is larger than the limit")
	}
	if _, err := plainfile.UpTo(file, 3); err == nil {
		t.Error("a file is read that is a byte larger than the limit")
	}
	if _, err := plainfile.Read(at("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
	if _, err := plainfile.Read(dir); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a folder: %v", err)
	}
}
