package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

// walls decides what the commands of a run may do, and builds what keeps them
// to it.
type walls struct {
	cfg   config.Config
	repo  func() *worktree.Repo // of the tree that the run works in, which may be one of its own
	shell *sandbox.Shell
	env   []string
	home  string // PLAN_HOME, which no command reads
	level func() (sandbox.Level, []string)
	whole func() error // nil where bounds hold for all commands together
	view  func(context.Context) (string, func() error, error)
	now   func() time.Time
	// shows is what commands see of a change. It is nil before the run is driven.
	shows *shows
	// behind are removals that nobody waits for.
	behind *sync.WaitGroup
}

// openWalls chooses the level. What the settings insist on is tried at once;
// otherwise that waits for the first phase with commands.
func (a *app) openWalls(ctx context.Context, w *workshop) (*walls, error) {
	paths, err := config.FindHome(a.getenv)
	if err != nil {
		return nil, failed(err)
	}
	wl := &walls{
		cfg:    w.cfg,
		repo:   func() *worktree.Repo { return w.repo },
		shell:  w.shell,
		env:    w.cfg.ForChildren(a.environ),
		home:   paths.Home,
		view:   w.view,
		now:    a.now,
		behind: &w.behind,
	}
	wl.level = sync.OnceValues(func() (sandbox.Level, []string) { return wl.choose(context.WithoutCancel(ctx)) })
	wl.whole = sync.OnceValue(func() error { return sandbox.Bounded(context.WithoutCancel(ctx)) })
	if w.cfg.MaxMemory > 0 && w.cfg.Sandbox != "off" {
		if err := wl.whole(); err != nil {
			a.note(fmt.Sprintf("max_memory holds for each process alone: %v", err))
		}
	}
	if mode := w.cfg.Sandbox; mode != "" && mode != "auto" && mode != "off" {
		level, why := wl.level()
		if level == sandbox.LevelNone || mode != "required" && string(level) != mode {
			return nil, failed(&sandbox.Refusal{Why: why})
		}
		if unkept := wl.insists(level); mode == "required" && unkept != nil {
			return nil, failed(&sandbox.Refusal{Why: append(why, unkept...)})
		}
	}
	return wl, nil
}

// choose tries what can be built.
func (wl *walls) choose(ctx context.Context) (sandbox.Level, []string) {
	mode := wl.cfg.Sandbox
	if mode == "off" {
		return sandbox.LevelNone, []string{"switched off"}
	}
	var out []sandbox.Level
	var why []string
	for _, level := range sandbox.Levels() {
		if mode != "" && mode != "auto" && mode != "required" && string(level) != mode && level != sandbox.LevelNone {
			out = append(out, level)
		}
	}
	if err := sandbox.Layerable(wl.repo().Root()); err != nil {
		out = append(out, sandbox.LevelNamespaces)
		why = append(why, fmt.Sprintf("no layer fits over %s: %v", wl.repo().Root(), err))
	}
	level, tried := sandbox.Strongest(ctx, wl.shell, wl.env, out...)
	return level, append(why, tried...)
}

// record is what the journal says of a phase's walls.
func (wl *walls) record(p plan.Phase) plan.Walls {
	level, _ := wl.level()
	out := plan.Walls{Sandbox: string(level)}
	if level == sandbox.LevelNone {
		return out
	}
	out.Unkept, out.Bounds = wl.policy(p).Unenforced(level), plan.BoundsProcess
	if wl.whole() == nil {
		out.Bounds = plan.BoundsGroup
	}
	return out
}

// insists says, for somebody who insists on walls, what this level could not
// keep as it is; nil for nothing. A run that gets a tree of its own has its
// repository elsewhere.
func (wl *walls) insists(level sandbox.Level) []string {
	if isSet(wl.cfg.Worktree) && !wl.cfg.AllowCommit {
		return nil
	}
	link := wl.repo().GitLink()
	unkept := slices.DeleteFunc(
		wl.policy(plan.Implement).Unenforced(level),
		func(path string) bool { return path == link },
	) // which is put back
	if len(unkept) == 0 {
		return nil
	}
	return []string{
		fmt.Sprintf(
			"%s: Implement could write %s; with --worktree, and without allow_commit, it could not",
			level,
			strings.Join(unkept, ", "),
		),
	}
}

// policy is what the commands of a phase may do.
func (wl *walls) policy(p plan.Phase) sandbox.Policy {
	policy := sandbox.Policy{
		Tree:         wl.repo().Root(),
		Discard:      !phases.TraitsOf(p).Writes,
		Hidden:       append(sandbox.Secrets(wl.env), wl.home),
		Caches:       sandbox.Caches(wl.env, wl.now()),
		Unwatched:    wl.repo().GitDirs(),
		MaxMemory:    uint64(wl.cfg.MaxMemory),
		MaxProcesses: uint64(wl.cfg.MaxProcesses),
	}
	policy.Network = !policy.Discard
	if said := wl.cfg.Phase[p].Network; said != nil {
		policy.Network = *said
	}
	dirs := wl.repo().GitDirs()
	switch {
	case policy.Discard: // commits go into the layer
		policy.ExtraDirs = dirs
	case wl.cfg.AllowCommit:
		policy.ExtraDirs, policy.Fixed = dirs, wl.repo().CodeDirs()
	default:
		policy.Fixed = dirs
	}
	if link := wl.repo().GitLink(); link != "" && !policy.Discard {
		policy.Fixed = append(policy.Fixed, link)
	}
	policy.ExtraDirs = outside(policy.ExtraDirs, policy.Tree)
	if !policy.Discard {
		policy.Code = wl.repo().CodeDirs()
		if link := wl.repo().GitLink(); link != "" {
			policy.Code = append(policy.Code, link)
		}
	}
	return policy
}

