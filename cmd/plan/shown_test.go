package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

// change is a repository in which work was done, with walls of a level.
type change struct {
	dir   string
	base  string
	trees plan.Trees
	walls *walls
}

// git runs git in a directory, as a user would.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// committed is a repository with two commits.
func committed(t testing.TB, init ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "repo")
	git(t, ".", append([]string{"init", "-q", "-b", "main", dir}, init...)...)
	write(t, dir, map[string]string{
		"calc": "one\ntwo\n", "old/only": "old\n", "src/list": "b\na\n", "src/sorted": "a\nb\n", ".gitignore": "*.log\nbuild/\n",
		"Makefile": "generate:\n\tsort src/list >src/sorted\n",
	})
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "first")
	write(t, dir, map[string]string{"more": "more\n"})
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "second")
	return dir
}

// work is what an implementer does.
func work(t testing.TB, dir string) {
	t.Helper()
	write(t, dir, map[string]string{"calc": "one\n2\n", "new/file": "new\n", "calc_test": "test\n", "build/app": "built\n", "src/list": "c\na\n", "src/sorted": "a\nc\n"})
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "old")), os.Symlink("calc", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
}

// changed takes the trees of work in a repository.
func changed(t testing.TB, dir string, level sandbox.Level, doing func(testing.TB, string)) change {
	t.Helper()
	c := change{dir: dir, base: git(t, dir, "rev-parse", "HEAD")}
	repo, err := worktree.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.trees.Start, err = repo.Tree(t.Context()); err != nil {
		t.Fatal(err)
	}
	doing(t, dir)
	if c.trees.Work, err = repo.Tree(t.Context()); err != nil {
		t.Fatal(err)
	}
	shell, err := sandbox.New(sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	a := &app{err: io.Discard}
	c.walls = &walls{
		repo: func() *worktree.Repo { return repo }, shell: shell, now: time.Now, behind: &sync.WaitGroup{},
		env:   []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()},
		home:  t.TempDir(),
		level: func() (sandbox.Level, []string) { return level, nil },
		view: func(ctx context.Context) (string, func() error, error) {
			v, err := repo.View(ctx)
			if err != nil {
				return "", nil, err
			}
			return v.Dir, v.Close, nil
		},
		shows: a.openShows(repo, c.base),
	}
	t.Cleanup(func() {
		if err := c.walls.shows.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// digest is everything below a directory.
func digest(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		out[path] = fmt.Sprintf("%s %x", d.Type(), sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// levels runs a test at each level that can be built here.
func levels(t *testing.T, test func(t *testing.T, level sandbox.Level)) {
	t.Helper()
	shell, err := sandbox.New(sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range sandbox.Levels() {
		if err := sandbox.Try(t.Context(), level, shell, os.Environ()); err != nil {
			t.Logf("%s cannot be built here: %v", level, err)
			continue
		}
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			test(t, level)
		})
	}
}

func (c change) review(t testing.TB) (phases.Room, func(line string) string) {
	t.Helper()
	room, err := c.walls.room(t.Context(), plan.Review, c.trees)
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
	"plain": func(t *testing.T) string { return committed(t) },
	"dirty": func(t *testing.T) string {
		dir := committed(t)
		write(t, dir, map[string]string{"more": "changed by the user\n", "staged": "staged\n", "untracked": "untracked\n"})
		git(t, dir, "add", "staged")
		return dir
	},
	"detached": func(t *testing.T) string {
		dir := committed(t)
		git(t, dir, "checkout", "-q", "--detach")
		return dir
	},
	"packed": func(t *testing.T) string {
		dir := committed(t)
		git(t, dir, "branch", "-m", "topic/a/b")
		git(t, dir, "gc", "-q", "--prune=now")
		return dir
	},
	"linked": func(t *testing.T) string {
		linked := filepath.Join(t.TempDir(), "a linked: \"tree\"")
		git(t, committed(t), "worktree", "add", "-q", "-b", "side", linked)
		return linked
	},
	"sha256": func(t *testing.T) string { return committed(t, "--object-format=sha256") },
	"merging": func(t *testing.T) string {
		dir := committed(t)
		git(t, dir, "branch", "other", "HEAD~")
		git(t, dir, "checkout", "-q", "other")
		git(t, dir, "commit", "-q", "--allow-empty", "-m", "other")
		git(t, dir, "merge", "-q", "--no-commit", "--no-ff", "main")
		return dir
	},
	"shallow": func(t *testing.T) string {
		dir := filepath.Join(t.TempDir(), "shallow")
		git(t, ".", "clone", "-q", "--depth=1", "file://"+committed(t), dir)
		return dir
	},
	"line ends": func(t *testing.T) string {
		dir := committed(t)
		git(t, dir, "config", "core.autocrlf", "true")
		git(t, dir, "rm", "-q", "--cached", "-r", ".")
		git(t, dir, "reset", "-q", "--hard")
		return dir
	},
	"sparse": func(t *testing.T) string {
		dir := committed(t)
		git(t, dir, "sparse-checkout", "set", "--no-cone", "/*", "!/more")
		return dir
	},
	"split index": func(t *testing.T) string {
		dir := committed(t)
		git(t, dir, "update-index", "--split-index")
		return dir
	},
	"nested repository": func(t *testing.T) string {
		dir := committed(t)
		write(t, dir, map[string]string{"nested/file": "nested\n"})
		git(t, filepath.Join(dir, "nested"), "init", "-q")
		return dir
	},
	"submodule": func(t *testing.T) string {
		dir := committed(t)
		git(t, dir, "submodule", "--quiet", "add", committed(t), "sub")
		git(t, dir, "commit", "-q", "-m", "with a submodule")
		return dir
	},
}

func TestAReviewSeesTheWorkAsACommit(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		for name, made := range repositories {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := changed(t, made(t), level, work)
				common := git(t, c.dir, "rev-parse", "--path-format=absolute", "--git-common-dir")
				before := digest(t, common)
				branch := git(t, c.dir, "rev-parse", "--abbrev-ref", "HEAD")
				change := git(t, c.dir, "diff", "--name-only", c.trees.Start, c.trees.Work)
				room, run := c.review(t)
				for _, ask := range []struct{ line, want string }{
					{"git status --porcelain --ignored=no", ""},
					{"git diff --exit-code && git diff --cached --exit-code", ""},
					{"git stash", "No local changes to save"},
					{"git rev-parse HEAD^{tree} HEAD~^{tree}", c.trees.Work + "\n" + c.trees.Start},
					{"git rev-parse --abbrev-ref HEAD", branch},
					{"git diff --name-only HEAD~", change},
					{"git checkout HEAD -- calc && cat calc", "one\n2"},
					{"make generate >/dev/null && git diff --exit-code 2>/dev/null", ""},
					{"git merge-base --is-ancestor " + c.base + " HEAD && git log --format=%s | tail -n +3 | head -2", git(t, c.dir, "log", "-2", "--format=%s")},
					{"git fsck --no-dangling 2>&1 | grep -v '^notice'; true", ""},
				} {
					if c.trees.Start == git(t, c.dir, "rev-parse", c.base+"^{tree}") { // then there is one commit less
						ask.line = strings.Replace(ask.line, "tail -n +3", "tail -n +2", 1)
					}
					if got := run(ask.line); got != ask.want {
						t.Errorf("%s\n got %q\nwant %q", ask.line, got, ask.want)
					}
				}
				changes, err := room.Changes(t.Context())
				if diff := cmp.Diff(phases.Changes{Wrote: []string{"src/sorted"}}, changes, cmpopts.EquateEmpty()); err != nil || diff != "" {
					t.Errorf("%v (-want +got)\n%s", err, diff)
				}
				if got := run("exec 2>/dev/null; echo x >>calc && git -c user.name=a -c user.email=a@b stash -q && git status --porcelain && git stash drop -q && git branch evil && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m evil && git gc -q; git status --porcelain"); got != "" {
					t.Errorf("writing to the repository: %s", got)
				}
				if diff := cmp.Diff(before, digest(t, common)); diff != "" {
					t.Errorf("the repository itself changed (-before +after)\n%s", diff)
				}
			})
		}
	})
}

