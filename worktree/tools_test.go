package worktree_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plan-engine/plan/worktree"
)

func tools(t *testing.T, r *worktree.Repo) map[string]string {
	t.Helper()
	got, err := r.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// differing are the top folders whose digests are not the same.
func differing(before, after map[string]string) []string {
	tops := maps.Clone(before)
	maps.Copy(tops, after)
	out := slices.Sorted(maps.Keys(tops))
	return slices.DeleteFunc(out, func(top string) bool { return top == "" || before[top] == after[top] })
}

// TestToolsAreWhatACheckMayExecute of the files that git ignores, and a change
// to them is seen whatever it leaves as it was.
func TestToolsAreWhatACheckMayExecute(t *testing.T) {
	t.Parallel()
	ignored := map[string]string{".gitignore": "node_modules/\n.venv/\nbuild/\n*.log\n*.so\n__pycache__/\nsrc/x/\n", "f": "x"}
	have := map[string]string{
		"node_modules/jest/index.js": "real", "node_modules/jest/readme.md": "x", ".venv/bin/pytest": "#!real",
		"build/run": "real", "build/data.txt": "x", "__pycache__/a.pyc": "x", "notes.log": "x",
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		want   []string
	}{
		"nothing":       {func(*testing.T, string) {}, nil},
		"a file of git": {func(t *testing.T, dir string) { put(t, dir, map[string]string{"f": "y", "new.py": "x"}) }, nil},
		"data": {func(t *testing.T, dir string) {
			put(t, dir, map[string]string{"build/data.txt": "y", "notes.log": "y", "node_modules/jest/readme.md": "y"})
		}, nil},
		"bytecode of python's own": {func(t *testing.T, dir string) {
			put(t, dir, map[string]string{"__pycache__/a.pyc": "y", "build/__pycache__/b.pyc": "y"})
		}, nil},
		"a script": {func(t *testing.T, dir string) {
			put(t, dir, map[string]string{"node_modules/jest/index.js": "fake"})
		}, []string{"node_modules"}},
		"a program": {func(t *testing.T, dir string) {
			put(t, dir, map[string]string{"build/run": "fake"})
		}, []string{"build"}},
		"a program, of the same size and time": {func(t *testing.T, dir string) {
			path := filepath.Join(dir, "build/run")
			info, err := os.Stat(path)
			if err == nil {
				err = os.WriteFile(path, []byte("fake"), 0o755)
			}
			if err == nil {
				err = os.Chtimes(path, info.ModTime(), info.ModTime())
			}
			if err != nil {
				t.Fatal(err)
			}
		}, []string{"build"}},
		"a program that is replaced": {func(t *testing.T, dir string) {
			put(t, dir, map[string]string{"build/new": "fake"})
			if err := os.Chmod(filepath.Join(dir, "build/new"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(dir, "build/new"), filepath.Join(dir, "build/run")); err != nil {
				t.Fatal(err)
			}
		}, []string{"build"}},
		"a link": {func(t *testing.T, dir string) {
			remove(t, dir, ".venv/bin/pytest")
			symlink(t, "/bin/true", dir, ".venv/bin/pytest")
		}, []string{".venv"}},
		"a tool is gone":     {func(t *testing.T, dir string) { remove(t, dir, "node_modules/jest/index.js") }, []string{"node_modules"}},
		"a library at top":   {func(t *testing.T, dir string) { put(t, dir, map[string]string{"libx.so": "x"}) }, []string{"libx.so"}},
		"bytecode elsewhere": {func(t *testing.T, dir string) { put(t, dir, map[string]string{"build/a.pyc": "x"}) }, []string{"build"}},
		"in a repository of its own": {func(t *testing.T, dir string) {
			put(t, dir, map[string]string{"src/x/readme": "x"})
			commit(t, filepath.Join(dir, "src/x"), map[string]string{"tool.py": "x"})
		}, []string{"src"}},
		"what becomes ignored": {func(t *testing.T, dir string) {
			put(t, dir, map[string]string{".gitignore": ignored[".gitignore"] + "bin/\n", "bin/check": "x"})
			if err := os.Chmod(filepath.Join(dir, "bin/check"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, []string{"bin"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, dir := start(t, ignored)
			put(t, dir, have)
			for _, name := range []string{".venv/bin/pytest", "build/run"} {
				if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			before, since := tools(t, r), changedLast(t, dir)
			c.change(t, dir)
			after := tools(t, r)
			if diff := cmp.Diff(c.want, differing(before, after), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if same := before[""] == after[""]; same != (len(c.want) == 0) || before[""] == "" {
				t.Errorf("of everything: %q and %q", before[""], after[""])
			}
			newer, err := r.ToolsSince(t.Context(), since)
			if err != nil {
				t.Fatal(err)
			}
			for top := range newer {
				if !slices.Contains(c.want, top) {
					t.Errorf("%s is told of, and is as it was", newer[top])
				}
			}
			if len(c.want) > 0 && len(newer) == 0 && name != "a tool is gone" {
				t.Errorf("no file is told of in %s", c.want)
			}
		})
	}
}

// changedLast is a moment after everything in a directory was written. The
// kernel's clock for files ticks some thousand times less often than others.
func changedLast(t *testing.T, dir string) time.Time {
	t.Helper()
	for began := time.Now(); ; {
		probe := filepath.Join(t.TempDir(), "probe")
		if err := os.WriteFile(probe, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(probe)
		if err != nil {
			t.Fatal(err)
		}
		if now := info.ModTime(); now.After(began) {
			return now.Add(-time.Nanosecond)
		}
	}
}

// TestReadingATree: files are read as git has them.
func TestReadingATree(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"a/b.txt": "two\nlines\n", "empty": "", "no newline": "x"})
	symlink(t, "a/b.txt", dir, "link")
	put(t, dir, map[string]string{"large": string(make([]byte, 2<<20)), "same": "two\nlines\n"})
	files, err := r.FilesOf(t.Context(), tree(t, r))
	if err != nil {
		t.Fatal(err)
	}
	got, err := files.Read(t.Context(), "empty", "a/b.txt", "gone", "large", "same", "no newline", "link")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"empty": "", "a/b.txt": "two\nlines\n", "same": "two\nlines\n", "no newline": "x", "link": "a/b.txt"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if ids := files.IDs(); ids["a/b.txt"] == "" || ids["a/b.txt"] != ids["same"] || ids["large"] == "" || len(ids) != 6 {
		t.Errorf("ids %v", ids)
	}
	for _, bad := range []string{"", "--help", "nosuch"} {
		if _, err := r.FilesOf(t.Context(), bad); err == nil {
			t.Errorf("%q is a tree", bad)
		}
	}
}

func BenchmarkTools(b *testing.B) {
	dir := b.TempDir()
	gitIn(b, dir, "init", "-q")
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("node_modules/\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	gitIn(b, dir, "add", "-A")
	gitIn(b, dir, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x")
	for i := range 1000 {
		pkg := filepath.Join(dir, "node_modules", fmt.Sprint("p", i))
		if err := os.MkdirAll(pkg, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 100 {
			if err := os.WriteFile(filepath.Join(pkg, fmt.Sprint(j, ".js")), []byte("x"), 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	r, err := worktree.Open(b.Context(), dir)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := r.Tools(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// Not only programs decide what a check says: so do lists of tests that a build wrote,
// and what a tool came to the last time.
func TestToolsAreWhatDecidesAndWhatIsKept(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{".gitignore": "out/\n.eslintcache\n*.tsbuildinfo\n", "f": "x"})
	files := map[string]string{}
	for _, name := range []string{
		"CTestTestfile.cmake", "CMakeCache.txt", "build.ninja", "meson_test_setup.dat", ".eslintcache", ".stylelintcache",
		"tsconfig.tsbuildinfo", "package_config.json", "entry_points.txt", "lib.cmxs", "main.dill", "executionHistory.bin",
	} {
		files["out/"+name] = "x"
	}
	put(t, dir, files)
	put(t, dir, map[string]string{".eslintcache": "x", "tsconfig.tsbuildinfo": "x", "out/results.json": "x"})
	got, err := r.ToolsSince(t.Context(), time.Time{})
	want := map[string][]string{
		"out":                  slices.Sorted(maps.Keys(files)),
		".eslintcache":         {".eslintcache"},
		"tsconfig.tsbuildinfo": {"tsconfig.tsbuildinfo"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
}

// TestScriptsOfCoverageReportsAreNoTools as long as they are what the tool in the tree
// writes; whatever else has their names is one.
func TestScriptsOfCoverageReportsAreNoTools(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{".gitignore": "node_modules/\ncoverage/\n", "f": "x"})
	const asset = "node_modules/istanbul-reports/lib/html/assets/sorter.js"
	put(t, dir, map[string]string{
		asset:                                  "sort()",
		"coverage/lcov-report/sorter.js":       "/* eslint-disable */\nsort()",
		"coverage/lcov-report/deep/sorter.js":  "/* eslint-disable */\nevil()",
		"coverage/lcov-report/prettify.js":     "/* eslint-disable */\nsort()",
		"coverage/lcov-report/plain/sorter.js": "sort()",
	})
	got, err := r.ToolsSince(t.Context(), time.Time{})
	want := map[string][]string{
		"node_modules": {asset},
		"coverage": {
			"coverage/lcov-report/deep/sorter.js", "coverage/lcov-report/plain/sorter.js", "coverage/lcov-report/prettify.js",
		},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
}
