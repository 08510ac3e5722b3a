package sealed_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan/host/sealed"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

func TestMain(m *testing.M) {
	sandbox.Enter()
	os.Exit(m.Run())
}

// work is what a model made of the tree: each file says that it was its own.
var work = map[string]string{
	"tools/judge":          "#!/bin/sh\necho evil\n",
	"tools/lib":            "echo evil\n",
	"tools/caller":         "#!/bin/sh\necho evil\n",
	"Makefile":             "x:\n\t@echo evil\n",
	"GNUmakefile":          "x:\n\t@echo evil\n",
	"mod/__main__.py":      "print('evil')\n",
	"hooks/pre-push":       "#!/bin/sh\necho evil >&2\n",
	"node_modules/.bin/it": "#!/bin/sh\necho evil\n",
	"local/mine":           "#!/bin/sh\necho evil\n",
	"late/judge":           "#!/bin/sh\necho evil\n",
}

// newTree is a repository in which work was done since a snapshot was taken.
func newTree(t *testing.T) (repo *worktree.Repo, tree string, began time.Time) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, root, "init", "-q", "-b", "main")
	gittest.Write(t, root, map[string]string{
		"tools/judge":     "#!/bin/sh\necho good\n",
		"tools/lib":       "echo good\n",
		"tools/caller":    "#!/bin/sh\n. \"$(dirname \"$0\")/lib\"\n",
		"Makefile":        "x:\n\t@tools/judge\n",
		"mod/__main__.py": "print('good')\n",
		"hooks/pre-push":  "#!/bin/sh\necho good >&2\n",
		".gitignore":      "node_modules\nlocal\n",
	})
	for name, to := range map[string]string{"linked": "tools/judge", "aside": "tools", "whole": filepath.Join(root, "tools")} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	runnable(t, root)
	gittest.Git(t, root, "add", "-A")
	gittest.Git(t, root, "commit", "-qm", "start")
	// Ignored files have no snapshot, only a time.
	gittest.Write(t, root, map[string]string{"local/own": "#!/bin/sh\necho good\n", "local/mine": "#!/bin/sh\necho good\n"})
	runnable(t, root)
	if repo, err = worktree.Open(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	if tree, err = repo.Tree(t.Context()); err != nil {
		t.Fatal(err)
	}
	began = later(t, root)
	gittest.Write(t, root, work)
	runnable(t, root)
	return repo, tree, began
}

// later is a moment after all that a folder holds was written, as its disk counts.
func later(t *testing.T, root string) time.Time {
	t.Helper()
	first := time.Time{}
	for {
		name := filepath.Join(root, ".git", "clock")
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if first.IsZero() {
			first = info.ModTime()
		}
		if info.ModTime().After(first) {
			return info.ModTime()
		}
	}
}

