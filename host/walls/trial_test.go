package walls_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/walls/wallstest"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/internal/sampling"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
)

// TestMain lets this binary be a wall, which is the program started again.
func TestMain(m *testing.M) {
	sandbox.Enter()
	goleak.VerifyTestMain(m)
}

// openReview makes the room of a review, and what runs a line in it.
func openReview(t testing.TB, c wallstest.Change) (phases.Room, func(line string) string) {
	t.Helper()
	c.OpenViews(t)
	room, err := c.Walls.PhaseRoom(t.Context(), plan.Review, c.Trees)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := room.Close(); err != nil {
			t.Error(err)
		}
	})
	return room, func(line string) string {
		t.Helper()
		res, err := room.Shell.Run(t.Context(), sandbox.Command{Line: line, Dir: room.Dir})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out := string(res.Output)
		if res.ExitCode != 0 {
			out += fmt.Sprintf("exit %d", res.ExitCode)
		}
		return strings.TrimSuffix(out, "\n")
	}
}

// repositories are the states in which a run may find a repository.
var repositories = map[string]func(t *testing.T) string{
	"plain": func(t *testing.T) string { return wallstest.Committed(t) },
	"dirty": func(t *testing.T) string {
		dir := wallstest.Committed(t)
		gittest.Write(t, dir, map[string]string{
			"more":      "changed by the user\n",
			"staged":    "staged\n",
			"untracked": "untracked\n",
		})
		gittest.Git(t, dir, "add", "staged")
		return dir
	},
	"detached": func(t *testing.T) string {
		dir := wallstest.Committed(t)
		gittest.Git(t, dir, "checkout", "-q", "--detach")
		return dir
	},
	"packed": func(t *testing.T) string {
		dir := wallstest.Committed(t)
		gittest.Git(t, dir, "branch", "-m", "topic/a/b")
		gittest.Git(t, dir, "gc", "-q", "--prune=now")
		return dir
	},
	"linked": func(t *testing.T) string {
		linked := filepath.Join(t.TempDir(), "a linked: \"tree\"")
		gittest.Git(t, wallstest.Committed(t), "worktree", "add", "-q", "-b", "side", linked)
		return linked
	},
	"sha256": func(t *testing.T) string { return wallstest.Committed(t, "--object-format=sha256") },
	"merging": func(t *testing.T) string {
		dir := wallstest.Committed(t)
		gittest.Git(t, dir, "branch", "other", "HEAD~")
		gittest.Git(t, dir, "checkout", "-q", "other")
		gittest.Git(t, dir, "commit", "-q", "--allow-empty", "-m", "other")
		gittest.Git(t, dir, "merge", "-q", "--no-commit", "--no-ff", "main")
		return dir
	},
	"shallow": func(t *testing.T) string {
		dir := filepath.Join(t.TempDir(), "shallow")
		gittest.Git(t, ".", "clone", "-q", "--depth=1", "file://"+wallstest.Committed(t), dir)
		return dir
	},
	"line ends": func(t *testing.T) string {
		dir := wallstest.Committed(t)
		gittest.Git(t, dir, "config", "core.autocrlf", "true")
		gittest.Git(t, dir, "rm", "-q", "--cached", "-r", ".")
		gittest.Git(t, dir, "reset", "-q", "--hard")
		return dir
	},
	"sparse": func(t *testing.T) string {
		dir := wallstest.Committed(t)
		gittest.Git(t, dir, "sparse-checkout", "set", "--no-cone", "/*", "!/more")
		return dir
	},
	"split index": func(t *testing.T) string {
		dir := wallstest.Committed(t)
		gittest.Git(t, dir, "update-index", "--split-index")
		return dir
	},
	"nested repository": func(t *testing.T) string {
		dir := wallstest.Committed(t)
		gittest.Write(t, dir, map[string]string{"nested/file": "nested\n"})
		gittest.Git(t, filepath.Join(dir, "nested"), "init", "-q")
		return dir
	},
	"submodule": func(t *testing.T) string {
		dir := wallstest.Committed(t)
		gittest.Git(t, dir, "submodule", "--quiet", "add", wallstest.Committed(t), "sub")
		gittest.Git(t, dir, "commit", "-q", "-m", "with a submodule")
		return dir
	},
}

