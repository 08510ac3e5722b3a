package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

// jobView is what an app has of the batch whose job it drives. A nil one is that
// of an app that drives a single run.
type jobView struct {
	feed    func(plan.Event)
	http    *http.Client
	limiter *batch.Limiter
	post    *postman
}

// watch looks for letters to a run until ctx ends, and then closes done.
func (j *jobView) watch(ctx context.Context, run plan.RunID, in *inbox) (done <-chan struct{}) {
	if j == nil {
		return in.watch(ctx)
	}
	return j.post.watch(ctx, run, in)
}

// client is the connections that all jobs share.
func (j *jobView) client() *http.Client {
	if j == nil {
		return nil
	}
	return j.http
}

// gate is a model behind the limiter that all jobs share.
func (j *jobView) gate(m loop.Model) loop.Model {
	if j == nil {
		return m
	}
	return j.limiter.Model(m)
}

// jobRunner runs the jobs of a batch in this process.
type jobRunner struct {
	app     *app
	db      *memory.DB
	flags   said // of this process, over what the jobs say
	http    *http.Client
	limiter *batch.Limiter
	budget  *batch.Budget
	view    *batchView
	shared  *sharedPlan
	post    postman
	repos   repoCache
}

var _ batch.Runner = (*jobRunner)(nil)

// Run implements batch.Runner.
func (r *jobRunner) Run(ctx context.Context, try batch.Try) (batch.Result, error) {
	told := &telling{}
	a := *r.app
	a.in, a.out, a.json = strings.NewReader(""), io.Discard, false
	a.err = &noteWriter{view: r.view, job: try.ID}
	a.job = &jobView{
		http:    r.http,
		limiter: r.limiter,
		post:    &r.post,
		feed: func(ev plan.Event) {
			told.add(ev)
			if b, ok := ev.Body.(plan.UsageReport); ok && !b.Inherited {
				r.budget.Spend(b.Usage, b.CostUSD)
			}
			r.view.feed(try.ID, ev)
			r.shared.heard(try.ID, ev)
		},
	}
	flags := r.flags
	flags.Config = try.Settings.With(r.flags.Config)
	flags.Timeout = config.Of(0) // the schedule's
	yes := true
	if flags.Wait == nil {
		flags.Wait = &yes
	}
	if r.shared.makes(try.ID) {
		flags.ApprovePlan = &yes
	}
	info, err := r.db.Run(ctx, try.Run)
	switch {
	case errors.Is(err, memory.ErrNoRun):
		err = a.startJob(ctx, r, try, flags)
	case err == nil && !info.State.Final():
		err = a.resumeRun(ctx, r.db, try.Run, flags)
	}
	return r.result(context.WithoutCancel(ctx), try, told, err)
}

// result says what came of a try. Where that is no approval and a disk is full,
// it says so, too.
func (r *jobRunner) result(ctx context.Context, try batch.Try, told *telling, cause error) (batch.Result, error) {
	res, err := r.standing(ctx, try, told, cause)
	if err == nil && res.State == batch.JobDone {
		return res, nil
	}
	switch full := r.app.fullDisks(try); {
	case full == "":
	case err != nil:
		err = fmt.Errorf("%w (%s)", err, full)
	default:
		res.Why = strings.TrimSpace(res.Why + " (" + full + ")")
	}
	return res, err
}

// standing reads what came of a try from the run's own journal.
func (r *jobRunner) standing(ctx context.Context, try batch.Try, told *telling, cause error) (batch.Result, error) {
	var ex *exit
	if errors.As(cause, &ex) {
		if cause = ex.err; cause != nil {
			if hint := hintOf(cause); hint != "" {
				cause = fmt.Errorf("%w. %s", cause, hint)
			}
		}
	}
	info, err := r.db.Run(ctx, try.Run)
	switch {
	case errors.Is(err, memory.ErrNoRun) && cause == nil:
		return batch.Result{}, errors.New("the run did not begin")
	case errors.Is(err, memory.ErrNoRun):
		return batch.Result{}, cause
	case err != nil:
		return batch.Result{}, err
	}
	res := batch.Result{
		State:   batch.JobFailed,
		Outcome: info.Outcome,
		Parked:  info.Parked,
		Why:     oneLine(told.why),
	}
	switch {
	case info.State == plan.Cancelled:
		res.State = batch.JobCancelled
	case info.State.Final() && info.State.ExitCode() == plan.ExitOK:
		res.State, res.Why = batch.JobDone, ""
	case info.Parked != "":
		res.State = batch.JobParked
	case cause != nil:
		res.Why = oneLine(cause.Error())
	}
	return res, nil
}

// telling keeps why a run stopped.
type telling struct{ why, failure string }

func (t *telling) add(ev plan.Event) {
	switch b := ev.Body.(type) {
	case plan.Failure:
		t.failure = b.Error
		if b.Hint != "" {
			t.failure = strings.TrimRight(b.Error, ". ") + ". " + b.Hint
		}
		t.why = t.failure
	case plan.RunEnd:
		t.why = b.Why
		if b.Outcome == plan.Failed && t.failure != "" {
			t.why = t.failure
		}
	case plan.Parked:
		t.why = string(b.Reason)
		if b.Detail != "" {
			t.why = b.Detail
		}
		for _, c := range b.Waiting {
			if c.Question != "" {
				t.why = "it asks: " + c.Question
			}
		}
	}
}

