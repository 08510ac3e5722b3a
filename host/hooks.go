package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/host/sealed"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/tools/hook"
)

// hooksOf are the hooks of the settings, for the work tree at root. What of the tree
// they run is compared each time before, and must not change while they run: that of a
// repository's hook with what was trusted, that of the user's own with what was there
// when the run began. One that runs outside has no need of that: outside sees nothing else.
// Searched is the PATH on which they look for programs.
func hooksOf(root, searched string, from []config.Hook, outside *outsideRoom) []hook.Hook {
	var out []hook.Hook
	for _, c := range from {
		h := hook.Hook{
			Event:   c.Event,
			Tool:    c.Tool,
			Path:    c.Path,
			Command: c.Command,
			Timeout: c.Timeout.Duration,
		}
		switch {
		case c.From == config.FromUser && c.Outside:
			h.Outside = func(ctx context.Context) (hook.Room, error) {
				return outside.enter(ctx, c.Command, programsOf(root, searched, c))
			}
		case c.From == config.FromUser:
			h.Check = func() (hook.Recheck, error) {
				return checkBeforeAndAfter(root, searched, c, func() error { return checkPrograms(root, searched, c) })
			}
		default:
			h.Check = func() (hook.Recheck, error) {
				return checkBeforeAndAfter(root, searched, c, func() error { return checkTrusted(root, searched, c) })
			}
		}
		out = append(out, h)
	}
	return out
}

// checkBeforeAndAfter makes a check, and what is to be checked when the hook has ended: a process that
// goes on in the tree may change what it runs behind the check, and put it back.
func checkBeforeAndAfter(root, searched string, c config.Hook, check func() error) (hook.Recheck, error) {
	programs := programsOf(root, searched, c)
	before := trust.Marks(root, programs)
	err := check()
	return func() error {
		if !slices.Equal(programsOf(root, searched, c), programs) || trust.Marks(root, programs) != before {
			return errors.New(
				"what it runs in the work tree was changed while it ran, so what it said counts for nothing",
			)
		}
		return nil
	}, err
}

// programsOf are the files of the tree that a hook runs or might, also those that are
// found because PATH has a folder of the tree.
func programsOf(root, searched string, c config.Hook) []string {
	out := append(c.Programs(root), trust.Found(root, c.Command, searched)...)
	slices.Sort(out)
	return slices.Compact(out)
}

func checkTrusted(root, searched string, c config.Hook) error {
	if found := trust.Found(root, c.Command, searched); len(found) > 0 {
		return fmt.Errorf(
			"PATH has a folder of the work tree where it may find what was not trusted (%s); "+
				"name programs by their paths",
			strings.Join(found, ", "),
		)
	}
	now, err := config.HookDigest(root, c)
	if err == nil && now != c.Digest {
		err = errors.New("it has changed since it was trusted; look at it, and allow it again with `plan trust`")
	}
	return err
}

// checkPrograms refuses a hook of the user's own that would run what is in the work
// tree and is not what was there when the run began.
func checkPrograms(root, searched string, c config.Hook) error {
	programs := programsOf(root, searched, c)
	now, err := trust.Files(root, programs)
	if err == nil && now != c.Digest {
		names := strings.Join(programs, ", ")
		if len(programs) == 0 {
			names = "a file that is gone"
		}
		err = fmt.Errorf(
			"what it runs in the work tree (%s) is not what was there when the run began; look at it, and put it back "+
				"or begin another run; a program outside the repository is out of the run's reach",
			names,
		)
	}
	return err
}

// pinHooks notes what the user's hooks run in the work tree at root, where a run
// begins.
func pinHooks(root, searched string, hooks []config.Hook) ([]config.Hook, error) {
	out := make([]config.Hook, len(hooks))
	for i, c := range hooks {
		if c.From == config.FromUser && !c.Outside {
			var err error
			if c.Digest, err = trust.Files(root, programsOf(root, searched, c)); err != nil {
				return nil, fmt.Errorf("the %s hook %q: %w", c.Event, c.Command, err)
			}
		}
		out[i] = c
	}
	return out, nil
}

// keepPins gives hooks what was noted of them when the run began. One that came
// later has nothing: it may run what is outside the tree.
func keepPins(current, previous []config.Hook) []config.Hook {
	type key struct{ event, tool, path, command string }
	keyOf := func(h config.Hook) key { return key{h.Event, h.Tool, h.Path, h.Command} }
	pins := map[key]string{}
	for _, h := range previous {
		if h.From == config.FromUser {
			pins[keyOf(h)] = h.Digest
		}
	}
	out := make([]config.Hook, len(current))
	for i, h := range current {
		if h.From == config.FromUser {
			h.Digest = pins[keyOf(h)]
		}
		out[i] = h
	}
	return out
}

// hookRoom is where the hooks of a run run, one phase after the other.
type hookRoom struct {
	open func(context.Context, plan.Phase) (room phases.Room, ok bool, err error)
	note func(string)

	mu   sync.Mutex
	of   phaseTry
	room *phases.Room // nil before the first hook of a phase, and after its end
}

// phaseTry is an attempt at a phase.
type phaseTry struct {
	phase   plan.Phase
	attempt int
}

// enter is the room of the phase that a hook belongs to. A phase's first hook has it
// built.
func (r *hookRoom) enter(ctx context.Context, in hook.Input) (hook.Room, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := phaseTry{phase: in.Phase, attempt: in.Attempt}
	if r.room != nil && r.of != of {
		r.close()
	}
	if r.room == nil {
		room, ok, err := r.open(ctx, in.Phase)
		if err != nil || !ok {
			return hook.Room{}, ok, err
		}
		r.room, r.of = &room, of
	}
	return hook.Room{Dir: r.room.Dir, Shell: r.room.Shell}, true, nil
}

// leave ends what hooks have left running, and throws away what is to be.
func (r *hookRoom) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.close()
}

func (r *hookRoom) close() {
	if r.room == nil {
		return
	}
	if err := r.room.Close(); err != nil {
		r.note("the hooks' walls: " + err.Error())
	}
	r.room = nil
}

// outsideRoom is where hooks run that no wall contains: one place for all of a process.
type outsideRoom struct {
	spec  sealed.Spec
	began func() (tree string, at time.Time)

	mu    sync.Mutex
	place *sealed.Place // nil before the first such hook
}

// enter is the room of a hook with a command line, which may run files of the tree.
func (r *outsideRoom) enter(ctx context.Context, line string, programs []string) (hook.Room, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.place == nil {
		spec := r.spec
		spec.Tree, spec.Began = r.began()
		place, err := sealed.Open(ctx, spec)
		if err != nil {
			return hook.Room{}, err
		}
		r.place = place
	}
	if err := r.place.Admit(ctx, line, programs); err != nil {
		return hook.Room{}, err
	}
	return hook.Room{Dir: r.place.Dir, Shell: r.place.Shell}, nil
}

func (r *outsideRoom) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.place == nil {
		return nil
	}
	defer func() { r.place = nil }()
	return r.place.Close()
}
