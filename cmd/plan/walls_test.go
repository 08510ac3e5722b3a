package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

// emptyRepo is a repository with a commit and no files.
func emptyRepo(t *testing.T) *worktree.Repo {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "x"}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	repo, err := worktree.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// Who insists on walls gets none that cannot keep the repository as it is.
func TestWhoInsistsIsRefused(t *testing.T) {
	t.Parallel()
	repo := emptyRepo(t)
	yes := true
	for name, test := range map[string]struct {
		cfg   config.Config
		level sandbox.Level
		want  string
	}{
		"the user's tree":              {config.Config{}, sandbox.LevelLandlock, ".git; with --worktree"},
		"a tree of its own":            {config.Config{Worktree: &yes}, sandbox.LevelLandlock, ""},
		"a tree of its own, committed": {config.Config{Worktree: &yes, AllowCommit: true}, sandbox.LevelLandlock, "hooks"},
		"namespaces":                   {config.Config{AllowCommit: true}, sandbox.LevelNamespaces, ""},
	} {
		wl := &walls{cfg: test.cfg, repo: func() *worktree.Repo { return repo }, env: []string{"HOME=" + t.TempDir()}, home: t.TempDir(), now: time.Now}
		if got := strings.Join(wl.insists(test.level), " "); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// The escape suite tries what a review's walls let through; commands of Explore
// and Plan have the same.
func TestExploreHasTheWallsOfReview(t *testing.T) {
	t.Parallel()
	repo := emptyRepo(t)
	at := time.Unix(0, 0)
	wl := &walls{repo: func() *worktree.Repo { return repo }, env: []string{"HOME=" + t.TempDir()}, home: t.TempDir(), now: func() time.Time { return at }}
	for _, p := range []plan.Phase{plan.Explore, plan.Plan} {
		if diff := cmp.Diff(wl.policy(plan.Review), wl.policy(p)); diff != "" {
			t.Errorf("%s (-review +%s):\n%s", p, p, diff)
		}
	}
	if got := wl.policy(plan.Implement); got.Discard || !got.Network {
		t.Errorf("implement has them too, so this proves nothing: %+v", got)
	}
}
