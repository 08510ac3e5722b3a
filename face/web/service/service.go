// Package service is what people and programs do over the web, whether a page or the API asks
// for it: begin runs, speak to them, decide, bring changes over. It knows which
// repositories may be named, and no request or response.
package service

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/background"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/internal/subpath"
	"github.com/plan-engine/plan/memory"
)

// Service is where things are done in one home.
type Service struct {
	Host *host.Host

	// Runs drives what is begun and gone on with.
	Runs *background.Runs

	// Options hold for every run that is begun or gone on with.
	Options host.Options

	// Repos are the repositories in which runs may be begun.
	Repos []string

	// Queue has batches that are seen beside those of the home. Default: none.
	Queue *batches.Queued

	// See is shown the events of batches that are driven here. Default: none.
	See func(plan.Event)
}

// Begin is a run that is asked for.
type Begin struct {
	Request     string   `json:"request"`
	Repo        string   `json:"repo"`
	Aim         plan.Aim `json:"aim"` // "" for a change, ask or review
	Title       string   `json:"title"`
	Checks      []string `json:"checks"`
	Way         string   `json:"way"`
	Worktree    bool     `json:"worktree"`
	PlanOnly    bool     `json:"plan_only"`
	ApprovePlan bool     `json:"approve_plan"`
	MaxCost     float64  `json:"max_cost"`
	Base        string   `json:"base"` // of a review: what the change counts from
	Fix         bool     `json:"fix"`  // of a review: have the gaps closed
}

// Begin begins a run, and returns once something of it is recorded. It goes on when the
// caller has left.
func (w *Service) Begin(b Begin) (plan.RunID, error) {
	r := host.Request{
		Aim:      b.Aim,
		Title:    b.Title,
		PlanOnly: b.PlanOnly,
		Review: host.Review{
			Base: b.Base,
			Fix:  b.Fix,
		},
		Options: w.Options,
	}
	var err error
	if r.Text = b.Request; b.Aim != plan.AimReview {
		if r.Text, err = host.ReadRequest(b.Request, `{"request": "Fix the flaky retry test"}`); err != nil {
			return "", err
		}
	}
	if r.Dir, err = w.repo(b.Repo); err != nil {
		return "", err
	}
	if err := settings(&r.Settings, b); err != nil {
		return "", err
	}
	switch b.Aim {
	case plan.AimAsk:
		r.AsQuestion()
	case plan.AimChange, plan.AimReview:
	default:
		return "", hint.Usage("there is no aim %q: write ask, review, or nothing for a change", b.Aim)
	}
	return w.Runs.Begin(r)
}

// settings lays what is asked for over what holds for every run.
func settings(c *config.Config, b Begin) error {
	switch {
	case b.MaxCost < 0:
		return hint.Usage("max_cost cannot be negative")
	case b.Way != "" && !slices.Contains([]string{plan.WayAuto, plan.WayFull, plan.WayShort, plan.WayDirect}, b.Way):
		return hint.Usage("there is no way %q: write auto, full, short or direct", b.Way)
	case b.Way != "":
		c.Way = b.Way
	}
	if b.Worktree {
		c.Worktree = &b.Worktree
	}
	if b.ApprovePlan {
		c.ApprovePlan = &b.ApprovePlan
	}
	if b.MaxCost > 0 {
		c.MaxCost = b.MaxCost
	}
	c.Checks.Required = slices.Concat(c.Checks.Required, b.Checks)
	return nil
}

// repo is the repository that is meant: the only one that may be named, where none is.
func (w *Service) repo(named string) (string, error) {
	if named == "" && len(w.Repos) == 1 {
		return w.Repos[0], nil
	}
	if !filepath.IsAbs(named) {
		return "", hint.Usage("repo is %q: write the absolute path of a repository that may be named here", named)
	}
	return named, w.requireAllowed(named)
}

