package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

// Job is a run that works in a tree made from a commit: one of many.
type Job struct {
	Request // its ID is needed; its Dir is not

	// Job is its name in the batch, and Batch the batch, whose first job here has the
	// repository brought up to date.
	Job   string
	Batch string

	// Repo is the repository: a folder, or a URL, which is cloned into the home.
	Repo  string
	IsURL bool

	// Ref is the commit, branch or tag that it begins at. Default: HEAD.
	Ref string

	// Branch is the one that it works on.
	Branch string

	// Sibling is a plan that was approved for another repository's job.
	Sibling string
}

// RunJob begins the run of a job and drives it as [Host.Run] does. Repos opens
// each repository once for all jobs.
func (h *Host) RunJob(ctx context.Context, repos *Repos, j Job, face Face) (_ End, err error) {
	h = h.withNotes(face.Note)
	from, err := repos.open(ctx, h, j)
	if err != nil {
		return End{}, err
	}
	cfg, err := h.Settings(from.settings, j.Settings)
	if err != nil {
		return End{}, err
	}
	db, err := h.DB(ctx)
	if err != nil {
		return End{}, err
	}
	making, err := h.beginMaking(ctx, db, j.ID, from.repo)
	if err != nil {
		return End{}, err
	}
	defer func() { err = errors.Join(err, making.end(ctx)) }()
	tree, drop, err := h.makeJobTree(ctx, db, from, making, j, cfg.WorktreeInclude)
	if err != nil {
		return End{}, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	if j.IsURL { // its own settings are in the tree
		if cfg, err = h.Settings(tree.Root(), j.Settings); err != nil {
			return End{}, err
		}
	}
	s, err := h.openSession(ctx, j.applyTo(cfg), j.Options, face, tree, from.repo.Root(), db, nil)
	if err != nil {
		return End{}, err
	}
	defer func() { err = errors.Join(err, s.closeModel()) }()
	hold, err := h.holdTree(ctx, tree, j.ID)
	if err != nil {
		return End{}, err
	}
	defer func() { err = errors.Join(err, hold.Close()) }()
	return s.begin(ctx, j.Request, beginning{
		id:      j.ID,
		job:     j.Job,
		making:  making,
		source:  from.repo,
		base:    from.base,
		branch:  j.Branch,
		sibling: j.Sibling,
	})
}

// makeJobTree makes the work tree of a job. What it returns removes it again if
// the run never began.
func (h *Host) makeJobTree(
	ctx context.Context,
	db *memory.DB,
	from jobOrigin,
	making *making,
	j Job,
	include []string,
) (_ *worktree.Repo, drop func() error, err error) {
	paths, err := h.Paths()
	if err != nil {
		return nil, nil, err
	}
	from.mu.Lock()
	defer from.mu.Unlock()
	dir := filepath.Join(paths.Worktrees, string(j.ID))
	// A process that was killed, or an earlier try, may have left this.
	if _, err := from.repo.Drop(ctx, dir, j.Branch, from.base); err != nil {
		return nil, nil, err
	}
	spec := worktree.NewTree{
		Dir:     dir,
		Branch:  j.Branch,
		Base:    from.base,
		Tree:    from.base,
		Include: include,
	}
	if err := making.tree(ctx, from.repo, spec); err != nil {
		return nil, nil, err
	}
	tree, notes, err := from.repo.Holding(making.File()).Add(ctx, spec)
	if err != nil {
		return nil, nil, err
	}
	h.noteAll(notes)
	return tree, func() error {
		ctx := context.WithoutCancel(ctx)
		if _, err := db.Run(ctx, j.ID); !errors.Is(err, memory.ErrNoRun) {
			return nil
		}
		from.mu.Lock()
		defer from.mu.Unlock()
		_, err := from.repo.Drop(ctx, dir, j.Branch, from.base)
		return err
	}, nil
}

// Repos opens each repository of many jobs once a batch. What is elsewhere is cloned into
// the home, and only brought up to date the next time. The zero value is ready.
type Repos struct {
	mu     sync.Mutex
	byName map[string]*openedRepo
}

// openedRepo is a repository that work trees are made from.
type openedRepo struct {
	sync.Mutex // git's own list of work trees is not made for crowds

	repo  *worktree.Repo
	since map[string]bool // batches that it was opened for since it could not be
	err   error
	until time.Time // an error is not found out again before
}

// jobOrigin is where a job begins.
type jobOrigin struct {
	repo     *worktree.Repo
	base     string      // commit
	settings string      // where the repository's own settings are read from; "" for none
	mu       *sync.Mutex // of the repository
}

// openAgain is for how long an error counts for other jobs of the same repository.
const openAgain = time.Minute

func (r *Repos) open(ctx context.Context, h *Host, j Job) (from jobOrigin, err error) {
	r.mu.Lock()
	if r.byName == nil {
		r.byName = map[string]*openedRepo{}
	}
	e := r.byName[j.Repo]
	if e == nil {
		e = &openedRepo{}
		r.byName[j.Repo] = e
	}
	r.mu.Unlock()
	if from.repo, err = e.open(ctx, h, j); err != nil {
		return from, err
	}
	from.mu = &e.Mutex
	if !j.IsURL {
		from.settings = from.repo.Root()
	}
	from.base, err = from.repo.Commit(ctx, j.Ref, j.IsURL)
	return from, err
}

// open opens the repository for the first job of a batch.
func (e *openedRepo) open(ctx context.Context, h *Host, j Job) (*worktree.Repo, error) {
	e.Lock()
	defer e.Unlock()
	if e.since[j.Batch] && (e.err == nil || h.now().Before(e.until)) {
		return e.repo, e.err
	}
	// One job that is stopped must not make it fail for the others.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cloneTimeout)
	defer cancel()
	if j.IsURL {
		e.repo, e.err = h.openClone(ctx, j.Repo)
	} else {
		e.repo, e.err = h.OpenRepo(ctx, j.Repo)
	}
	if e.err != nil || e.since == nil {
		e.since = map[string]bool{}
	}
	e.since[j.Batch] = true
	e.until = h.now().Add(openAgain)
	return e.repo, e.err
}

// cloneTimeout bounds how long a server may take to hand over a repository.
const cloneTimeout = 15 * time.Minute

var unfitForFile = lazy.Regexp(`[^A-Za-z0-9._-]+`)

// openClone opens the clone of a URL, makes it, or brings it up to date.
func (h *Host) openClone(ctx context.Context, url string) (*worktree.Repo, error) {
	paths, err := h.Paths()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(url))
	name := strings.Trim(unfitForFile().ReplaceAllString(strings.TrimSuffix(filepath.Base(url), ".git"), "-"), "-.")
	dir := filepath.Join(paths.Home, clones, name+"-"+hex.EncodeToString(sum[:6]))
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, fmt.Errorf("make room for clones: %w", err)
	}
	if _, err := os.Lstat(dir); err == nil {
		repo, err := h.OpenRepo(ctx, dir)
		if err != nil {
			return nil, err
		}
		return repo, repo.Fetch(ctx)
	}
	repo, err := worktree.Clone(ctx, url, dir, h.Avoid(ctx))
	if err != nil {
		if other, oerr := h.OpenRepo(ctx, dir); oerr == nil { // another process was faster
			return other, nil
		}
	}
	return repo, err
}
