package sandbox_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/sandbox"
)

// garden is a yard with files of every kind, and a wall that follows what
// changes in it.
type garden struct {
	yard
	wall *sandbox.Wall
	run  func(line string) sandbox.Result
}

func newGarden(t *testing.T, level sandbox.Level, puts ...sandbox.Put) garden {
	t.Helper()
	y := newYard(t)
	for name, text := range map[string]string{
		"dir/a": "a\n", "dir/b": "b\n", "dir/sub/c": "c\n", "one/file": "x\n", "own/data": "1\n", "odd\xff name": "odd\n",
	} {
		path := filepath.Join(y.tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("file", filepath.Join(y.tree, "link")); err != nil {
		t.Fatal(err)
	}
	// As time goes by, for a copy made at once has the same times.
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(y.tree, "dir/a"), old, old); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(y.stand); err != nil {
		t.Fatal(err)
	}
	must(exec.Command("cp", "-a", y.tree, y.stand).CombinedOutput())
	for i, p := range puts {
		if !filepath.IsAbs(p.Path) {
			puts[i].Path = filepath.Join(y.tree, p.Path)
		}
	}
	g := garden{yard: y}
	g.wall, g.run = y.wall(t, level, sandbox.Policy{
		Discard: true, Tracked: true, Put: puts, Unwatched: []string{filepath.Join(y.tree, "own")},
	})
	return g
}

func (g garden) changes(t *testing.T) sandbox.Changes {
	t.Helper()
	got, err := g.wall.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// changing are the ways in which commands change a tree, and what is said of
// them.
var changing = map[string]struct {
	line string
	want sandbox.Changes
}{
	"nothing":            {"cat file dir/* >/dev/null; ls -lR", sandbox.Changes{}},
	"written":            {"echo x >>file", altered("file")},
	"in place":           {"sed -i s/a/z/ dir/a", altered("dir/a")},
	"same size and time": {"touch -r dir/a ref; printf 'z\\n' >dir/a; touch -r ref dir/a; rm ref", altered("dir/a")},
	"written as it was":  {"printf 'a\\n' >dir/a", sandbox.Changes{Written: []string{"dir/a"}}},
	"touched":            {"touch dir/a", sandbox.Changes{Written: []string{"dir/a"}}},
	"there and back":     {"mv dir/a x; mv x dir/a", sandbox.Changes{Written: []string{"dir/a"}}},
	"executable":         {"chmod +x dir/a", altered("dir/a")},
	"closed":             {"chmod go= dir/a", sandbox.Changes{Written: []string{"dir/a"}}},
	"removed":            {"rm dir/a", altered("dir/a")},
	"moved": {
		"mv dir/a dir/z",
		sandbox.Changes{Altered: []string{"dir/a"}, Written: []string{"dir/a"}, Added: []string{"dir/z"}},
	},
	"folder removed": {"rm -r dir", altered("dir/a", "dir/b", "dir/sub/c")},
	"folder made anew": {"rm -r dir; mkdir -p dir/sub; printf 'a\\n' >dir/a; echo n " +
		">dir/n", sandbox.Changes{Altered: []string{"dir/b", "dir/sub/c"}, Written: []string{"dir/a", "dir/b", "dir/sub/c"}, Added: []string{"dir/n"}}},
	"folder moved": {
		"mv one two",
		sandbox.Changes{Altered: []string{"one/file"}, Written: []string{"one/file"}, Added: []string{"two/file"}},
	},
	"file for folder": {
		"rm -r dir/sub; echo x >dir/sub",
		sandbox.Changes{Altered: []string{"dir/sub/c"}, Written: []string{"dir/sub/c"}, Added: []string{"dir/sub"}},
	},
	"folder for file": {"rm dir/a; mkdir dir/a; echo x " +
		">dir/a/x", sandbox.Changes{Altered: []string{"dir/a"}, Written: []string{"dir/a"}, Added: []string{"dir/a/x"}}},
	"link elsewhere":   {"ln -sfn dir/a link", altered("link")},
	"link made a file": {"rm link; cp file link", altered("link")},
	"file made a link": {"ln -sf b dir/a", altered("dir/a")},
	"added": {"echo x >new; mkdir -p n/m; ln -s /etc/passwd n/m/l; mkdir " +
		"empty", sandbox.Changes{Added: []string{"n/m/l", "new"}}},
	"a pipe":      {"mkfifo pipe", sandbox.Changes{Added: []string{"pipe"}}},
	"unwatched":   {"echo 2 >own/data; echo x >own/more; rm -f own/data", sandbox.Changes{}},
	"an odd name": {"echo x >odd*name", altered("odd\xff name")},
	// of what was put there
	"put, written":      {"echo x >>put/file", altered("put/file")},
	"put, the same":     {"printf 'put\\n' >put/file", sandbox.Changes{Written: []string{"put/file"}}},
	"put, removed":      {"rm -r put", altered("put/file", "put/run")},
	"put over, removed": {"rm over", altered("over")},
	"put over, back":    {"printf 'before\\n' >one/file", altered("one/file")},
	"gone, made":        {"mkdir -p fixed; printf 'b\\n' >dir/b", sandbox.Changes{Added: []string{"dir/b"}}},
}

func altered(paths ...string) sandbox.Changes { return sandbox.Changes{Altered: paths, Written: paths} }

func TestChangesAreSeenAndUndone(t *testing.T) {
	t.Parallel()
	sample := sampledAt(t, changing, atAnyLevel)
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		for _, kind := range []string{"the tree", "put"} {
			var puts []sandbox.Put
			if kind == "put" {
				puts = putting()
			}
			g := newGarden(t, level, puts...)
			list := `find . -path ./own -prune -o \( -type l -printf '%p %l\n' -o -type f -printf '%p %m ' -exec cat {} \; \) | LC_ALL=C sort`
			built := string(g.run(list).Output)
			for _, name := range sample[level] {
				test := changing[name]
				if ours := strings.HasPrefix(name, "put") || strings.HasPrefix(name, "gone"); ours != (kind == "put") {
					continue
				}
				out := g.run(test.line)
				if diff := cmp.Diff(test.want, g.changes(t)); diff != "" {
					t.Errorf("%s: (-want +got)\n%s\n%s", name, diff, out.Output)
				}
				if err := g.wall.Reset(); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(sandbox.Changes{}, g.changes(t)); diff != "" {
					t.Errorf("%s: after a reset (+)\n%s", name, diff)
				}
				if diff := cmp.Diff(built, string(g.run(list).Output)); diff != "" {
					t.Errorf("%s: after a reset (-before +after)\n%s", name, diff)
				}
			}
			if err := g.wall.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// putting is one put of each kind.
func putting() []sandbox.Put {
	return []sandbox.Put{
		{Path: "put/file", Mode: 0o644, Data: []byte("put\n")},
		{Path: "put/run", Mode: 0o755, Data: []byte("#!/bin/sh\n")},
		{Path: "over", Mode: fs.ModeSymlink, Data: []byte("file")},
		{Path: "one/file", Mode: 0o644, Data: []byte("other\n")},
		{Path: "dir/b", Deleted: true},
		{Path: "dir/sub/c", Deleted: true},
		{Path: "link", Deleted: true},
		{Path: "link/x", Mode: 0o644, Data: []byte("below\n")},
	}
}

func TestPuts(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		g := newGarden(t, level, append(putting(), sandbox.Put{Path: "/tmp/probe.sh", Mode: 0o755, Data: []byte("echo probed\n")})...)
		res := g.run("cat put/file one/file link/x; readlink over; test -x put/run; ls dir; test ! -e dir/sub")
		if want := "put\nother\nbelow\nfile\na\n"; string(res.Output) != want || res.ExitCode != 0 {
			t.Errorf("exit %d, %q, want %q", res.ExitCode, res.Output, want)
		}
		if level != sandbox.LevelNone {
			if res := g.run("cd $TMPDIR && sh ./probe.sh && echo new " +
				">$TMPDIR/other"); string(res.Output) != "probed\n" {
				t.Errorf("what is put into the temporary folder: %q", res.Output)
			}
			files, err := g.wall.TemporaryFiles(t.Context())
			want := []sandbox.TemporaryFile{{Path: "/tmp/other", Size: 4, Mode: 0o644}, {Path: "/tmp/probe.sh", Size: 12, Mode: 0o755}}
			if diff := cmp.Diff(want, files); diff != "" || err != nil {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
			if data, mode, err := g.wall.Read("/tmp/other", 4); string(data) != "new\n" || mode != 0o644 || err != nil {
				t.Errorf("%q %v %v", data, mode, err)
			}
		}
		if got := text(t, filepath.Join(g.tree, "one/file")); got != "x\n" {
			t.Errorf("the tree changed: %q", got)
		}
	})
}

// Lines that share a wall may have other files besides.
func TestResetPutsFilesBesides(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		g := newGarden(t, level, putting()...)
		for _, name := range []string{"probe", "n/m/probe", ""} {
			var besides []sandbox.Put
			if name != "" {
				besides = []sandbox.Put{
					{Path: filepath.Join(g.tree, name), Mode: 0o644, Data: []byte(name)},
					{Path: "/tmp/" + name, Mode: 0o644, Data: []byte(name)},
				}
			}
			if err := g.wall.Reset(besides...); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sandbox.Changes{}, g.changes(t)); diff != "" {
				t.Errorf("%q: (+)\n%s", name, diff)
			}
			found := strings.Fields(string(g.run("find . -name probe -printf '%P\\n'; cat put/file; echo x " +
				">>put/file").Output))
			if want := strings.Fields(name + " put"); !cmp.Equal(want, found) {
				t.Errorf("found %q, want %q", found, want)
			}
			if level == sandbox.LevelNone || name == "" {
				continue
			}
			if res := g.run("cat $TMPDIR/" + name); string(res.Output) != name {
				t.Errorf("in the temporary folder: %q, want %q", res.Output, name)
			}
		}
	})
}

