package proof

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

// ResultStore remembers results of checks over runs. Blobs hold output that was
// cut; the runs that the results are from have stored them.
type ResultStore interface {
	// Baseline returns the result under a key, and whether there is one.
	Baseline(ctx context.Context, key string) (plan.CheckResult, bool, error)
	// KeepBaseline replaces the result under a key.
	KeepBaseline(ctx context.Context, key string, res plan.CheckResult) error
	// Blob returns the content with a hash.
	Blob(ctx context.Context, hash string) ([]byte, error)
}

// Baselines remembers how checks stood on a tree. An error in it costs a run of
// the check, and nothing else.
type Baselines struct {
	results ResultStore
	repo    *worktree.Repo
	env     []string
	setup   string
	fresh   bool   // nothing is recalled
	view    string // how checks see the repository
	tree    string // the hash of the work tree at the last Recall
}

// Recall implements engine.Baselines.
func (b *Baselines) Recall(ctx context.Context, c plan.Check) (plan.CheckResult, []plan.Blob, bool) {
	var err error
	if b.tree, err = b.repo.Tree(ctx); err != nil || b.fresh {
		return plan.CheckResult{}, nil, false
	}
	return b.recall(ctx, b.checkKey(c))
}

// Keep implements engine.Baselines. A tree that changed while the check ran has
// no result.
func (b *Baselines) Keep(ctx context.Context, res plan.CheckResult, _ []plan.Blob) {
	if tree, err := b.repo.Tree(ctx); err != nil || tree != b.tree || tree == "" || res.Cancelled {
		return
	}
	_ = b.results.KeepBaseline(ctx, b.checkKey(res.Check), res) // else it is run again
}

// recallTrial returns what a trial on a tree came to before. The start without
// files of a reviewer may have been checked as the baseline.
func (b *Baselines) recallTrial(
	ctx context.Context,
	t plan.Trial,
	tree string,
) (plan.CheckResult, []plan.Blob, bool) {
	if t.Again || b.fresh {
		return plan.CheckResult{}, nil, false
	}
	keys := []string{b.trialKey(t, tree)}
	if tree == t.Trees.Start && len(t.Added) == 0 {
		keys = append(keys, b.hashKey(t.Check, tree, b.view))
	}
	for _, key := range keys {
		if res, blobs, ok := b.recall(ctx, key); ok {
			res.Cached = true
			res.Baseline = false
			return res, blobs, true
		}
	}
	return plan.CheckResult{}, nil, false
}

// keepTrial remembers what a trial on a tree came to. A result that differs from
// the one that was in doubt makes both flaky: neither is recalled.
func (b *Baselines) keepTrial(ctx context.Context, t plan.Trial, tree string, res plan.CheckResult) {
	key := b.trialKey(t, tree)
	if t.Again {
		if before, _, ok := b.recall(ctx, key); ok {
			res.Flaky = before.ExitCode != res.ExitCode
		}
	}
	_ = b.results.KeepBaseline(ctx, key, res) // else it is tried again
}

// recall reads the result under a key with its blob, if it can be relied on.
func (b *Baselines) recall(ctx context.Context, key string) (plan.CheckResult, []plan.Blob, bool) {
	res, ok, err := b.results.Baseline(ctx, key)
	if err != nil || !ok || res.Flaky {
		return plan.CheckResult{}, nil, false
	}
	if res.Blob == "" {
		return res, nil, true
	}
	data, err := b.results.Blob(ctx, res.Blob)
	if err != nil {
		return plan.CheckResult{}, nil, false
	}
	return res, []plan.Blob{{Hash: res.Blob, Data: data}}, true
}

// resultForm changes when results hold more than those of earlier versions, which
// are not recalled then: from the second on, what test runners reported, and from
// the third on, which packages they said nothing of.
const resultForm = "3"

// checkKey is the key of a check on the work tree as it was at the last Recall.
func (b *Baselines) checkKey(c plan.Check) string {
	if b.view == "" {
		return b.hashKey(c, b.tree)
	}
	return b.hashKey(c, b.tree, b.view)
}

// trialKey is the key of a trial. What git shows before HEAD is part of it.
func (b *Baselines) trialKey(t plan.Trial, tree string) string {
	return b.hashKey(t.Check, tree, "evidence", t.Trees.Start, plan.DigestOf(t.Added))
}

// hashKey is made of all that the result of a check may depend on and that can be
// known. Files that git ignores cannot. view says how the check sees the tree.
// Results are found by these keys over versions: the parts and their order stay.
func (b *Baselines) hashKey(c plan.Check, tree string, view ...string) string {
	env := slices.DeleteFunc(sandbox.CleanEnv(b.env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{"PWD", "OLDPWD", "SHLVL", "_", "TERM", "COLUMNS", "LINES", "WINDOWID"}, name)
	})
	slices.Sort(env)
	parts := []string{
		resultForm,
		b.repo.Root(),
		tree,
		b.setup,
		c.Command,
		fmt.Sprint(c.TimeoutMS),
	}
	sum := sha256.New()
	for _, part := range slices.Concat(parts, env, view) {
		_, _ = io.WriteString(sum, part+"\x00") // a hash takes everything
	}
	return hex.EncodeToString(sum.Sum(nil))
}
