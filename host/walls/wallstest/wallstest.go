// Package wallstest gives tests a repository in which work was done, and the walls
// that a run would build around it. It knows walls, and nothing that drives a run.
package wallstest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host/walls"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/internal/kerneltest"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

// Levels runs a test at each level that can be built here.
func Levels(t *testing.T, test func(t *testing.T, level sandbox.Level)) {
	t.Helper()
	shell, err := sandbox.New(sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range sandbox.Levels() {
		if err := sandbox.Try(t.Context(), level, shell, os.Environ()); err != nil {
			if kerneltest.Allows(t, string(level)) {
				t.Errorf("%s cannot be built, and the kernel could: %v", level, err)
			}
			t.Logf("%s cannot be built here: %v", level, err)
			continue
		}
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			test(t, level)
		})
	}
}

// Committed makes a repository with two commits and returns its folder. init are
// further arguments for git init.
func Committed(t testing.TB, init ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "repo")
	gittest.Git(t, ".", append([]string{"init", "-q", "-b", "main", dir}, init...)...)
	gittest.Write(t, dir, map[string]string{
		"calc":       "one\ntwo\n",
		"old/only":   "old\n",
		"src/list":   "b\na\n",
		"src/sorted": "a\nb\n",
		".gitignore": "*.log\nbuild/\n",
		"Makefile":   "generate:\n\tsort src/list >src/sorted\n",
	})
	gittest.Git(t, dir, "add", "-A")
	gittest.Git(t, dir, "commit", "-q", "-m", "first")
	gittest.Write(t, dir, map[string]string{"more": "more\n"})
	gittest.Git(t, dir, "add", "-A")
	gittest.Git(t, dir, "commit", "-q", "-m", "second")
	return dir
}

// Change is a repository in which work was done, with the walls around it.
type Change struct {
	Dir   string
	Base  string // the commit that the work began at
	Trees plan.Trees
	Repo  *worktree.Repo
	Walls *walls.Walls
	// Config is what the walls were made with, for others like them.
	Config walls.Config
}

// NewChange does the work of an implementer in a repository and opens walls of a
// level around it.
func NewChange(t testing.TB, dir string, level sandbox.Level) Change {
	t.Helper()
	repo, err := worktree.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	c := Change{
		Dir:    dir,
		Base:   gittest.Git(t, dir, "rev-parse", "HEAD"),
		Repo:   repo,
		Config: configure(t, repo, level),
	}
	if c.Walls, err = walls.New(t.Context(), c.Config); err != nil {
		t.Fatal(err)
	}
	if c.Trees.Start, err = repo.Tree(t.Context()); err != nil {
		t.Fatal(err)
	}
	implement(t, dir)
	if c.Trees.Work, err = repo.Tree(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// OpenViews has the walls show the change until the test ends.
func (c Change) OpenViews(t testing.TB) {
	t.Helper()
	c.Walls.OpenViews(c.Base)
	t.Cleanup(func() {
		if err := c.Walls.Close(); err != nil {
			t.Error(err)
		}
	})
}

// implement changes, adds and removes files.
func implement(t testing.TB, dir string) {
	t.Helper()
	gittest.Write(t, dir, map[string]string{
		"calc":       "one\n2\n",
		"new/file":   "new\n",
		"calc_test":  "test\n",
		"build/app":  "built\n",
		"src/list":   "c\na\n",
		"src/sorted": "a\nc\n",
	})
	err := errors.Join(
		os.RemoveAll(filepath.Join(dir, "old")),
		os.Symlink("calc", filepath.Join(dir, "link")),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// configure says how walls of a level are made around a repository.
func configure(t testing.TB, repo *worktree.Repo, level sandbox.Level) walls.Config {
	t.Helper()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	shell, err := sandbox.New(sandbox.Config{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	settings := config.Config{Sandbox: string(level)}
	if level == sandbox.LevelNone {
		settings.Sandbox = "off"
	}
	var background sync.WaitGroup
	t.Cleanup(background.Wait)
	return walls.Config{
		Settings: settings,
		Repo:     func() *worktree.Repo { return repo },
		Shell:    shell,
		Env:      env,
		Home:     t.TempDir(),
		Now:      time.Now,
		Note:     func(text string) { t.Log(text) },
		CopyTree: func(ctx context.Context) (string, func() error, error) {
			v, err := repo.View(ctx)
			if err != nil {
				return "", nil, err
			}
			return v.Dir, v.Close, nil
		},
		Background: background.Go,
	}
}
