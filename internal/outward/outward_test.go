package outward_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/plan-engine/plan/internal/outward"
)

// A program is found where the environment says that it is started with, and not where this
// process or the folder that one stands in has it.
func TestAProgramIsFoundWhereItsEnvironmentSays(t *testing.T) {
	here, there, stood := t.TempDir(), t.TempDir(), t.TempDir()
	for dir, text := range map[string]string{here: "here", there: "there", stood: "stood"} {
		if err := os.WriteFile(filepath.Join(dir, "reader"), []byte("#!/bin/sh\necho "+text+" $@\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", here)
	t.Chdir(stood)
	run := func(path, name string) (string, error) {
		out, err := outward.Command(t.Context(), []string{"PATH=" + here, "PATH=" + path}, name, "a", "b").Output()
		return string(out), err
	}
	for _, c := range []struct{ path, name, want string }{
		{there, "reader", "there a b\n"},
		{".:" + there, "reader", "there a b\n"},
		{"", filepath.Join(there, "reader"), "there a b\n"},
		{"", "reader", ""},
		{".", "reader", ""},
		{there, "./reader", ""},
		{there, "other", ""},
	} {
		if out, err := run(c.path, c.name); out != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q on %q: %q, %v", c.name, c.path, out, err)
		}
	}
}
