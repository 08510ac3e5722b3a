package terminal_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/plan-engine/plan/cmd/plan/terminal"
)

// An editor does not start in the work tree, whose settings for editors it would read.
func TestAnEditorStartsBesideItsFile(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	person := terminal.Terminal{Out: &out, Err: &out, Environ: func(context.Context) []string { return os.Environ() }}
	if err := person.Open(t.Context(), "pwd; echo", filepath.Join(dir, "plan.md")); err != nil {
		t.Fatal(err)
	}
	if want := dir + "\n" + filepath.Join(dir, "plan.md") + "\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
