package places_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/sandbox/places"
)

// Folders that manifests name count where they lie in the home outside of the tree, and
// would show neither the home nor what the tree lies in.
func TestNamed(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, lib := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "ws/1", "ws/2"} {
		files["src/lib/"+lib+"/x"] = ""
	}
	for name, text := range map[string]string{
		"go.mod":                "module x\nreplace a => ../lib/a // why\nreplace (\n\tb v1 => ../lib/b\n\tc => c/v2 v1.0.0\n\td => ./inside\n)\n",
		"go.work":               "use (\n\t.\n\t../lib/c\n)\nuse ../lib/gone\n",
		"sub/package.json":      `{"dependencies": {"d": "file:../../lib/d", "y": "^1.0"}, "workspaces": ["../../lib/ws/*", "in/*"]}`,
		"Cargo.toml":            "[dependencies]\ne = { path = \"../lib/e\" }\ni = { path = \"inside\" }\n",
		"pyproject.toml":        "x = { path = '../lib/f' }\ny = \"z @ file://" + home + "/src/lib/g\"\n",
		"requirements-dev.txt":  "-e ../lib/h\nrequests\n./inside\n",
		"Gemfile":               "gem 'i', path: '../lib/i'\n",
		"deep/go.mod":           "replace x => ../../..\nreplace y => ../..\nreplace z => " + home + "/.config\nreplace r => /\nreplace e => /etc\n",
		"node_modules/y/go.mod": "replace x => ../../../lib/j\n",
		"inside/file":           "",
		"pnpm-workspace.yaml":   "packages:\n  - '../lib/k'\n  - 'in/*'\n",
	} {
		files["src/repo/"+name] = text
	}
	files[".config/x"] = ""
	fill(t, home, files)
	got := map[string]string{}
	for _, f := range places.Of([]string{"HOME=" + home}, filepath.Join(home, "src/repo")).Named() {
		rel, _ := filepath.Rel(filepath.Join(home, "src/lib"), f.Path)
		got[rel] = f.Manifest
	}
	want := map[string]string{
		"a": "go.mod", "b": "go.mod", "c": "go.work", "d": "sub/package.json", "ws/1": "sub/package.json", "ws/2": "sub/package.json",
		"e": "Cargo.toml", "f": "pyproject.toml", "g": "pyproject.toml", "h": "requirements-dev.txt", "i": "Gemfile",
		"k": "pnpm-workspace.yaml",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