func runnable(t *testing.T, root string) {
	t.Helper()
	for _, glob := range []string{"tools/*", "hooks/*", "local/*", "late/*", "node_modules/.bin/*"} {
		names, err := filepath.Glob(filepath.Join(root, glob))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			info, err := os.Stat(name)
			if err == nil && info.Mode().Perm() != 0o755 { // or it would count as changed
				err = os.Chmod(name, 0o755)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestNothingOfTheWorkRuns tries ways by which a line leads to files of the tree. By each
// a plain shell runs what the work made; in a place, what was there before it, or nothing.
func TestNothingOfTheWorkRuns(t *testing.T) {
	t.Parallel()
	repo, tree, began := newTree(t)
	root := repo.Root()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("#!/bin/sh\nmake -s x\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+os.Getenv("PATH")+":"+root+"/tools:node_modules/.bin", "JUDGE=tools/judge")
	far := t.TempDir()
	gittest.Git(t, far, "init", "-q", "--bare")
	push := "git -c core.hooksPath=hooks push -qf " + far + " HEAD:refs/heads/x 2>&1"
	type attempt struct {
		line  string
		names []string // that are known to be of the line
		none  bool     // nothing runs
		only  bool     // only where the copy is in the tree's own place
	}
	attempts := map[string]attempt{
		"a program":               {line: "./tools/judge"},
		"bash -c":                 {line: "bash -c './tools/judge'"},
		"a variable":              {line: "$JUDGE"},
		"a part of a name":        {line: "a=jud; tools/${a}ge"},
		"make":                    {line: "make -s -f Makefile x"},
		"make, another file":      {line: "make -s x"},
		"a sourced file":          {line: ". tools/lib"},
		"what a script sources":   {line: "tools/caller"},
		"a link":                  {line: "./linked"},
		"a linked folder":         {line: "aside/judge"},
		"timeout":                 {line: "timeout 20 tools/judge"},
		"another folder":          {line: "cd tools && ./judge"},
		"eval":                    {line: "eval tools/judge"},
		"a pipe":                  {line: "cat tools/lib | sh"},
		"xargs":                   {line: "echo tools/judge | xargs -n 1 sh"},
		"find":                    {line: `find tools -name judge -exec {} \;`},
		"a settings file":         {line: "BASH_ENV=tools/lib bash -c :"},
		"a folder of PATH":        {line: "judge"},
		"a module":                {line: "python3 -m mod"},
		"a program of the user's": {line: outside},
		"git's hooks":             {line: push},
		"a shell that stands up":  {line: "sh -c 'cd ..; cd \"$OLDPWD\"; tools/judge'"},
		"its whole path":          {line: root + "/tools/judge", only: true},
		"a link to a whole path":  {line: "whole/judge", only: true},
		"up and down again":       {line: "../" + filepath.Base(root) + "/tools/judge", only: true},
		"an ignored folder":       {line: "it", none: true},
		"an ignored file":         {line: "local/mine", names: []string{"local/mine"}, none: true},
		"a new file":              {line: "late/judge", names: []string{"late/judge"}, none: true},
	}
	plain, err := sandbox.New(sandbox.Config{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range attempts {
		res, err := plain.Run(t.Context(), sandbox.Command{Line: a.line, Dir: root})
		if got := strings.TrimSpace(string(res.Output)); err != nil || got != "evil" {
			t.Errorf("%s does not run the work in a plain shell: %q, %v", name, got, err)
		}
	}
	for _, copied := range []bool{false, true} {
		spec := sealed.Spec{
			Repo:   repo,
			Tree:   tree,
			Began:  began,
			Shell:  sandbox.Config{Env: env},
			Copied: copied,
		}
		place, err := sealed.Open(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if !place.Swapped && !copied {
			t.Log("no folder can be put in the place of another here")
		}
		for name, a := range attempts {
			if a.only && !place.Swapped {
				continue
			}
			want := "good"
			if a.none {
				want = ""
			}
			if err := place.Admit(t.Context(), a.line, a.names); err != nil {
				t.Errorf("%s, copied %v: %v", name, copied, err)
				continue
			}
			res, err := place.Shell.Run(t.Context(), sandbox.Command{Line: a.line, Dir: place.Dir})
			got := strings.TrimSpace(string(res.Output))
			if err != nil || strings.Contains(got, "evil") || !strings.Contains(got, want) {
				t.Errorf("%s, copied %v: it runs %q, %v", name, copied, got, err)
			}
		}
		checkPlace(t, place, repo, copied)
		if err := place.Close(); err != nil {
			t.Error(err)
		}
	}
}

// checkPlace looks at what else commands find there.
func checkPlace(t *testing.T, place *sealed.Place, repo *worktree.Repo, copied bool) {
	t.Helper()
	for line, want := range map[string]string{
		`cat "$PLAN_TREE/tools/lib"`:             "echo evil",
		"local/own":                              "good",
		"git rev-parse --abbrev-ref HEAD":        "main",
		`cd "$PLAN_TREE" && git status -s tools`: " M tools/caller\n M tools/judge\n M tools/lib",
		"git commit -qam back 2>&1 | head -n 1":  "index.lock",
		"git log --format=%s":                    "start",
	} {
		if err := place.Admit(t.Context(), line, []string{"local/own"}); err != nil {
			t.Fatal(err)
		}
		res, err := place.Shell.Run(t.Context(), sandbox.Command{Line: line, Dir: place.Dir})
		if got := strings.TrimRight(string(res.Output), "\n"); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s, copied %v: %q, %v", line, copied, got, err)
		}
	}
	err := place.Admit(t.Context(), "sh "+repo.Root()+"/tools/judge", nil)
	if (err == nil) != place.Swapped {
		t.Errorf("the whole path, copied %v: %v", copied, err)
	}
	if out, err := exec.Command("git", "-C", repo.Root(), "log", "--format=%s").Output(); string(out) != "start\n" {
		t.Errorf("the repository has %q, %v", out, err)
	}
}

// TestAPlaceThatWouldHideAHome: a home that lies in the tree stays what it is.
func TestAPlaceThatWouldHideAHome(t *testing.T) {
	t.Parallel()
	repo, tree, _ := newTree(t)
	place, err := sealed.Open(t.Context(), sealed.Spec{
		Repo:  repo,
		Tree:  tree,
		Homes: []string{filepath.Join(repo.Root(), "home")},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer place.Close()
	if place.Swapped {
		t.Error("the home is hidden")
	}
	if _, err := sealed.Open(t.Context(), sealed.Spec{Repo: repo}); err == nil {
		t.Error("a place was made of no tree")
	}
}
