package walls

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

// emptyRepo is a repository with a commit and no files.
func emptyRepo(t *testing.T) *worktree.Repo {
	t.Helper()
	dir := t.TempDir()
	gittest.Git(t, dir, "init", "-q")
	gittest.Git(t, dir, "commit", "-q", "--allow-empty", "-m", "x")
	repo, err := worktree.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// unopened are walls as they are before a level was chosen.
func unopened(t *testing.T, repo *worktree.Repo, settings config.Config) *Walls {
	t.Helper()
	at := time.Unix(0, 0)
	return &Walls{cfg: Config{
		Settings: settings,
		Repo:     func() *worktree.Repo { return repo },
		Env:      []string{"HOME=" + t.TempDir()},
		Home:     t.TempDir(),
		Now:      func() time.Time { return at },
	}}
}

// A user who requires walls gets none that cannot keep the repository as it is.
func TestRequiredWallsProtectTheRepository(t *testing.T) {
	t.Parallel()
	repo := emptyRepo(t)
	yes := true
	for name, test := range map[string]struct {
		settings config.Config
		level    sandbox.Level
		want     string
	}{
		"the user's tree": {
			level: sandbox.LevelLandlock,
			want:  ".git; with --worktree",
		},
		"a tree of its own": {
			settings: config.Config{Worktree: &yes},
			level:    sandbox.LevelLandlock,
		},
		"a tree of its own, committed": {
			settings: config.Config{Worktree: &yes, AllowCommit: true},
			level:    sandbox.LevelLandlock,
			want:     "hooks",
		},
		"namespaces": {
			settings: config.Config{AllowCommit: true},
			level:    sandbox.LevelNamespaces,
		},
	} {
		got := strings.Join(unopened(t, repo, test.settings).unprotected(test.level), " ")
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// The escape suite tries what a review's walls let through; commands of Explore
// and Plan have the same.
func TestExploreHasTheWallsOfReview(t *testing.T) {
	t.Parallel()
	w := unopened(t, emptyRepo(t), config.Config{})
	for _, p := range []plan.Phase{plan.Explore, plan.Plan} {
		if diff := cmp.Diff(w.policy(plan.Review), w.policy(p)); diff != "" {
			t.Errorf("%s (-review +%s):\n%s", p, p, diff)
		}
	}
	if got := w.policy(plan.Implement); got.Discard || !got.Network {
		t.Errorf("implement has them too, so this proves nothing: %+v", got)
	}
}
