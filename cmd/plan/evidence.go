package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

var (
	_ engine.Changes   = changes{}
	_ engine.Baselines = (*baselines)(nil)
)

// decisive sorts the checks that are configured: those of which one at least
// must pass are all that runs; without such a one they join what is detected,
// which is looked for once, when it is asked for.
func decisive(w *workshop, fromFlags bool) (must []plan.Check, advise func() []plan.Check) {
	all := configured(w.cfg, fromFlags)
	if slices.ContainsFunc(all, func(c plan.Check) bool { return c.Required }) {
		return all, nil
	}
	return nil, sync.OnceValue(func() []plan.Check { return append(all, detected(w)...) })
}

// configured are the checks that a person named. Those of the command line
// stand in the place of all others.
func configured(cfg config.Config, fromFlags bool) []plan.Check {
	if fromFlags {
		return required(cfg, true)
	}
	out := required(cfg, false)
	for _, c := range cfg.Checks.Run {
		if !slices.ContainsFunc(out, func(have plan.Check) bool { return have.Command == c.Command }) {
			out = append(out, plan.Check{
				Command:   c.Command,
				Name:      c.Name,
				Required:  !c.Advice,
				Source:    plan.CheckConfig,
				TimeoutMS: c.Timeout.Milliseconds(),
				Paths:     c.Paths,
			})
		}
	}
	return out
}

// changes says which checks a change concerns.
type changes struct{ repo *worktree.Repo }

// Touches implements engine.Changes.
func (c changes) Touches(ctx context.Context, from, to string, globs []string) (bool, error) {
	paths, err := c.repo.Changed(ctx, from, to)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(paths, func(path string) bool {
		return slices.ContainsFunc(globs, func(glob string) bool {
			return doublestar.MatchUnvalidated(strings.TrimPrefix(glob, "./"), path)
		})
	}), nil
}

// baselines remembers how checks stood on a tree. It advises: whatever goes
// wrong in it costs a run of the check and nothing else.
type baselines struct {
	db    *memory.DB
	repo  *worktree.Repo
	env   []string
	setup string
	fresh bool   // nothing is recalled
	view  string // how checks see the repository
	tree  string
}

// openBaselines opens what is remembered of checks, also for the trials that
// weigh the verdicts of a run.
func (a *app) openBaselines(w *workshop, check *checker, view string) *baselines {
	known := &baselines{
		db:    w.db,
		repo:  w.repo,
		env:   w.cfg.ForChildren(a.environ),
		setup: w.cfg.Checks.Setup,
		fresh: w.freshBaseline,
		view:  view,
	}
	w.try = func(ctx context.Context, t plan.Trial) (plan.CheckResult, []plan.Blob, error) {
		return known.try(ctx, check, t)
	}
	return known
}

// Recall implements engine.Baselines.
func (b *baselines) Recall(ctx context.Context, c plan.Check) (plan.CheckResult, []plan.Blob, bool) {
	var err error
	if b.tree, err = b.repo.Tree(ctx); err != nil || b.fresh {
		return plan.CheckResult{}, nil, false
	}
	return b.recall(ctx, b.key(c))
}

// recall reads what is kept under a key.
func (b *baselines) recall(ctx context.Context, key string) (plan.CheckResult, []plan.Blob, bool) {
	res, ok, err := b.db.Baseline(ctx, key)
	if err != nil || !ok || res.Flaky {
		return plan.CheckResult{}, nil, false
	}
	if res.Blob == "" {
		return res, nil, true
	}
	data, err := b.db.Blob(ctx, res.Blob)
	if err != nil {
		return plan.CheckResult{}, nil, false
	}
	return res, []plan.Blob{{Hash: res.Blob, Data: data}}, true
}

// Keep implements engine.Baselines. A tree that changed while the check ran has
// no result.
func (b *baselines) Keep(ctx context.Context, res plan.CheckResult, _ []plan.Blob) {
	if tree, err := b.repo.Tree(ctx); err != nil || tree != b.tree || tree == "" || res.Cancelled {
		return
	}
	_ = b.db.KeepBaseline(ctx, b.key(res.Check), res)
}

// baselineForm is another one where results hold more than those of earlier
// versions: from the second on, what test runners reported, and from the third on,
// which packages they said nothing of.
const baselineForm = "3"

// try makes a trial, unless what it came to is remembered. A tree without the
// change that is the tree of the start may have been tried as the baseline.
func (b *baselines) try(ctx context.Context, c *checker, t plan.Trial) (plan.CheckResult, []plan.Blob, error) {
	tree, err := c.walls.tree(ctx, t)
	if err != nil {
		return plan.CheckResult{}, nil, err
	}
	keys := []string{b.trialKey(t, tree)}
	if tree == t.Trees.Start && len(t.Added) == 0 {
		keys = append(keys, b.keyOf(t.Check, tree, b.view))
	}
	for _, key := range keys {
		if t.Again || b.fresh {
			break
		}
		if res, blobs, ok := b.recall(ctx, key); ok {
			res.Cached, res.Baseline = true, false
			return res, blobs, nil
		}
	}
	res, blobs, err := c.Try(ctx, t)
	if err != nil || res.Cancelled || res.TimedOut {
		return res, blobs, err
	}
	kept := res
	if was, _, ok := b.recall(ctx, keys[0]); ok && t.Again {
		kept.Flaky = was.ExitCode != res.ExitCode // it is not recalled then
	}
	_ = b.db.KeepBaseline(ctx, keys[0], kept)
	return res, blobs, nil
}

// trialKey is the key of a trial. What git shows before HEAD is part of it.
func (b *baselines) trialKey(t plan.Trial, tree string) string {
	return b.keyOf(t.Check, tree, "evidence", t.Trees.Start, plan.DigestOf(t.Added))
}

// key is the key of a check on the work tree as it is.
func (b *baselines) key(c plan.Check) string {
	if b.view == "" {
		return b.keyOf(c, b.tree)
	}
	return b.keyOf(c, b.tree, b.view)
}

// keyOf is made of all that the result of a check may depend on and that can be
// known: files that are ignored cannot.
func (b *baselines) keyOf(c plan.Check, tree string, seen ...string) string {
	sum := sha256.New()
	env := slices.DeleteFunc(sandbox.CleanEnv(b.env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{"PWD", "OLDPWD", "SHLVL", "_", "TERM", "COLUMNS", "LINES", "WINDOWID"}, name)
	})
	slices.Sort(env)
	parts := []string{baselineForm, b.repo.Root(), tree, b.setup, c.Command, fmt.Sprint(c.TimeoutMS)}
	for _, part := range slices.Concat(parts, env, seen) {
		_, _ = io.WriteString(sum, part+"\x00") // a hash takes everything
	}
	return hex.EncodeToString(sum.Sum(nil))
}
