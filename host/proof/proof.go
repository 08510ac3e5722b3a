// Package proof answers what an engine asks about the work of a run: how checks
// stand behind walls, how they stood before, what changed in the tree, and what a
// reviewer could overlook in it.
//
// It knows walls, git and the results of earlier runs. It must not know what
// drives a run, and it judges nothing: the engine and the review do.
package proof

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/checks"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host/keyed"
	"github.com/plan-engine/plan/host/walls"
	"github.com/plan-engine/plan/worktree"
)

var (
	_ engine.Checker     = (*Checker)(nil)
	_ engine.Baselines   = (*Baselines)(nil)
	_ engine.Changes     = Tree{}
	_ engine.TreeWatcher = Tree{}
)

// Config is what the work of one run is proved with.
type Config struct {
	// Settings say which checks there are, and how long one may take.
	Settings config.Config
	// ChecksByFlag says that the required checks of the settings come from the
	// command line: then no others run.
	ChecksByFlag bool
	// Walls keep the checks from changing the tree.
	Walls *walls.Walls
	// Repo is the work tree of the run.
	Repo *worktree.Repo
	// Base is the commit that the run began at, "" for HEAD.
	Base string
	// View is how the commands of the run see the repository, as its start says:
	// plan.ViewSnapshot, or "" in runs of earlier versions.
	View string
	// Results remembers the results of checks over runs.
	Results ResultStore
	// FreshBaselines says that no result of an earlier run is recalled.
	FreshBaselines bool
	// Env is the environment of the commands, as NAME=value.
	Env []string
	// User is whose keys a fetch may get that gets no further without. Zero for none.
	User keyed.User
	// Redact takes secrets out of what commands print.
	Redact func(string) string
}

// Proof has the parts that an engine is given, for one run that this process
// drives.
type Proof struct {
	// Checker runs checks.
	Checker *Checker
	// Baselines recalls how checks stood on the tree before the run changed it.
	Baselines *Baselines
	// Tree compares the work tree with trees of before.
	Tree Tree
	// Required are all checks that run, where one of those that are configured must
	// pass. Otherwise it is empty.
	Required []plan.Check
	// Detected returns the checks that advise where Required is empty, and is nil
	// where it is not: the configured ones and what the repository seems to have. It
	// looks for them once, when it is first called, and again after Unready.
	Detected func() []plan.Check

	walls   *walls.Walls
	starter *starter
	looked  atomic.Pointer[[]plan.Check] // what was detected
}

// New prepares the proof of a run, and what the commands of its reviews and checks
// see of its change. Nothing runs yet.
func New(cfg Config) *Proof {
	cfg.Walls.OpenViews(cfg.Base)
	network := cfg.Settings.Phase[plan.Implement].Network
	p := &Proof{
		Checker: &Checker{
			walls:   cfg.Walls,
			timeout: cfg.Settings.Checks.Timeout.Duration,
			redact:  cfg.Redact,
			fetcher: &fetcher{
				setup:   cfg.Settings.Checks.Setup,
				offline: network != nil && !*network,
				user:    cfg.User,
			},
			repo:    cfg.Repo,
			offline: offline(cfg.Settings),
		},
		Baselines: &Baselines{
			results: cfg.Results,
			repo:    cfg.Repo,
			env:     cfg.Env,
			setup:   cfg.Settings.Checks.Setup,
			fresh:   cfg.FreshBaselines,
			view:    cfg.View,
		},
		Tree:  Tree{repo: cfg.Repo},
		walls: cfg.Walls,
	}
	p.starter = &starter{
		walls:  cfg.Walls,
		root:   cfg.Repo.Root(),
		path:   pathOf(cfg.Env),
		redact: cfg.Redact,
	}
	p.Required, p.Detected = selectChecks(cfg.Settings, cfg.ChecksByFlag, p.detect)
	return p
}

// offline reports whether checks, which run in the walls of a review, have no network.
func offline(settings config.Config) bool {
	network := settings.Phase[plan.Review].Network
	return network == nil || !*network
}

// detect finds what the repository seems to have, of each kind the first that starts
// here. It looks once, and again after [Proof.Unready].
func (p *Proof) detect() []plan.Check {
	if checks := p.looked.Load(); checks != nil {
		return *checks
	}
	var out []plan.Check
	for _, commands := range checks.Suites(p.starter.root) {
		out = append(out, checks.Advisory(p.starter.first(context.Background(), commands)))
	}
	p.looked.Store(&out)
	return out
}

// pathOf is where an environment has programs looked for.
func pathOf(env []string) string {
	for _, entry := range env {
		if dirs, ok := strings.CutPrefix(entry, "PATH="); ok {
			return dirs
		}
	}
	return ""
}

// Try makes a trial that weighs a verdict, unless its result is remembered. The
// result of a trial that was cancelled or ran out of time is not remembered.
func (p *Proof) Try(ctx context.Context, t plan.Trial) (plan.CheckResult, []plan.Blob, error) {
	tree, err := p.walls.TrialTree(ctx, t)
	if err != nil {
		return plan.CheckResult{}, nil, err
	}
	if res, blobs, ok := p.Baselines.recallTrial(ctx, t, tree); ok {
		return res, blobs, nil
	}
	res, blobs, err := p.Checker.RunTrial(ctx, t)
	if err == nil && !res.Cancelled && !res.TimedOut {
		p.Baselines.keepTrial(ctx, t, tree, res)
	}
	return res, blobs, err
}

// Close removes what checks and reviews worked in, when the last of them has
// ended. What cannot be removed is swept up by a later process.
func (p *Proof) Close() error { return errors.Join(p.Checker.Close(), p.walls.Close()) }
