package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/skills"
	"github.com/plan-engine/plan/tools/hook"
	"github.com/plan-engine/plan/tools/permit"
)

// guard is who watches over the calls of a run: the rules, and the hooks of the
// settings. A nil guard sees no events.
type guard struct {
	app    *app
	policy *permit.Policy
	hooks  *hook.Runner
	force  bool
	state  plan.State // of the run, as far as the journal has gone
}

// newGuard brings rules and hooks together, for the tree that the run works in.
func (a *app) newGuard(w *workshop) (*guard, error) {
	temp := a.getenv("TMPDIR")
	if !filepath.IsAbs(temp) {
		temp = "/tmp"
	}
	place := permit.Place{
		Root:    w.repo.Root(),
		Home:    a.getenv("HOME"),
		Temp:    temp,
		OwnTemp: w.walls.ownTemp,
	}
	policy, err := permit.New(place, layers(w.cfg.Permission)...)
	if err != nil {
		return nil, err
	}
	runner, err := hook.New(hook.Config{
		Hooks:  hooksOf(w.repo.Root(), w.cfg.Hooks),
		Dir:    w.repo.Root(),
		Env:    w.cfg.ForChildren(a.environ),
		Path:   os.Getenv("PATH"),
		Redact: w.redact,
		Now:    a.now,
	})
	if err != nil {
		return nil, err
	}
	return &guard{
		app:    a,
		policy: policy,
		hooks:  runner,
		force:  w.force,
	}, nil
}

// layers sorts rules by whose they are. What a trusted repository allows comes
// before the user's own rules, which so have the last word; what any repository
// asks or denies counts in any case.
func layers(rules []config.Permission) []permit.Layer {
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

// hooksOf are the hooks of the settings. One of a repository is compared with
// what was trusted each time before it runs.
func hooksOf(root string, from []config.Hook) []hook.Hook {
	var out []hook.Hook
	for _, c := range from {
		h := hook.Hook{
			Event:   c.Event,
			Tool:    c.Tool,
			Path:    c.Path,
			Command: c.Command,
			Timeout: c.Timeout.Duration,
		}
		if c.From != config.FromUser {
			h.Check = func() error {
				now, err := config.HookDigest(root, c)
				if err == nil && now != c.Digest {
					err = errors.New(
						"it has changed since it was trusted; look at it, and allow it again with `plan trust`",
					)
				}
				return err
			}
		}
		out = append(out, h)
	}
	return out
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
		Paths:   func(tool string, args []byte) []string { return permit.Read(tool, args, dir).Paths },
	}
	return loop.Join(g.hooks.Loop(scope), g.policy.Hooks(dir, g.force)), g.hooks.Filters(scope)
}

// learn takes over what people have allowed for longer than one call.
func (g *guard) learn(events ...plan.Event) {
	if g == nil {
		return
	}
	for _, ev := range events {
		switch b := ev.Body.(type) {
		case plan.ApprovalResolved:
			if b.Approved && b.Scope != plan.ScopeOnce && b.Grant != (plan.Grant{}) {
				g.policy.Grant(b.Grant)
			}
		case plan.StateChange:
			g.state = b.To
		}
	}
}

// beside runs the hooks that events call for which are about to be recorded,
// and puts what came of them before these.
func (g *guard) beside(ctx context.Context, events []plan.Event) []plan.Event {
	at := slices.IndexFunc(events, func(ev plan.Event) bool { return ev.Type() == plan.TypeVerdict })
	if at < 0 || g == nil || !g.hooks.Has(hook.Verdict) {
		return events
	}
	ev := events[at]
	verdict, ok := ev.Body.(plan.VerdictGiven)
	if !ok {
		return events
	}
	in := hook.Input{
		Event:   hook.Verdict,
		Run:     ev.Run,
		Phase:   ev.Phase,
		Attempt: ev.Attempt,
		Conv:    ev.Conv,
		Verdict: &verdict.Judgement,
	}
	var ran []plan.Event
	for _, rep := range g.hooks.Each(ctx, in, nil) {
		ev.Body = rep.Event(in, false)
		ran = append(ran, ev)
	}
	return slices.Insert(slices.Clone(events), at, ran...)
}

// session runs work between the hooks for its beginning and its end. The latter
// run however it ends, and are told to people alone: a journal ends with the
// run.
func (g *guard) session(
	ctx context.Context,
	j *journal,
	show func(plan.Event),
	work func() (engine.End, error),
) (end engine.End, err error) {
	defer func() {
		in := hook.Input{
			Event: hook.SessionEnd,
			Run:   j.run,
			State: g.state,
		}
		if end.Parked != nil {
			in.Parked = end.Parked.Reason
		}
		for _, rep := range g.hooks.Each(context.WithoutCancel(ctx), in, nil) {
			if !rep.OK() {
				fmt.Fprintf(g.app.err, "plan: note: a session_end hook failed: %s\n", render.SafeLine(rep.Why()))
			}
		}
	}()
	in := hook.Input{
		Event: hook.SessionStart,
		Run:   j.run,
		State: g.state,
	}
	for _, rep := range g.hooks.Each(ctx, in, nil) {
		stored, err := j.writer.Append(context.WithoutCancel(ctx), plan.Event{
			Run:  j.run,
			Time: g.app.now(),
			Body: rep.Event(in, false),
		})
		if err != nil {
			return engine.End{}, fmt.Errorf("record a hook: %w", err)
		}
		for _, ev := range stored {
			show(ev)
		}
	}
	return work()
}

// trusted says whether a skill of a repository may be used: as it is now.
func (a *app) trusted(paths config.Paths, root string) func(context.Context, skills.Skill) (string, bool, error) {
	store := a.trustStore(paths)
	return func(_ context.Context, s skills.Skill) (string, bool, error) {
		const why = "it is not trusted as it is now; see it and allow it with `plan trust`"
		name, err := filepath.Rel(root, s.Dir)
		if err != nil {
			return why, false, nil //nolint:nilerr // a skill outside the repository is none of its skills
		}
		name = filepath.ToSlash(name)
		digest, err := trust.Folder(root, name)
		if err != nil {
			return "it cannot be trusted: " + err.Error(), false, nil
		}
		ok, err := store.Trusted(root, "skill", name, digest)
		return why, ok, err
	}
}

// trustedItems asks what the user has trusted of a repository. A store that cannot
// be read trusts nothing and says so once.
func (a *app) trustedItems(paths config.Paths, root string) func(trust.Item) bool {
	store := a.trustStore(paths)
	told := false
	return func(it trust.Item) bool {
		ok, err := store.Trusted(root, it.Kind, it.Path, it.Digest)
		if err != nil && !told {
			told = true
			fmt.Fprintf(a.err, "plan: note: nothing of the repository is trusted: %s\n", render.SafeLine(err.Error()))
		}
		return ok
	}
}

func (a *app) trustStore(paths config.Paths) *trust.Store {
	return trust.Open(filepath.Join(paths.Home, "trust.json"), a.now)
}

// withRules takes the rules and hooks from the files as they are now: a rule
// that came into force since a run began holds for it, too.
func withRules(cfg, now config.Config) config.Config {
	cfg.Permission, cfg.Hooks, cfg.AutoApprove = now.Permission, now.Hooks, now.AutoApprove
	return cfg
}
