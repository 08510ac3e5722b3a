package host

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host/sealed"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/tools/hook"
	"github.com/plan-engine/plan/tools/permit"
	"github.com/plan-engine/plan/worktree"
)

// guard applies to the calls of a run the rules and the hooks of the settings. A
// nil guard sees no events.
type guard struct {
	policy *permit.Policy
	hooks  *hook.Runner
	room   *hookRoom
	out    *outsideRoom
	force  bool // the rules are not asked
	now    func() time.Time
	note   func(string)
	state  plan.State // of the run, as far as the journal has gone
	began  *beginnings
	// model is the name of a model that a hook wants for a turn, or why it cannot be had.
	model func(own, wanted string) (string, error)
}

// beginnings knows what was in the tree when a run began.
type beginnings struct {
	repo *worktree.Repo

	mu     sync.Mutex
	tree   string
	origin string // the tree that its change counts from
	at     time.Time
}

func (b *beginnings) set(start plan.RunStart, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tree, b.origin, b.at = start.Snapshot, start.Origin(), at
	if start.ForkedFrom != nil {
		b.at = time.Time{} // what the other run made was there before this one began
	}
}

// before is the tree as it was before all work, and when the work began.
func (b *beginnings) before() (string, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.origin, b.at
}

// restartAt has a run that was begun elsewhere begin at a commit of this repository: of what
// its journal says of the beginning nothing is known here, its time included.
func (b *beginnings) restartAt(commit string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tree, b.origin, b.at = commit, commit, time.Time{}
}

// changed lists what a command runs that was something else when the run began.
func (b *beginnings) changed(command string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	paths := trust.Tasks(b.repo.Root(), command)
	if len(paths) == 0 || b.tree == "" { // then nothing can be told
		return paths
	}
	return b.repo.Unlike(context.Background(), b.tree, b.at, paths)
}

// newGuard brings rules and hooks together, for the tree that the run works in.
func (s *session) newGuard() (*guard, error) {
	temp := s.host.Getenv("TMPDIR")
	if !filepath.IsAbs(temp) {
		temp = "/tmp"
	}
	began := &beginnings{repo: s.repo}
	place := permit.Place{
		Root:    s.repo.Root(),
		Home:    s.host.Getenv("HOME"),
		Temp:    temp,
		OwnTemp: s.walls.HasOwnTemp,
		Changed: began.changed,
	}
	policy, err := permit.New(place, permissionLayers(s.cfg.Permission)...)
	if err != nil {
		return nil, err
	}
	room := &hookRoom{open: s.walls.HookRoom, note: s.host.note}
	env, path := s.cfg.ForChildren(s.host.environ), s.host.searched(s.repo.Root(), s.avoid)
	outside := &outsideRoom{
		began: began.before,
		spec: sealed.Spec{
			Repo:  s.repo,
			Shell: sandbox.Config{Env: env, Path: path},
			Homes: s.host.OwnFolders(),
		},
	}
	runner, err := hook.New(hook.Config{
		Hooks:  hooksOf(s.repo.Root(), s.host.Getenv("PATH"), s.cfg.Hooks, outside),
		Room:   room.enter,
		Dir:    s.repo.Root(),
		Env:    env,
		Path:   path,
		Redact: s.redactRead,
		Now:    s.host.now,
	})
	if err != nil {
		return nil, err
	}
	return &guard{
		policy: policy,
		hooks:  runner,
		room:   room,
		out:    outside,
		force:  s.force,
		now:    s.host.now,
		note:   s.host.note,
		began:  began,
		model:  s.modelForTurn,
	}, nil
}

// modelForTurn is the model that a hook wants for a turn of a conversation with own.
// What came with the conversation's answers is for one server and one wire, and what
// has no price is not bounded by a cost.
func (s *session) modelForTurn(own, wanted string) (string, error) {
	name, _, err := s.cfg.Resolve(wanted)
	if err != nil {
		return "", err
	}
	if !s.servers.Same(own, name) {
		return "", fmt.Errorf("%q is not at the server of %s; a conversation keeps its provider and wire", name, own)
	}
	if entry, ok := s.servers.Entry(name); s.cfg.MaxCost > 0 && (!ok || !entry.Priced) {
		return "", fmt.Errorf("%q has no price, so max_cost would not hold", name)
	}
	return name, nil
}

// permissionLayers sorts rules by whose they are. What a trusted repository allows
// comes before the user's own rules, which so have the last word; what any
// repository asks or denies counts in any case.
func permissionLayers(rules []config.Permission) []permit.Layer {
	trusted := permit.Layer{Name: "the repository"}
	user := permit.Layer{Name: "config.toml"}
	repo := permit.Layer{Name: ".plan/config.toml", Tightens: true}
	for _, p := range rules {
		rule := permit.Rule{
			Tool:    p.Tool,
			Path:    p.Path,
			Command: p.Command,
			Action:  permit.Action(p.Action),
			Reason:  p.Reason,
		}
		if p.From == config.FromUser {
			user.Rules = append(user.Rules, rule)
			continue
		}
		repo.Rules = append(repo.Rules, rule)
		if p.From == config.FromTrusted {
			trusted.Rules = append(trusted.Rules, rule)
		}
	}
	return []permit.Layer{trusted, user, repo}
}

