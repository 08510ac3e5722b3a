package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/worktree/git"
)

// What a repository's settings include may come to be, or to count, long after they
// were read: it is looked at again then.
func TestWhatIsIncludedLaterIsJudged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config, later string // the later file, and how it comes to count
		git           []string
	}{
		"not there": {"[include]\n\tpath = ../late\n", "late", nil},
		"at home":   {"[include]\n\tpath = ~/late\n", "home/late", nil},
		"empty":     {"[include]\n\tpath = ../empty\n", "empty", nil},
		"branch": {
			"[includeIf \"onbranch:other\"]\n\tpath = ../late\n", "late",
			[]string{"checkout", "-qb", "other"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			gittest.Git(t, dir, "init", "-qb", "main")
			gittest.Write(t, dir, map[string]string{
				".git/config": "[core]\n\tbare = false\n" + c.config,
				"empty":       "# nothing\n",
				"run":         "",
			})
			later := map[string]string{c.later: "[core]\n\tsshCommand = " + dir + "/run\n"}
			if c.git != nil {
				gittest.Write(t, dir, later)
			}
			path, err := exec.LookPath("git")
			if err != nil {
				t.Fatal(err)
			}
			program := git.At(path, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home")})
			guarded, err := program.Guard(t.Context(), dir, filepath.Join(dir, ".git"))
			if err != nil {
				t.Fatal(err)
			}
			if c.git != nil {
				gittest.Git(t, dir, c.git...)
			} else {
				gittest.Write(t, dir, later)
			}
			out, err := guarded.Run(t.Context(), git.Call{Dir: dir, Args: []string{"config", "core.sshCommand"}})
			if err != nil || out != "ssh\n" {
				t.Errorf("it is %q, %v", out, err)
			}
		})
	}
}