// requireAllowed refuses a repository that the user has not allowed.
func (w *Service) requireAllowed(dir string) error {
	real := realPath(dir)
	for _, allowed := range w.Repos {
		if _, within := subpath.Of(realPath(allowed), real); within {
			return nil
		}
	}
	return hint.New(
		fmt.Sprintf("runs in %s are not allowed here", dir),
		"The person who started `plan serve` allows a repository with --repo, or as repositories in [serve] "+
			"of config.toml.",
	)
}

// realPath is where a folder really is, as far as that can be told.
func realPath(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

// Allowed are the repositories in which runs may be begun: those that are named, and those
// of the settings; without any the one at dir, where there is one.
func Allowed(ctx context.Context, h *host.Host, dir string, named []string) ([]string, error) {
	cfg, err := h.Settings("", config.Config{})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, repo := range slices.Concat(named, cfg.Serve.Repositories) {
		if rest, ok := cutHome(repo); ok {
			repo = filepath.Join(h.Getenv("HOME"), rest)
		}
		at, err := filepath.Abs(repo)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", repo, err)
		}
		if _, err := os.Stat(at); err != nil {
			return nil, hint.Wrap(fmt.Errorf("a repository of `plan serve`: %w", err),
				"Correct --repo, or repositories in [serve] of config.toml.")
		}
		if !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	if len(out) == 0 {
		if repo, err := h.OpenRepo(ctx, dir); err == nil {
			out = append(out, repo.Root())
		}
	}
	return out, nil
}

func cutHome(path string) (string, bool) {
	if len(path) > 1 && path[0] == '~' && path[1] == filepath.Separator {
		return path[2:], true
	}
	return "", false
}

// batches are those of the home.
func (w *Service) batches() *batches.Batches { return batches.New(w.Host) }

// everywhere are those of the home, and those of the queue.
func (w *Service) everywhere() batches.Everywhere {
	return batches.Everywhere{Home: w.batches(), Queue: w.Queue}
}

// find finds the run that is named. One that has just ended here is let go of first: its
// locks are held for a moment longer.
func (w *Service) find(ctx context.Context, named string) (plan.RunID, error) {
	id, err := w.Host.Resolve(ctx, named)
	if err != nil {
		return "", err
	}
	if info, err := w.Host.Info(ctx, id); err == nil && info.Ended() {
		w.Runs.LetGo(ctx, id)
	}
	return id, nil
}

// load folds a run that is named.
func (w *Service) load(ctx context.Context, named string) (*engine.Run, error) {
	id, err := w.find(ctx, named)
	if err != nil {
		return nil, err
	}
	return w.Host.Load(ctx, id)
}

// List lists the runs that a filter chooses, newest first; with words those whose id,
// title, request or repository has all of them.
func (w *Service) List(ctx context.Context, f host.Filter, words string) ([]memory.RunInfo, error) {
	limit := f.Limit
	if words != "" {
		f.Limit = 0
	}
	runs, err := w.Host.Runs(ctx, f)
	if err != nil || words == "" {
		return runs, err
	}
	wanted := strings.Fields(strings.ToLower(words))
	runs = slices.DeleteFunc(runs, func(r memory.RunInfo) bool {
		text := strings.ToLower(strings.Join([]string{string(r.ID), r.Title, r.Request, r.Repo}, "\n"))
		return slices.ContainsFunc(wanted, func(word string) bool { return !strings.Contains(text, word) })
	})
	if limit > 0 {
		runs = runs[:min(limit, len(runs))]
	}
	return runs, nil
}

// Change is what a run has changed; with thread, with what the runs changed that it goes on
// from.
func (w *Service) Change(ctx context.Context, id plan.RunID, thread bool) (host.Change, error) {
	run, err := w.Host.Load(ctx, id)
	if err != nil {
		return host.Change{}, err
	}
	if thread {
		c, _, err := w.Host.ThreadChangeOf(ctx, run)
		return c, err
	}
	return w.Host.ChangeOf(ctx, run)
}