// outside leaves out what lies in a directory anyway.
func outside(paths []string, dir string) []string {
	var out []string
	for _, p := range paths {
		if rel, err := filepath.Rel(dir, p); err != nil || !filepath.IsLocal(rel) {
			out = append(out, p)
		}
	}
	return out
}

// room makes the place where the commands of a phase run. A tree that must not
// change is copied where no layer can be laid over it. A review sees the change
// as a commit.
func (wl *walls) room(ctx context.Context, p plan.Phase, at plan.Trees) (phases.Room, error) {
	if !phases.TraitsOf(p).Judges || at == (plan.Trees{}) {
		return wl.build(ctx, wl.policy(p))
	}
	room, err := wl.show(ctx, plan.Trial{Trees: at})
	if err != nil {
		return phases.Room{}, err
	}
	return room.Room, nil
}

// build makes a room with these walls.
func (wl *walls) build(ctx context.Context, policy sandbox.Policy) (phases.Room, error) {
	level, _ := wl.level()
	discard := func() error { return nil }
	if policy.Discard && level.NeedsCopy() {
		var err error
		if policy, discard, err = wl.copied(ctx, policy); err != nil {
			return phases.Room{}, err
		}
	}
	if wl.cfg.AllowCommit && !policy.Discard {
		if err := wl.haveHooks(); err != nil {
			return phases.Room{}, err
		}
	}
	wall, err := sandbox.NewWall(level, policy, wl.env)
	if err != nil {
		return phases.Room{}, errors.Join(err, discard())
	}
	return wl.around(ctx, wall, discard), nil
}

// copied is a policy with a copy of the tree, and what removes that.
func (wl *walls) copied(ctx context.Context, policy sandbox.Policy) (sandbox.Policy, func() error, error) {
	dir, discard, err := wl.view(ctx)
	if err != nil {
		return policy, nil, fmt.Errorf("copy the work tree: %w", err)
	}
	policy.Copy = dir
	policy.ExtraDirs = nil // the copy is a repository of its own
	return policy, discard, nil
}

// around is the room behind a wall.
func (wl *walls) around(ctx context.Context, wall *sandbox.Wall, discard func() error) phases.Room {
	return phases.Room{
		Dir:   wall.Dir(),
		Shell: wall.Shell(wl.shell),
		Close: func() error {
			if ctx.Err() == nil {
				return errors.Join(wall.Close(), discard())
			}
			wall.End()
			wl.behind.Go(func() { _ = wall.Close() }) // swept up later
			return discard()
		},
	}
}

// ownTemp reports whether commands see a temporary folder of their own under the
// name of the real one.
func (wl *walls) ownTemp() bool {
	level, _ := wl.level()
	return level == sandbox.LevelNamespaces || level == sandbox.LevelBubblewrap
}

// haveHooks makes sure that there is a folder of hooks: what is not there
// cannot be kept as it is.
func (wl *walls) haveHooks() error {
	dirs := wl.repo().GitDirs()
	if err := os.MkdirAll(filepath.Join(dirs[len(dirs)-1], "hooks"), 0o755); err != nil {
		return fmt.Errorf("keep the hooks as they are: %w", err)
	}
	return nil
}

// wallsFinding says for doctor what commands run behind.
func (a *app) wallsFinding(ctx context.Context) finding {
	f := finding{Name: "walls"}
	shell, err := sandbox.New(sandbox.Config{Env: a.environ, Path: os.Getenv("PATH")})
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	level, why := sandbox.Strongest(ctx, shell, a.environ)
	f.OK = level != sandbox.LevelNone
	switch level {
	case sandbox.LevelNamespaces:
		f.Detail = "namespaces: commands run behind namespaces, an overlay, Landlock and seccomp; a write was tried and did not get out"
	case sandbox.LevelBubblewrap:
		f.Detail = "bubblewrap: commands of reviews and checks run in a copy of the tree behind bwrap, Landlock and seccomp"
	case sandbox.LevelLandlock:
		f.Detail = "landlock: commands of reviews and checks run in a copy of the tree behind Landlock and seccomp; chmod and touch on your own files are only noticed; Implement can write .git, unless it has a tree of its own (--worktree): hooks and settings are put back at its end"
	case sandbox.LevelSeatbelt:
		f.Detail = "sandbox-exec: commands of reviews and checks run in a copy of the tree under a profile; a write was tried and did not get out; what leaves its process group lives on (nobody has tried this level on a Mac beyond that)"
	case sandbox.LevelNone:
		f.Detail, f.Do = "none: reviews and checks run in a copy of the tree, and commands can reach what you can reach", (&sandbox.Refusal{}).Hint()
	}
	if len(why) > 0 {
		f.Detail += "; not used: " + strings.Join(why, "; ")
	}
	return f
}
