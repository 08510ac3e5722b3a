package worktree_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

func views(t *testing.T, r *worktree.Repo, base string) *worktree.SnapshotViews {
	t.Helper()
	v := r.SnapshotViews(base)
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// isTest knows tests by a word in their names.
func isTest(path string) bool { return strings.Contains(path, "test") }

func TestCounter(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		work func(t *testing.T, dir string)
		want []string // paths of the counter tree
		puts []string // what makes the work that, "-" before what goes
		is   string   // start or work, where it is one of those
	}{
		"nothing": {
			func(*testing.T, string) {},
			[]string{"a", "dir/b", "dir/test_b", "run"},
			nil, "work",
		},
		"only tests": {
			func(t *testing.T, dir string) { put(t, dir, map[string]string{"dir/test_b": "x", "test_new": "x"}) },
			[]string{"a", "dir/b", "dir/test_b", "run"},
			[]string{"-test_new", "dir/test_b"},
			"start",
		},
		"no tests": {
			func(t *testing.T, dir string) { put(t, dir, map[string]string{"a": "x", "new/file": "x"}) },
			[]string{"a", "dir/b", "dir/test_b", "run"},
			[]string{"-new/file", "a"},
			"start",
		},
		"both": {
			func(t *testing.T, dir string) {
				put(t, dir, map[string]string{"a": "x", "new/test": "x", "dir/test_b": "x"})
				remove(t, dir, "dir/b")
			},
			[]string{"a", "dir/b", "dir/test_b", "new/test", "run"},
			[]string{"a", "dir/b"},
			"",
		},
		"renamed": {
			func(t *testing.T, dir string) {
				put(t, dir, map[string]string{"test": "x"})
				if err := os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "z")); err != nil {
					t.Fatal(err)
				}
			},
			[]string{"a", "dir/b", "dir/test_b", "run", "test"},
			[]string{"-z", "a"},
			"",
		},
		"mode": {
			func(t *testing.T, dir string) {
				put(t, dir, map[string]string{"test": "x"})
				if err := os.Chmod(filepath.Join(dir, "run"), 0o755); err != nil {
					t.Fatal(err)
				}
			},
			[]string{"a", "dir/b", "dir/test_b", "run", "test"},
			[]string{"run"},
			"",
		},
		"a folder of tests in the place of a file": {
			func(t *testing.T, dir string) {
				remove(t, dir, "a")
				put(t, dir, map[string]string{"a/test": "x"})
			},
			[]string{"a", "dir/b", "dir/test_b", "run"},
			[]string{"-a/test", "a"},
			"start",
		},
		"a test in the place of a folder": {
			func(t *testing.T, dir string) {
				remove(t, dir, "dir")
				put(t, dir, map[string]string{"test": "x"})
				symlink(t, "test", dir, "dir")
			},
			[]string{"a", "dir/b", "run", "test"},
			[]string{"-dir", "dir/b"},
			"",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, dir := start(t, map[string]string{"a": "a", "dir/b": "b", "dir/test_b": "b", "run": "r"})
			from := tree(t, r)
			c.work(t, dir)
			to := tree(t, r)
			v := views(t, r, "HEAD")
			got, err := v.Counter(t.Context(), from, to, isTest)
			if err != nil {
				t.Fatal(err)
			}
			if is := map[string]string{"start": from, "work": to}[c.is]; is != "" && got != is {
				t.Errorf("it is %s, and not the tree of %s, %s", got, c.is, is)
			}
			paths, err := v.Paths(t.Context(), got)
			if diff := cmp.Diff(c.want, slices.Sorted(maps.Keys(paths))); err != nil || diff != "" {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
			puts, err := v.Files(t.Context(), to, got)
			if diff := cmp.Diff(c.puts, putPaths(dir, puts)); err != nil || diff != "" {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func putPaths(dir string, puts []sandbox.Put) []string {
	var out []string
	for _, p := range puts {
		path := strings.TrimPrefix(p.Path, dir+"/")
		if p.Deleted {
			path = "-" + path
		}
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}

// Files are as a checkout writes them, and nothing of it is written to the
// repository.
func TestFilesOfATree(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"eol": "one\ntwo\n", "run": "#!/bin/sh\n", ".gitattributes": "eol text eol=crlf\n"})
	symlink(t, "nowhere", dir, "link")
	if err := os.Chmod(filepath.Join(dir, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	from := tree(t, r)
	for _, name := range []string{"eol", "run", "link"} {
		remove(t, dir, name)
	}
	to := tree(t, r)
	objects := git(t, dir, "count-objects", "-v")
	v := views(t, r, "HEAD")
	puts, err := v.Files(t.Context(), to, from)
	if err != nil || len(puts) != 3 {
		t.Fatal(puts, err)
	}
	eol, link, run := puts[0], puts[1], puts[2]
	if text, err := os.ReadFile(eol.From); string(text) != "one\r\ntwo\r\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if link.Mode != fs.ModeSymlink || string(link.Data) != "nowhere" || run.Mode&0o100 == 0 {
		t.Errorf("%+v, %+v", link, run)
	}
	if _, err := v.Git(t.Context(), from, to, false); err != nil {
		t.Error(err)
	}
	if got := git(t, dir, "count-objects", "-v"); got != objects {
		t.Errorf("the repository has other objects:\n%s\n%s", objects, got)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(eol.From); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was made stays: %v", err)
	}
}

// The same work is the same commit, whenever it is shown.
func TestCommitsOfAViewAreTheSame(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x"})
	from := tree(t, r)
	put(t, dir, map[string]string{"f": "y"})
	to := tree(t, r)
	head := func() string {
		puts, err := views(t, r, "HEAD").Git(t.Context(), from, to, false)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(puts, func(p sandbox.Put) bool { return p.Path == filepath.Join(dir, ".git/refs/heads/main") })
		return string(puts[i].Data)
	}
	if a, b := head(), head(); a != b {
		t.Errorf("%s and %s", a, b)
	}
}

func TestARepositoryThatCannotBeShown(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x"})
	put(t, dir, map[string]string{".git/reftable/tables.list": ""})
	id := tree(t, r)
	if _, err := views(t, r, "HEAD").Git(t.Context(), id, id, false); !errors.Is(err, worktree.ErrNoSnapshotView) {
		t.Errorf("got %v", err)
	}
}

func TestIgnored(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{".gitignore": "*.log\nbuild/\n", "f": "x"})
	symlink(t, "/", dir, "away")
	got, err := r.Ignored(t.Context(), []string{"a.log", "new", "build/x", "deep/b.log", "away/x.log"})
	want := map[string]bool{"a.log": true, "build/x": true, "deep/b.log": true}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if got, err := r.Ignored(t.Context(), []string{"new"}); len(got) > 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}