func TestTheStartAndTheCounterTree(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		c := changed(t, committed(t), level, work)
		before := digest(t, filepath.Join(c.dir, ".git"))
		chk := &checker{walls: c.walls, redact: func(s string) string { return s }}
		added := []plan.NewFile{{AddedFile: plan.AddedFile{Path: "probe/p.sh", Mode: 0o755}, Data: []byte("cat calc\n")}}
		clean := "git diff --exit-code && git status --porcelain | grep -v probe; "
		for _, test := range []struct {
			on, line, want string
			wrote          []string
		}{
			{plan.TreeReviewed, clean + "./probe/p.sh; ls; git diff --name-only HEAD~ | wc -l", "one\n2\nMakefile\nbuild\ncalc\ncalc_test\nlink\nmore\nnew\nprobe\nsrc\n7\n", nil},
			{plan.TreeCounter, clean + "./probe/p.sh; ls; git diff --name-only HEAD~", "one\ntwo\nMakefile\nbuild\ncalc\ncalc_test\nmore\nold\nprobe\nsrc\ncalc_test\n", nil},
			{plan.TreeStart, clean + "./probe/p.sh; ls; git diff --name-only HEAD~", "one\ntwo\nMakefile\nbuild\ncalc\nmore\nold\nprobe\nsrc\n", nil},
			{plan.TreeCounter, "echo x >calc; rm -r old; touch more; git add -A; git -c user.name=a -c user.email=a@b commit -qm x; rm probe/p.sh; exit 3", "", []string{"calc", "more", "old/only"}},
			{plan.TreeCounter, clean + "./probe/p.sh; git diff --name-only HEAD~", "one\ntwo\ncalc_test\n", nil},
		} {
			res, _, err := chk.Try(t.Context(), plan.Trial{Check: plan.Check{Command: test.line}, Trees: c.trees, On: test.on, Added: added})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, res.Output); diff != "" {
				t.Errorf("%s: %s (-want +got)\n%s", test.on, test.line, diff)
			}
			if diff := cmp.Diff(test.wrote, res.Wrote); diff != "" || res.Evidence != test.on || res.Added == "" {
				t.Errorf("%s: %+v (-want +got)\n%s", test.line, res, diff)
			}
		}
		if err := chk.Close(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(before, digest(t, filepath.Join(c.dir, ".git"))); diff != "" {
			t.Errorf("the repository itself changed (-before +after)\n%s", diff)
		}
	})
}

