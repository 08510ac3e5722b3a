package walls

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/caches"
	"github.com/plan-engine/plan/internal/subpath"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/sandbox/places"
)

// ErrOpen says that commands have the keys of the user anyway, where no wall can be built.
var ErrOpen = errors.New("there is no wall, so commands have them anyway")

// KeyedRoom makes a room for a fetch that gets keys of the user: a folder of its own with
// these files, a network, and caches in which no code of the tree has had a say. The tree
// and its repository cannot be read there, nor is a program of it found. What is written
// to caches is there for what runs on the tree of the trial next; all else goes.
func (w *Walls) KeyedRoom(ctx context.Context, t plan.Trial, files map[string]string) (phases.Room, error) {
	if level, _ := w.level(); level == sandbox.LevelNone {
		return phases.Room{}, ErrOpen
	}
	tree, err := w.TrialTree(ctx, t)
	if err != nil {
		return phases.Room{}, err
	}
	dir, remove, err := w.caches().Private()
	if err != nil {
		return phases.Room{}, err
	}
	if err := writeFiles(dir, files); err != nil {
		return phases.Room{}, errors.Join(err, remove())
	}
	repo := w.cfg.Repo()
	usual := w.policy(plan.Explore)
	policy := sandbox.Policy{
		Tree:         dir,
		Hidden:       slices.Concat(usual.Hidden, []string{repo.Root()}, repo.GitDirs()),
		Home:         usual.Home,
		Homes:        usual.Homes,
		Shown:        outsideOf(usual.Shown, slices.Concat([]string{repo.Root()}, repo.GitDirs())),
		Settings:     usual.Settings,
		Caches:       usual.Caches,
		Network:      true,
		MaxMemory:    usual.MaxMemory,
		MaxProcesses: usual.MaxProcesses,
	}
	lease := func() (*caches.Lease, error) { return w.caches().Fetched(t.Trees.Work, tree) }
	wall, discard, err := w.newWall(ctx, policy, lease)
	if err != nil {
		return phases.Room{}, errors.Join(err, remove())
	}
	return w.roomBehind(ctx, wall, func() error { return errors.Join(discard(), remove()) }), nil
}

// GitSettings are the user's settings of git as commands see them.
func (w *Walls) GitSettings() string {
	var out strings.Builder
	for _, s := range places.Of(w.cfg.Env, w.cfg.Repo().Root()).Settings() {
		if s.Var == "GIT_CONFIG_GLOBAL" {
			out.Write(s.Data)
			out.WriteString("\n")
		}
	}
	return out.String()
}

// outsideOf leaves out the paths that lie in one of the folders.
func outsideOf(paths, folders []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return slices.ContainsFunc(folders, func(dir string) bool { return subpath.Within(dir, path) })
	})
}

func writeFiles(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			return fmt.Errorf("make a folder for a fetch: %w", err)
		}
	}
	return nil
}
