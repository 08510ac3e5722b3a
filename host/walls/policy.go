package walls

import (
	"path/filepath"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
)

// policy is what the commands of a phase may do. Only Implement may change the
// tree, and only with allow_commit the repository's own data, except what decides
// which programs git runs.
func (w *Walls) policy(p plan.Phase) sandbox.Policy {
	settings, repo := w.cfg.Settings, w.cfg.Repo()
	home := w.homeFor(repo)
	policy := sandbox.Policy{
		Tree:         repo.Root(),
		Discard:      !phases.TraitsOf(p).Writes,
		Hidden:       append(w.secrets(), w.cfg.Home),
		Home:         home.dir,
		Homes:        w.cfg.Homes,
		Shown:        home.shown,
		Settings:     home.settings,
		Caches:       sandbox.Caches(w.cfg.Env, w.cfg.Now()),
		Unwatched:    repo.GitDirs(),
		MaxMemory:    uint64(settings.MaxMemory),
		MaxProcesses: uint64(settings.MaxProcesses),
	}
	policy.Network = !policy.Discard
	if configured := settings.Phase[p].Network; configured != nil {
		policy.Network = *configured
	}
	gitDirs := repo.GitDirs()
	if policy.Discard { // commits go into the layer
		policy.ExtraDirs = pathsOutside(gitDirs, policy.Tree)
		return policy
	}
	if settings.AllowCommit {
		policy.ExtraDirs = pathsOutside(gitDirs, policy.Tree)
		policy.Fixed = repo.CodeDirs()
	} else {
		policy.Fixed = gitDirs
	}
	policy.Code = repo.CodeDirs()
	for _, in := range repo.DataDirs() {
		policy.CodeIn = append(policy.CodeIn, sandbox.CodeDir{
			Dir:    in.Dir,
			Data:   in.Names,
			Linked: in.Linked,
		})
	}
	policy.Starts = StartsIn(w.cfg.Home)
	if link := repo.GitLink(); link != "" {
		policy.Fixed = append(policy.Fixed, link)
		policy.Code = append(policy.Code, link)
	}
	return policy
}

// StartsIn is where in a home it stands how repositories were while commands could
// change what decides what git runs there.
func StartsIn(home string) string { return filepath.Join(home, "starts") }

// pathsOutside leaves out the paths that lie in a directory.
func pathsOutside(paths []string, dir string) []string {
	var out []string
	for _, p := range paths {
		if rel, err := filepath.Rel(dir, p); err != nil || !filepath.IsLocal(rel) {
			out = append(out, p)
		}
	}
	return out
}
