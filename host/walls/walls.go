// Package walls decides what the commands of a run may do, and builds what keeps
// them to it: for each phase a room with the work tree and a shell in it, and for
// each trial of a check a room in which git shows the run's change as a commit.
//
// It knows the settings, git and the sandbox. It must not know what drives a run
// or who asked for it: it reads no arguments and writes to no terminal.
package walls

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host/caches"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

// Values of the setting sandbox that are not the name of a level.
const (
	modeAuto     = "auto"
	modeRequired = "required"
	modeOff      = "off"
)

// Config is what walls are built of. Every field is needed that does not say otherwise.
type Config struct {
	// Settings say which level is wanted, what each phase may do, and the bounds.
	Settings config.Config
	// Repo returns the work tree that the run works in. It is asked again for every
	// room, because a run may get a tree of its own after [New].
	Repo func() *worktree.Repo
	// Shell runs the commands.
	Shell *sandbox.Shell
	// Env is the user's environment, as NAME=value. Commands get of it what the shell
	// has, and it says where the home, keys, tools and caches are.
	Env []string
	// Home is the folder with the database and the settings of the user, PLAN_HOME.
	// No command can read it.
	Home string
	// Shown are folders of the user's home outside of the tree that commands may read,
	// because the user has agreed to what the repository asks for. May be nil.
	Shown []string
	// Homes are further homes of this machine, or folders with them, of which commands
	// see what they see of the user's own. May be nil.
	Homes []string
	// Now is the clock.
	Now func() time.Time
	// Note takes what the user should know about the walls, without a line break.
	Note func(text string)
	// CopyTree copies the work tree, for a phase that must not change it where no
	// layer can be laid over it. discard removes the copy.
	CopyTree func(ctx context.Context) (dir string, discard func() error, err error)
	// Background does work that the run need not wait for: it removes what a
	// cancelled phase left. What it does not get done, a later process sweeps up.
	Background func(work func())
}

// Walls builds rooms for the commands of one run. Its methods may be called by
// several goroutines, after [Walls.OpenViews].
type Walls struct {
	cfg Config
	// level is the strongest level that can be built here and is wanted, and why
	// each stronger one is not used. It is found out once.
	level func() (sandbox.Level, []string)
	// checkBounds is an error where the bounds of memory and processes hold for
	// each process alone, and nil where they hold for all commands together.
	checkBounds func() error
	views       *views // nil before OpenViews
	caches      func() *caches.Layers

	homesMu sync.Mutex
	homes   map[string]home // by the tree that is worked on
}

// New prepares the walls of a run. What the settings require is tried at once, and
// a [sandbox.Refusal] says what is missing. Otherwise the level is chosen when the
// first command needs it.
func New(ctx context.Context, cfg Config) (*Walls, error) {
	w := &Walls{cfg: cfg}
	w.level = sync.OnceValues(func() (sandbox.Level, []string) { return w.chooseLevel(context.WithoutCancel(ctx)) })
	w.checkBounds = sync.OnceValue(func() error { return sandbox.Bounded(context.WithoutCancel(ctx)) })
	w.caches = sync.OnceValue(func() *caches.Layers {
		dirs := cfg.Repo().GitDirs()
		return caches.New(caches.Config{
			Dir:        caches.In(cfg.Home),
			Repository: dirs[len(dirs)-1],
			Mounted:    func() bool { return !w.NeedsCopy() },
			Now:        cfg.Now,
		})
	})
	mode := cfg.Settings.Sandbox
	if mode != modeOff {
		w.noteHome()
	}
	if cfg.Settings.MaxMemory > 0 && mode != modeOff {
		if err := w.checkBounds(); err != nil {
			cfg.Note(fmt.Sprintf("max_memory holds for each process alone: %v", err))
		}
	}
	if mode == "" || mode == modeAuto || mode == modeOff {
		return w, nil
	}
	level, why := w.level()
	if level == sandbox.LevelNone || mode != modeRequired && string(level) != mode {
		return nil, &sandbox.Refusal{Why: why}
	}
	if mode == modeRequired {
		if writable := w.unprotected(level); writable != nil {
			return nil, &sandbox.Refusal{Why: append(why, writable...)}
		}
	}
	return w, nil
}

// chooseLevel tries the levels that the settings allow.
func (w *Walls) chooseLevel(ctx context.Context) (sandbox.Level, []string) {
	mode := w.cfg.Settings.Sandbox
	if mode == modeOff {
		return sandbox.LevelNone, []string{"switched off"}
	}
	var ruledOut []sandbox.Level
	var why []string
	if mode != "" && mode != modeAuto && mode != modeRequired { // it names a level
		for _, level := range sandbox.Levels() {
			if string(level) != mode && level != sandbox.LevelNone {
				ruledOut = append(ruledOut, level)
			}
		}
	}
	root := w.cfg.Repo().Root()
	if err := sandbox.Layerable(root); err != nil {
		ruledOut = append(ruledOut, sandbox.LevelNamespaces)
		why = append(why, fmt.Sprintf("no layer fits over %s: %v", root, err))
	}
	level, tried := sandbox.Strongest(ctx, w.cfg.Shell, w.cfg.Env, ruledOut...)
	return level, append(why, tried...)
}

// unprotected says what Implement could write at this level although it must not,
// for a user who requires walls; nil for nothing. In a run that gets a tree of its
// own and makes no commits, the repository's own data is out of reach.
func (w *Walls) unprotected(level sandbox.Level) []string {
	ownTree := w.cfg.Settings.Worktree != nil && *w.cfg.Settings.Worktree
	if ownTree && !w.cfg.Settings.AllowCommit {
		return nil
	}
	link := w.cfg.Repo().GitLink() // put back when the commands have ended
	paths := slices.DeleteFunc(
		w.policy(plan.Implement).Unenforced(level),
		func(path string) bool { return path == link },
	)
	if len(paths) == 0 {
		return nil
	}
	return []string{
		fmt.Sprintf(
			"%s: Implement could write %s; with --worktree, and without allow_commit, it could not",
			level,
			strings.Join(paths, ", "),
		),
	}
}

// Record is what the journal says of a phase's walls: the level, what it cannot
// keep as it is, and whether bounds hold for all commands together.
func (w *Walls) Record(p plan.Phase) plan.Walls {
	level, _ := w.level()
	out := plan.Walls{Sandbox: string(level)}
	if level == sandbox.LevelNone {
		return out
	}
	if level == sandbox.LevelLandlock { // others keep all; a policy has every place with keys looked for
		out.Unkept = w.policy(p).Unenforced(level)
	}
	out.Bounds = plan.BoundsProcess
	if w.checkBounds() == nil {
		out.Bounds = plan.BoundsGroup
	}
	return out
}

// Hold reports whether there are walls at all, and commands that must not change the
// tree cannot.
func (w *Walls) Hold() bool {
	level, _ := w.level()
	return level != sandbox.LevelNone
}

// HasOwnTemp reports whether commands see a temporary folder of their own under
// the name of the real one.
func (w *Walls) HasOwnTemp() bool {
	level, _ := w.level()
	return level == sandbox.LevelNamespaces || level == sandbox.LevelBubblewrap
}

// NeedsCopy reports whether commands that must not change the tree work in a copy
// of it, because this level cannot lay a layer over it.
func (w *Walls) NeedsCopy() bool {
	level, _ := w.level()
	return level.NeedsCopy()
}