// A run of a version that showed the repository as it was goes on with that, and
// so do the phases that work on it.
func TestTheRepositoryIsSeenAsItIs(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		c := changed(t, committed(t), level, work)
		for _, test := range []struct {
			phase plan.Phase
			trees plan.Trees
		}{{plan.Review, plan.Trees{}}, {plan.Explore, c.trees}} {
			room, err := c.walls.room(t.Context(), test.phase, test.trees)
			if err != nil {
				t.Fatal(err)
			}
			res, err := room.Shell.Run(t.Context(), sandbox.Command{Line: "git rev-parse HEAD && git diff --quiet", Dir: room.Dir})
			if err != nil || res.ExitCode != 1 || strings.TrimSpace(string(res.Output)) != c.base || room.Changes != nil {
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
	levels(t, func(t *testing.T, level sandbox.Level) {
		c := changed(t, committed(t), level, work)
		room, run := c.review(t)
		run("mkdir -p probes build; echo p >probes/p_test; chmod 700 probes/p_test; echo l >x.log; echo b >build/b; ln -s / away; cd probes && git init -q; echo t >${TMPDIR:-.}/t; echo x >>../calc")
		files, err := room.Added(t.Context())
		want := []plan.AddedFile{{Path: "probes/p_test", Mode: 0o700, Size: 2}}
		if level == sandbox.LevelNone {
			want = append(want, plan.AddedFile{Path: "probes/t", Mode: 0o644, Size: 2})
		} else {
			want = append(want, plan.AddedFile{Path: "/tmp/t", Mode: 0o644, Size: 2})
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
	dir := committed(b)
	files := map[string]string{}
	for i := range 10_000 {
		files[fmt.Sprintf("d%d/f%d", i%100, i)] = fmt.Sprintf("file %d\n", i)
	}
	write(b, dir, files)
	git(b, dir, "add", "-A")
	git(b, dir, "commit", "-q", "-m", "many")
	c := changed(b, dir, sandbox.LevelNamespaces, work)
	for name, run := range map[string]struct {
		trees plan.Trees
		line  string
	}{
		"as it is":            {plan.Trees{}, "true"},
		"snapshot":            {c.trees, "true"},
		"as it is and status": {plan.Trees{}, "git status --porcelain"},
		"snapshot and status": {c.trees, "git status --porcelain"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				room, err := c.walls.room(b.Context(), plan.Review, run.trees)
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
			v := c.walls.repo().SnapshotViews(c.base)
			if _, err := v.Git(b.Context(), c.trees.Start, c.trees.Work, false); err != nil {
				b.Fatal(err)
			}
			if err := v.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
