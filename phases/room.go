package phases

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/tools"
)

// Room is where one attempt of a phase works.
type Room struct {
	// Dir is the work tree as the phase sees it: the real one, or a copy.
	Dir string
	// Shell runs commands under the phase's policy.
	Shell *sandbox.Shell
	// Shown are the trees that git shows there: HEAD is Work, HEAD~ Start. They
	// are empty where the repository is seen as it is.
	Shown plan.Trees
	// Changes says how the tree that is shown stands now. Nil, as are the two that
	// follow, where that is not known.
	Changes func(ctx context.Context) (Changes, error)
	// Added lists the regular files that commands have made: in the tree where git does
	// not ignore them or they are named, and in the temporary folder. Hash is not filled in.
	Added func(ctx context.Context, named func(path string) bool) ([]plan.AddedFile, error)
	// Read reads one of those, by its path; more than 1 MiB is an error.
	Read func(path string) ([]byte, fs.FileMode, error)
	// Close ends what the commands started and throws away what is to be
	// thrown away. A sandbox.Breach among its errors says that the real tree
	// changed although the phase must not change it.
	Close func() error
	// shared runs commands in place of Shell, in a room of its own, and ready is what
	// they wait for; nil: nothing.
	shared *sharedRoom
	ready  func(context.Context) error
}

// runner runs the commands of the phase; nil where it has none.
func (r Room) runner() tools.Shell {
	switch {
	case r.shared != nil && r.ready != nil:
		return waiting{Shell: r.shared, ready: r.ready}
	case r.shared != nil:
		return r.shared
	case r.Shell != nil:
		return r.Shell
	}
	return nil
}

// waiting runs commands once what they need is there.
type waiting struct {
	tools.Shell
	ready func(context.Context) error
}

// Run implements [tools.Shell].
func (w waiting) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	if err := w.ready(ctx); err != nil {
		return sandbox.Result{}, fmt.Errorf("wait for the setup: %w", err)
	}
	return w.Shell.Run(ctx, c)
}

// Changes is how a tree stands against how commands found it first. The paths
// are relative to it, with slashes, sorted.
type Changes struct {
	// Altered are files of the tree that are gone or stand otherwise now: in
	// content, type, or whether they may be executed.
	Altered []string
	// Wrote are those that were written to at all, even if they stand as before.
	Wrote []string
	// Added are files that the tree does not have and git does not ignore.
	Added []string
}

// room is where a phase works. One that runs no commands needs no walls, and one that
// only looks none before its first command: its other tools look at the tree itself.
func (ph *Phases) room(ctx context.Context, p plan.Phase, at plan.Trees) (Room, error) {
	if !ph.commands(p) {
		return Room{Dir: ph.cfg.Root, Close: func() error { return nil }}, nil
	}
	if t := TraitsOf(p); !t.Writes && !t.Judges {
		return Room{
			Dir:    ph.cfg.Root,
			Close:  func() error { return ph.shared.close(ctx) },
			shared: ph.shared,
		}, nil
	}
	room, err := ph.cfg.Room(ctx, p, at)
	if err != nil {
		return room, &plan.Outage{Err: fmt.Errorf("prepare the work tree for the commands of %s: %w", p, err)}
	}
	return room, nil
}

// commands reports whether a phase has a tool that runs commands.
func (ph *Phases) commands(p plan.Phase) bool {
	return slices.ContainsFunc(
		ph.cfg.Kit.offer(p),
		func(name string) bool { return tools.PurposeOf(name) == tools.Execute },
	)
}

// closeRoom closes a room and says what follows: people are told of what could not
// be thrown away, and the phase's outcome still counts. But where the real tree
// changed under a phase that must not change it, nothing is approved.
func closeRoom(ctx context.Context, room Room, b plan.Brief, emit plan.Emit, out *plan.Outcome, err error) error {
	left := room.Close()
	if err != nil || left == nil {
		return errors.Join(err, left)
	}
	failure := plan.Failure{
		Error: fmt.Sprintf("what %s worked in could not be removed: %v", b.Phase, left),
		Hint:  "What the phase found counts. Remove the folder by hand.",
	}
	var breach *sandbox.Breach
	if errors.As(left, &breach) {
		failure = plan.Failure{
			Error: fmt.Sprintf("while %s ran, %v", b.Phase, breach),
			Hint: "Look at what changed there. A kernel with user namespaces keeps this from happening: see " +
				"`plan doctor`.",
		}
		if len(breach.Lost) > 0 { // nothing here may ask git anything any more
			return &plan.Outage{Err: fmt.Errorf("while %s ran, %w", b.Phase, breach)}
		}
		if out.Judgement != nil && out.Judgement.Approved {
			out.Judgement.Approved, out.Judgement.Verdict = false, plan.NeedsFix
			out.Judgement.Why = "While it was reviewed " + breach.Error() + ". So the verdict is not about what " +
				"is there now."
		}
	}
	return emit(context.WithoutCancel(ctx), plan.Event{Conv: b.Conv, Body: failure})
}