// watch implements phases.Config.Watch. The hooks come first, so that the rules
// judge what will really be called.
func (g *guard) watch(b plan.Brief, dir string, emit plan.Emit) (loop.Hooks, []loop.Filter) {
	scope := hook.Scope{
		Run:     b.Run,
		Phase:   b.Phase,
		Attempt: b.Attempt,
		Conv:    b.Conv,
		Emit:    emit,
		Model:   g.model,
		Paths:   func(tool string, args []byte) []string { return permit.Read(tool, args, dir).Paths },
	}
	return loop.Join(g.hooks.Loop(scope), g.policy.Hooks(dir, g.force)), g.hooks.Filters(scope)
}

// withheld reports whether the rules let a file of dir be read along with others, by a
// call that does not name it.
func (g *guard) withheld(dir, path string) bool {
	return !g.force && g.policy.Withholds(dir, path)
}

// denied reports whether the user's rules, or those of a repository that is trusted, deny
// that a file of dir is read.
func (g *guard) denied(dir, path string) bool { return !g.force && g.policy.Denies(dir, path) }

// observe takes over what people have allowed for longer than one call.
func (g *guard) observe(events ...plan.Event) {
	if g == nil {
		return
	}
	for _, ev := range events {
		switch b := ev.Body.(type) {
		case plan.RunStart:
			g.began.set(b, ev.Time)
		case plan.ApprovalResolved:
			if b.Approved && b.Scope != plan.ScopeOnce && b.Grant != (plan.Grant{}) {
				g.policy.Grant(b.Grant)
			}
		case plan.StateChange:
			g.state = b.To
		case plan.PhaseEnd:
			g.room.leave()
		}
	}
}

// withVerdictHooks runs the hooks for a verdict that is about to be recorded, and
// puts what came of them before it. They run once for a verdict: where it was kept
// back, ran is what they came to, and it stands before what became of the verdict.
func (g *guard) withVerdictHooks(ctx context.Context, events, ran []plan.Event) (with, hooked []plan.Event) {
	at := slices.IndexFunc(events, func(ev plan.Event) bool { return ev.Type() == plan.TypeVerdict })
	if at < 0 || g == nil || !g.hooks.Has(hook.Verdict) {
		return events, ran
	}
	ev := events[at]
	verdict, ok := ev.Body.(plan.VerdictGiven)
	if !ok {
		return events, ran
	}
	in := hook.Input{
		Event:   hook.Verdict,
		Run:     ev.Run,
		Phase:   ev.Phase,
		Attempt: ev.Attempt,
		Conv:    ev.Conv,
		Verdict: &verdict.Judgement,
	}
	if ran != nil {
		return slices.Insert(slices.Clone(events), at, ran...), ran
	}
	ran = []plan.Event{}
	for _, rep := range g.hooks.Each(ctx, in, nil) {
		ev.Body = rep.Event(in, false)
		ran = append(ran, ev)
	}
	g.room.leave()
	return slices.Insert(slices.Clone(events), at, ran...), ran
}

// withSessionHooks runs work between the hooks for its beginning and its end. The
// latter run however it ends, and are only noted: a journal ends with the run.
func (g *guard) withSessionHooks(
	ctx context.Context,
	run plan.RunID,
	writer *memory.Writer,
	show func(plan.Event),
	work func() (engine.End, error),
) (end engine.End, err error) {
	defer func() {
		defer g.room.leave()
		in := hook.Input{
			Event: hook.SessionEnd,
			Run:   run,
			State: g.state,
		}
		if end.Parked != nil {
			in.Parked = end.Parked.Reason
		}
		for _, rep := range g.hooks.Each(context.WithoutCancel(ctx), in, nil) {
			if !rep.OK() {
				g.note("a session_end hook failed: " + rep.Why())
			}
		}
		if err := g.out.close(); err != nil {
			g.note("what hooks outside of walls saw: " + err.Error())
		}
	}()
	in := hook.Input{
		Event: hook.SessionStart,
		Run:   run,
		State: g.state,
	}
	for _, rep := range g.hooks.Each(ctx, in, nil) {
		stored, err := writer.Append(context.WithoutCancel(ctx), plan.Event{
			Run:  run,
			Time: g.now(),
			Body: rep.Event(in, false),
		})
		if err != nil {
			return engine.End{}, fmt.Errorf("record a hook: %w", err)
		}
		for _, ev := range stored {
			show(ev)
		}
	}
	g.room.leave()
	return work()
}

// withRules takes the rules and hooks from the files as they are now: a rule
// that came into force since a run began holds for it, too. What hooks run in the
// work tree is what was there when the run began.
func withRules(cfg, previous, current config.Config) config.Config {
	cfg.Permission = current.Permission
	cfg.Hooks = keepPins(current.Hooks, previous.Hooks)
	cfg.AutoApprove = current.AutoApprove
	cfg.MCP = current.MCP // which hold no keys where they are kept with a run
	return cfg
}