// What commands leave may be made to mislead the process that looks at it.
func TestReadingFollowsNothing(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		g := newGarden(t, level)
		g.run("ln -s /etc/passwd away; ln -s / root; mkfifo pipe; echo plain >plain; ln -s plain near; mkdir shut " +
			"&& echo x >shut/x && chmod 0 shut")
		g.changes(t)
		for _, path := range []string{"away", "root/etc/passwd", "pipe", "near", "../home", "/etc/passwd", "/tmp/../etc/passwd"} {
			if data, _, err := g.wall.Read(path, 1<<20); err == nil {
				t.Errorf("%s gives %.40q", path, data)
			}
		}
		if data, _, err := g.wall.Read("plain", 6); string(data) != "plain\n" || err != nil {
			t.Errorf("%q, %v", data, err)
		}
		if _, _, err := g.wall.Read("plain", 5); err == nil {
			t.Error("a file that is too large is read")
		}
		if err := g.wall.Reset(); err != nil {
			t.Error(err)
		}
		if res := g.run("ls -d shut"); res.ExitCode == 0 {
			t.Error("a closed folder outlives a reset")
		}
	})
}

func TestUntrackedWalls(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	w, run := y.wall(t, sandbox.LevelNone, sandbox.Policy{Discard: true})
	run(":")
	if _, err := w.Changes(t.Context()); err == nil {
		t.Error("changes are told that were not followed")
	}
	if err := w.Reset(); err == nil {
		t.Error("a wall is reset that cannot be")
	}
}
