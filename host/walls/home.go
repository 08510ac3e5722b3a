package walls

import (
	"context"
	"fmt"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/internal/subpath"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/sandbox/places"
	"github.com/plan-engine/plan/worktree"
	"github.com/plan-engine/plan/worktree/git"
)

// Environment is what commands get of the user's environment: env, which is cleaned of
// what looks like a secret before it is used, and set, which the user wants them to have
// whatever it looks like.
func Environment(settings config.Config, environ []string) (env, set []string) {
	environ = settings.ForChildren(environ)
	set = sandbox.NamedEnv(environ, settings.Walls.AllowEnv)
	if settings.Walls.Inherits() {
		return environ, set
	}
	return sandbox.MinimalEnv(environ, settings.Walls.AllowEnv), set
}

// home is what commands see of the user's home, as it was when the run first asked.
type home struct {
	dir      string
	shown    []string
	settings []sandbox.Setting
}

// homeFor looks at the home for the work on a tree, once for each.
func (w *Walls) homeFor(repo *worktree.Repo) home {
	w.homesMu.Lock()
	defer w.homesMu.Unlock()
	if h, ok := w.homes[repo.Root()]; ok {
		return h
	}
	from := places.Of(w.cfg.Env, repo.Root())
	requested, _ := from.Ask(w.cfg.Settings.Walls.Show)
	h := home{
		dir:      from.Dir(),
		shown:    slices.Concat(from.Shown(), requested, w.cfg.Shown, repo.GitDirs(), git.Borrowed(repo.GitDirs()...)),
		settings: from.Settings(),
	}
	for _, other := range w.cfg.Homes {
		h.shown = append(h.shown, from.ShownOf(other)...)
	}
	if w.homes == nil {
		w.homes = map[string]home{}
	}
	w.homes[repo.Root()] = h
	return h
}

// secrets lists where keys are kept, in all homes.
func (w *Walls) secrets() []string {
	out := sandbox.Secrets(w.cfg.Env)
	for _, other := range w.cfg.Homes {
		out = append(out, sandbox.Secrets(append(slices.Clip(w.cfg.Env), "HOME="+other))...)
	}
	return out
}

// noteHome tells the user where the home is not hidden as the settings may suggest.
func (w *Walls) noteHome() {
	tree := w.cfg.Repo().Root()
	from := places.Of(w.cfg.Env, tree)
	requested, refused := from.Ask(w.cfg.Settings.Walls.Show)
	for _, path := range refused {
		w.cfg.Note(fmt.Sprintf("walls.show: %s is not shown, because all of the home directory lies in it", path))
	}
	for _, path := range requested {
		secrets := sandbox.Secrets(w.cfg.Env)
		if slices.ContainsFunc(secrets, func(secret string) bool { return subpath.Within(secret, path) }) {
			w.cfg.Note(fmt.Sprintf("walls.show: %s stays hidden, because keys are kept there", path))
		}
	}
	if from.Dir() != "" && subpath.Within(tree, from.Dir()) {
		w.cfg.Note(
			"your home directory lies in the work tree: commands can read all of it that is not known to hold keys",
		)
	}
}

// OpenHomeRoom is a room like that of a review, but with the home as it is where no keys
// are known to be: it shows what does not work because the home is hidden.
func (w *Walls) OpenHomeRoom(ctx context.Context) (phases.Room, error) {
	policy := w.policy(plan.Review)
	policy.Home, policy.Homes, policy.Shown, policy.Settings = "", nil, nil, nil
	return w.newRoom(ctx, policy, w.lookAtCaches)
}
