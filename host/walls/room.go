package walls

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/caches"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
)

// PhaseRoom makes the room where the commands of a phase run. A tree that must not
// change is copied where no layer can be laid over it. Review sees the change
// between two trees as a commit, as [Walls.TrialRoom] shows it; without trees it
// sees the repository as it is.
func (w *Walls) PhaseRoom(ctx context.Context, p plan.Phase, at plan.Trees) (phases.Room, error) {
	if !phases.TraitsOf(p).Judges || at == (plan.Trees{}) {
		lease := w.lookAtCaches
		if phases.TraitsOf(p).Writes {
			lease = w.caches().Work
		}
		return w.newRoom(ctx, w.policy(p), lease)
	}
	room, err := w.trialRoom(ctx, plan.Trial{Trees: at}, w.policy(p), w.caches().Look)
	if err != nil {
		return phases.Room{}, err
	}
	return room.Room, nil
}

// SetupRoom makes the room of the command that prepares the tree for the checks.
// It has a network whatever the settings say, and what it writes to the tree
// stays, because the checks need what it fetches.
func (w *Walls) SetupRoom(ctx context.Context) (phases.Room, error) {
	policy := w.policy(plan.Implement)
	policy.Network = true
	return w.newRoom(ctx, policy, func() (*caches.Lease, error) {
		tree, err := w.cfg.Repo().Tree(ctx)
		if err != nil {
			return nil, err
		}
		return w.leaseStart(ctx, tree)
	})
}

// HookRoom makes the room where hooks of the settings run: as the commands of their
// phase, in walls of their own and without a network; "" is for hooks beside phases,
// which change nothing. It reports false where there are no walls.
func (w *Walls) HookRoom(ctx context.Context, p plan.Phase) (room phases.Room, ok bool, err error) {
	if level, _ := w.level(); level == sandbox.LevelNone {
		return phases.Room{}, false, nil
	}
	policy := w.policy(p)
	policy.Network = false
	room, err = w.newRoom(ctx, policy, w.lookAtCaches)
	return room, err == nil, err
}

// ToolRoom makes the room where one server of tools runs for a phase: as the commands of that
// phase, in walls of its own, so that they see neither its processes nor the keys that it got.
func (w *Walls) ToolRoom(ctx context.Context, p plan.Phase) (phases.Room, error) {
	return w.newRoom(ctx, w.policy(p), w.lookAtCaches)
}

// lookAtCaches leases what is kept for the repository, to be read only.
func (w *Walls) lookAtCaches() (*caches.Lease, error) { return w.caches().Look("", "") }

// newRoom makes a room whose commands may do what the policy says, over the layers of
// caches that they are leased.
func (w *Walls) newRoom(
	ctx context.Context,
	policy sandbox.Policy,
	lease func() (*caches.Lease, error),
) (phases.Room, error) {
	if w.cfg.Settings.AllowCommit && !policy.Discard {
		if err := w.makeHooksDir(); err != nil {
			return phases.Room{}, err
		}
	}
	wall, discard, err := w.newWall(ctx, policy, lease)
	if err != nil {
		return phases.Room{}, err
	}
	return w.roomBehind(ctx, wall, discard), nil
}

// newWall makes a wall, around a copy of the tree where the policy and the level
// need one, over layers of caches. discard removes the copy and gives the lease back.
func (w *Walls) newWall(
	ctx context.Context,
	policy sandbox.Policy,
	lease func() (*caches.Lease, error),
) (wall *sandbox.Wall, discard func() error, err error) {
	level, _ := w.level()
	removeCopy := func() error { return nil }
	if policy.Discard && level.NeedsCopy() {
		if policy.Copy, removeCopy, err = w.cfg.CopyTree(ctx); err != nil {
			return nil, nil, fmt.Errorf("copy the work tree: %w", err)
		}
		policy.ExtraDirs = nil // the copy is a repository of its own
	}
	layers, err := lease()
	if err != nil {
		return nil, nil, errors.Join(err, removeCopy())
	}
	discard = func() error {
		layers.Close()
		return removeCopy()
	}
	policy.Caches = layers.Over(policy.Caches)
	if wall, err = sandbox.NewWall(level, policy, w.cfg.Env); err != nil {
		return nil, nil, errors.Join(err, discard())
	}
	return wall, discard, nil
}

// roomBehind is the room behind a wall. Closing it after ctx has ended kills what
// runs there and leaves the removal of the layers to the background.
func (w *Walls) roomBehind(ctx context.Context, wall *sandbox.Wall, discard func() error) phases.Room {
	return phases.Room{
		Dir:   wall.Dir(),
		Shell: wall.Shell(w.cfg.Shell),
		Close: func() error {
			if ctx.Err() == nil {
				return errors.Join(wall.Close(), discard())
			}
			wall.End()
			w.cfg.Background(func() { _ = wall.Close() }) // else swept up later
			return discard()
		},
	}
}

// makeHooksDir makes sure that there is a folder of hooks: a path that does not
// exist cannot be kept as it is.
func (w *Walls) makeHooksDir() error {
	dirs := w.cfg.Repo().GitDirs()
	if err := os.MkdirAll(filepath.Join(dirs[len(dirs)-1], "hooks"), 0o755); err != nil {
		return fmt.Errorf("keep the hooks as they are: %w", err)
	}
	return nil
}