func TestAReviewSeesTheWorkAsACommit(t *testing.T) {
	t.Parallel()
	wallstest.Levels(t, func(t *testing.T, level sandbox.Level) {
		names := slices.Sorted(maps.Keys(repositories))
		for _, name := range sampling.Pick(sampling.New(t), 1+len(names)/3, names) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := wallstest.NewChange(t, repositories[name](t), level)
				common := gittest.Git(t, c.Dir, "rev-parse", "--path-format=absolute", "--git-common-dir")
				before := gittest.Digest(t, common)
				branch := gittest.Git(t, c.Dir, "rev-parse", "--abbrev-ref", "HEAD")
				change := gittest.Git(t, c.Dir, "diff", "--name-only", c.Trees.Start, c.Trees.Work)
				unchanged := c.Trees.Start == gittest.Git(t, c.Dir, "rev-parse", c.Base+"^{tree}")
				room, run := openReview(t, c)
				for _, ask := range []struct{ line, want string }{
					{"git status --porcelain --ignored=no", ""},
					{"git diff --exit-code && git diff --cached --exit-code", ""},
					{"git stash", "No local changes to save"},
					{"git rev-parse HEAD^{tree} HEAD~^{tree}", c.Trees.Work + "\n" + c.Trees.Start},
					{"git rev-parse --abbrev-ref HEAD", branch},
					{"git diff --name-only HEAD~", change},
					{"git checkout HEAD -- calc && cat calc", "one\n2"},
					{"make generate >/dev/null && git diff --exit-code 2>/dev/null", ""},
					{
						"git merge-base --is-ancestor " + c.Base + " HEAD" +
							" && git log --format=%s | tail -n +3 | head -2",
						gittest.Git(t, c.Dir, "log", "-2", "--format=%s"),
					},
					{"git fsck --no-dangling 2>&1 | grep -v '^notice'; true", ""},
				} {
					// Where nothing was changed before the run, there is one commit less.
					if unchanged {
						ask.line = strings.Replace(ask.line, "tail -n +3", "tail -n +2", 1)
					}
					if got := run(ask.line); got != ask.want {
						t.Errorf("%s\n got %q\nwant %q", ask.line, got, ask.want)
					}
				}
				changes, err := room.Changes(t.Context())
				want := phases.Changes{Wrote: []string{"src/sorted"}}
				if diff := cmp.Diff(want, changes, cmpopts.EquateEmpty()); err != nil || diff != "" {
					t.Errorf("%v (-want +got)\n%s", err, diff)
				}
				hostile := "exec 2>/dev/null; echo x >>calc" +
					" && git -c user.name=a -c user.email=a@b stash -q && git status --porcelain && git stash drop -q" +
					" && git branch evil && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m evil" +
					" && git gc -q; git status --porcelain"
				if got := run(hostile); got != "" {
					t.Errorf("writing to the repository: %s", got)
				}
				if diff := cmp.Diff(before, gittest.Digest(t, common)); diff != "" {
					t.Errorf("the repository itself changed (-before +after)\n%s", diff)
				}
			})
		}
	})
}

