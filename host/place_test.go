package host

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPlaceIn: reviewers name the place of a gap in more than one form.
func TestPlaceIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a/b.go", "Makefile.am"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	for text, want := range map[string]Place{
		"a/b.go:12: wrong":                          {"a/b.go", 12},
		"`a/b.go:12-20` is wrong":                   {"a/b.go", 12},
		"`a/b.go`:12 is wrong":                      {"a/b.go", 12},
		"see a/b.go#L12":                            {"a/b.go", 12},
		"In a/b.go, lines 12-14, it is wrong":       {"a/b.go", 12},
		"`a/b.go` line 12":                          {"a/b.go", 12},
		"a/b.go (lines 12 to 14)":                   {"a/b.go", 12},
		"a/b.go at line 12":                         {"a/b.go", 12},
		"the help text in a/b.go.":                  {"a/b.go", 0},
		"a/b.go calls what Makefile.am:3 builds":    {"Makefile.am", 3},
		"gone/c.go:4 and a/b.go:5":                  {"a/b.go", 5},
		"../out.go:4, https://x.example/a/b.go:5":   {},
		"a refund of -10.00 at 12:30 loses a cent":  {},
		"a/b.go loses 12 lines of what it printed.": {"a/b.go", 0},
	} {
		if got := placeIn(root, text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}