// startJob begins the run of a job, in a work tree made from a commit.
func (a *app) startJob(ctx context.Context, r *jobRunner, try batch.Try, flags said) (err error) {
	place, err := r.repos.open(ctx, a, try)
	if err != nil {
		return err
	}
	opts := startOptions{
		id:           try.Run,
		job:          try.ID,
		request:      try.Request,
		title:        try.ID + ": " + cutRunes(oneLine(try.Request), mostTitle),
		source:       place.source,
		base:         place.base,
		branch:       jobBranch(try.Batch, try.ID),
		checksByFlag: len(flags.Checks.Required) > 0,
		sibling:      r.shared.seed(try.ID),
	}
	cfg, err := a.settings(place.settings, flags.Config)
	if err != nil {
		return err
	}
	tree, drop, err := a.jobTree(ctx, r, place, try.Run, opts.branch, cfg.WorktreeInclude)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	if place.clone { // its own settings are in the tree
		if cfg, err = a.settings(tree.Root(), flags.Config); err != nil {
			return err
		}
	}
	w, err := a.openWorkshop(ctx, flags.over(cfg), flags, tree, place.source.Root(), r.db, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, failed(w.close())) }()
	hold, err := a.occupy(tree, try.Run)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, failed(hold.Close())) }()
	return a.begin(ctx, w, opts, flags)
}

// jobBranch is the branch that a job works on.
func jobBranch(batch, job string) string { return "plan/" + strings.ToLower(batch) + "/" + job }

// jobTree makes the work tree of a job. What it returns removes it again if the
// run never began.
func (a *app) jobTree(
	ctx context.Context,
	r *jobRunner,
	p jobPlace,
	run plan.RunID,
	branch string,
	include []string,
) (*worktree.Repo, func() error, error) {
	paths, err := config.FindHome(a.getenv)
	if err != nil {
		return nil, nil, failed(err)
	}
	p.mu.Lock() // git's own list of work trees is not made for crowds
	defer p.mu.Unlock()
	dir := filepath.Join(paths.Worktrees, string(run))
	// A process that was killed, or an earlier try, may have left this.
	if _, err := p.source.Drop(ctx, dir, branch, p.base); err != nil {
		return nil, nil, failed(err)
	}
	tree, notes, err := p.source.Add(ctx, worktree.NewTree{
		Dir:     dir,
		Branch:  branch,
		Base:    p.base,
		Tree:    p.base,
		Include: include,
	})
	if err != nil {
		return nil, nil, failed(err)
	}
	a.note(notes...)
	return tree, func() error {
		ctx := context.WithoutCancel(ctx)
		if _, err := r.db.Run(ctx, run); !errors.Is(err, memory.ErrNoRun) {
			return nil
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		_, err := p.source.Drop(ctx, dir, branch, p.base)
		return failed(err)
	}, nil
}

// repoCache opens each repository of a batch once. What is elsewhere is cloned
// into the home, and only brought up to date the next time.
type repoCache struct {
	mu     sync.Mutex
	byName map[string]*cachedRepo
}

// cachedRepo is a repository that work trees are made from.
type cachedRepo struct {
	sync.Mutex
	once  sync.Once
	repo  *worktree.Repo
	clone bool
	err   error
}

// jobPlace is where a job begins.
type jobPlace struct {
	source   *worktree.Repo
	clone    bool
	base     string // commit
	settings string // where the repository's own settings are read from; "" for none
	mu       *sync.Mutex
}

func (c *repoCache) open(ctx context.Context, a *app, try batch.Try) (jobPlace, error) {
	c.mu.Lock()
	if c.byName == nil {
		c.byName = map[string]*cachedRepo{}
	}
	e := c.byName[try.Repo]
	if e == nil {
		e = &cachedRepo{clone: batch.IsURL(try.Repo)}
		c.byName[try.Repo] = e
	}
	c.mu.Unlock()
	e.once.Do(func() {
		// One job that is stopped must not make it fail for the others.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cloneLimit)
		defer cancel()
		if !e.clone {
			e.repo, e.err = worktree.Open(ctx, try.Repo)
			return
		}
		e.repo, e.err = a.cloned(ctx, try.Repo)
	})
	if e.err != nil {
		return jobPlace{}, failed(e.err)
	}
	p := jobPlace{
		source: e.repo,
		clone:  e.clone,
		mu:     &e.Mutex,
	}
	if !e.clone {
		p.settings = e.repo.Root()
	}
	var err error
	p.base, err = e.repo.Commit(ctx, try.Ref, e.clone)
	return p, failed(err)
}

// cloneLimit bounds how long a server may take to hand over a repository.
const cloneLimit = 15 * time.Minute

var unfitForFile = lazy.Regexp(`[^A-Za-z0-9._-]+`)

// cloned opens the clone of a URL, makes it, or brings it up to date.
func (a *app) cloned(ctx context.Context, url string) (*worktree.Repo, error) {
	paths, err := config.FindHome(a.getenv)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(url))
	name := strings.Trim(unfitForFile().ReplaceAllString(strings.TrimSuffix(filepath.Base(url), ".git"), "-"), "-.")
	dir := filepath.Join(paths.Home, "cache", "repos", name+"-"+hex.EncodeToString(sum[:6]))
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, fmt.Errorf("make room for clones: %w", err)
	}
	if _, err := os.Lstat(dir); err == nil {
		repo, err := worktree.Open(ctx, dir)
		if err != nil {
			return nil, err
		}
		return repo, repo.Fetch(ctx)
	}
	repo, err := worktree.Clone(ctx, url, dir)
	if err != nil {
		if other, oerr := worktree.Open(ctx, dir); oerr == nil { // somebody else was faster
			return other, nil
		}
	}
	return repo, err
}

// noteWriter tells people's text of a job through the view of its batch.
type noteWriter struct {
	view *batchView
	job  string
}

// Write implements io.Writer.
func (n *noteWriter) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		n.view.note(n.job, strings.TrimPrefix(strings.TrimSpace(line), "plan: "))
	}
	return len(p), nil
}