// A run of a version that showed the repository as it was goes on with that, and
// so do the phases that work on it.
func TestTheRepositoryIsSeenAsItIs(t *testing.T) {
	t.Parallel()
	wallstest.Levels(t, func(t *testing.T, level sandbox.Level) {
		c := wallstest.NewChange(t, wallstest.Committed(t), level)
		for _, test := range []struct {
			phase plan.Phase
			trees plan.Trees
		}{{plan.Review, plan.Trees{}}, {plan.Explore, c.Trees}} {
			room, err := c.Walls.PhaseRoom(t.Context(), test.phase, test.trees)
			if err != nil {
				t.Fatal(err)
			}
			res, err := room.Shell.Run(t.Context(), sandbox.Command{
				Line: "git rev-parse HEAD && git diff --quiet",
				Dir:  room.Dir,
			})
			head := strings.TrimSpace(string(res.Output))
			if err != nil || res.ExitCode != 1 || head != c.Base || room.Changes != nil {
				t.Errorf("%s: %v, %+v, %s", test.phase, err, res, res.Output)
			}
			if err := room.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestAReviewersFilesAreFound(t *testing.T) {
	t.Parallel()
	wallstest.Levels(t, func(t *testing.T, level sandbox.Level) {
		c := wallstest.NewChange(t, wallstest.Committed(t), level)
		room, run := openReview(t, c)
		run("mkdir -p probes build; echo p >probes/p_test; chmod 700 probes/p_test; echo l >x.log; echo b >build/b; " +
			"ln -s / away; cd probes && git init -q; echo t >${TMPDIR:-.}/t; echo x >>../calc")
		named := func(path string) bool { return path == "x.log" || path == "build/b" }
		files, err := room.Added(t.Context(), named)
		want := []plan.AddedFile{{Path: "probes/p_test", Mode: 0o700, Size: 2}}
		if level == sandbox.LevelNone {
			want = append(want, plan.AddedFile{Path: "probes/t", Mode: 0o644, Size: 2})
		} else {
			want = append(want, plan.AddedFile{Path: "/tmp/t", Mode: 0o644, Size: 2})
		}
		want = append(want, plan.AddedFile{Path: "x.log", Mode: 0o644, Size: 2}) // ignored, and named
		for _, list := range [][]plan.AddedFile{want, files} {
			slices.SortFunc(list, func(a, b plan.AddedFile) int { return strings.Compare(a.Path, b.Path) })
		}
		if diff := cmp.Diff(want, files); err != nil || diff != "" {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
		for _, f := range files {
			if data, mode, err := room.Read(f.Path); len(data) != 2 || uint32(mode) != f.Mode || err != nil {
				t.Errorf("%s: %q, %v, %v", f.Path, data, mode, err)
			}
		}
		changes, err := room.Changes(t.Context())
		if diff := cmp.Diff([]string{"calc"}, changes.Altered); err != nil || diff != "" {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
	})
}

// BenchmarkRoom builds walls around 10,000 files and asks git there for a status,
// with the repository as it is and as a snapshot.
func BenchmarkRoom(b *testing.B) {
	dir := wallstest.Committed(b)
	files := map[string]string{}
	for i := range 10_000 {
		files[fmt.Sprintf("d%d/f%d", i%100, i)] = fmt.Sprintf("file %d\n", i)
	}
	gittest.Write(b, dir, files)
	gittest.Git(b, dir, "add", "-A")
	gittest.Git(b, dir, "commit", "-q", "-m", "many")
	c := wallstest.NewChange(b, dir, sandbox.LevelNamespaces)
	c.OpenViews(b)
	for name, run := range map[string]struct {
		trees plan.Trees
		line  string
	}{
		"as it is":            {plan.Trees{}, "true"},
		"snapshot":            {c.Trees, "true"},
		"as it is and status": {plan.Trees{}, "git status --porcelain"},
		"snapshot and status": {c.Trees, "git status --porcelain"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				room, err := c.Walls.PhaseRoom(b.Context(), plan.Review, run.trees)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := room.Shell.Run(b.Context(), sandbox.Command{Line: run.line, Dir: room.Dir}); err != nil {
					b.Fatal(err)
				}
				if err := room.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("the first of a snapshot", func(b *testing.B) {
		for b.Loop() {
			v := c.Repo.SnapshotViews(c.Base)
			if _, err := v.Git(b.Context(), c.Trees.Start, c.Trees.Work, false); err != nil {
				b.Fatal(err)
			}
			if err := v.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
