package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

// Thread is a row of runs of which each continues the one before it, oldest first.
type Thread []*engine.Run

// Last is the run at the end of the thread.
func (t Thread) Last() *engine.Run { return t[len(t)-1] }

// Request is all that was asked for in the thread, the first of it as its title.
func (t Thread) Request() string {
	texts := make([]string, len(t))
	for i, run := range t {
		texts[i] = strings.TrimSpace(run.Start.Request)
	}
	return strings.Join(texts, "\n\n")
}

// mostThread bounds how far back a thread is followed.
const mostThread = 1000

// ThreadOf is the thread up to a run. It begins where a run continues none, or one that
// is not here any more.
func (h *Host) ThreadOf(ctx context.Context, run *engine.Run) (Thread, error) {
	t := Thread{run}
	for len(t) < mostThread && t[0].Start != nil {
		before := t[0].Start.Continues
		if before == "" || slices.ContainsFunc(t, func(r *engine.Run) bool { return r.ID == before }) {
			break
		}
		earlier, err := h.Load(ctx, before)
		if errors.Is(err, memory.ErrNoRun) {
			break
		}
		if err != nil {
			return nil, err
		}
		t = append(Thread{earlier}, t...)
	}
	return t, nil
}

// Threads says of each run of the home that continues another one which that is.
func (h *Host) Threads(ctx context.Context) (map[plan.RunID]plan.RunID, error) {
	db, err := h.DB(ctx)
	if err != nil {
		return nil, err
	}
	list, err := continuations(ctx, db, false)
	out := make(map[plan.RunID]plan.RunID, len(list))
	for _, c := range list {
		out[c.Run] = c.from
	}
	return out, err
}

// ContinuedBy are the runs that continue a run, oldest first; those that were asked for
// and have not begun come last.
func (h *Host) ContinuedBy(ctx context.Context, id plan.RunID) (begun, waiting []plan.RunID, err error) {
	db, err := h.DB(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, of := range []struct {
		waiting bool
		to      *[]plan.RunID
	}{{false, &begun}, {true, &waiting}} {
		list, err := continuations(ctx, db, of.waiting)
		if err != nil {
			return nil, nil, err
		}
		for _, c := range list {
			if c.from == id {
				*of.to = append(*of.to, c.Run)
			}
		}
	}
	return begun, waiting, nil
}

// threadOrigin is the tree that the change of a whole thread counts from: the one that
// its first run found, with what others changed between and under its runs.
func (h *Host) threadOrigin(ctx context.Context, c Change, t Thread) (string, error) {
	origin, last := t[0].Origin(), t.Last()
	carry := func(n int, from, to string) (err error) {
		if from != to {
			origin, err = c.Repo.Carry(ctx, last.ID, fmt.Sprintf("thread-%d", n), origin, from, to)
		}
		return err
	}
	for i, run := range t[1:] {
		if err := carry(2*i, t[i].Tree(), run.Start.Snapshot); err != nil {
			return "", err
		}
		if err := carry(2*i+1, run.Start.Snapshot, run.Origin()); err != nil {
			return "", err
		}
	}
	return origin, nil
}

// ThreadChangeOf is [Host.ChangeOf] for a run and all that it continues.
func (h *Host) ThreadChangeOf(ctx context.Context, run *engine.Run) (Change, Thread, error) {
	c, err := h.ChangeOf(ctx, run)
	if err != nil {
		return c, nil, err
	}
	t, err := h.ThreadOf(ctx, run)
	if err == nil && len(t) > 1 { // trees are kept for it
		err = h.requireStanding(ctx, run, fmt.Sprintf("diff %s --thread", run.ID))
	}
	if err != nil {
		return c, nil, err
	}
	c.From, err = h.threadOrigin(ctx, c, t)
	return c, t, err
}

// requireThreadApproved refuses the change of a thread with a run in it that changed
// something and was not approved: no review has seen that change.
func requireThreadApproved(t Thread, anyway bool) error {
	for _, run := range t {
		changed := run.Outcome == nil || run.Outcome.Diff.Files > 0
		if anyway || run == t.Last() || run.State == plan.Approved || !changed {
			continue
		}
		return hint.New(
			fmt.Sprintf("run %s, which this one continues, is %s, and its change was not approved", run.ID, run.State),
			"Look at `plan diff "+string(t.Last().ID)+" --thread`, then bring it over with --anyway; without --thread "+
				"only what the last run changed is meant.",
		)
	}
	return nil
}

// worksHere reports whether the work tree that a run names is its own in this home, or
// that of a run which it continues by a letter of this home: a journal from elsewhere
// may name any.
func (h *Host) worksHere(ctx context.Context, run *engine.Run) (bool, error) {
	paths, err := h.Paths()
	if err != nil {
		return false, err
	}
	rel, err := filepath.Rel(paths.Worktrees, run.Start.Worktree)
	if err != nil || rel == string(run.ID) {
		return err == nil, nil //nolint:nilerr // it is elsewhere
	}
	from, err := h.Threads(ctx)
	if err != nil {
		return false, err
	}
	at := run.ID
	for range mostThread {
		before, ok := from[at]
		if !ok {
			return false, nil
		}
		if at = before; rel == string(at) {
			return true, nil
		}
	}
	return false, nil
}

// latestIn is the newest run of those that work in the own tree of a run: itself, or
// one that continues it.
func (h *Host) latestIn(ctx context.Context, db *memory.DB, run *engine.Run) (*engine.Run, error) {
	list, err := continuations(ctx, db, false)
	if err != nil {
		return nil, err
	}
	in, newest := []plan.RunID{run.ID}, run
	for _, c := range list { // oldest first, so a run stands after the one it continues
		if !slices.Contains(in, c.from) {
			continue
		}
		in = append(in, c.Run)
		next, err := Fold(ctx, db, c.Run, nil)
		if err != nil {
			return nil, err
		}
		if next.Start != nil && next.Start.Worktree == run.Start.Worktree {
			newest = next
		}
	}
	return newest, nil
}

// ThreadBranch is the branch on which the change of a thread is committed: that of its
// own tree, or one that is named after its first run.
func (h *Host) ThreadBranch(ctx context.Context, run *engine.Run) (string, error) {
	if run.Start.WorkBranch != "" {
		return run.Start.WorkBranch, nil
	}
	t, err := h.ThreadOf(ctx, run)
	if err != nil {
		return "", err
	}
	return "plan/" + strings.ToLower(string(t[0].ID)), nil
}

// CommitThread commits the change of a run on the branch of its thread, with that of the
// runs it continues as long as nothing is committed there. Doing so twice does no harm.
func (h *Host) CommitThread(
	ctx context.Context,
	run *engine.Run,
	anyway bool,
) (branch string, m ApplyResult, err error) {
	if branch, err = h.ThreadBranch(ctx, run); err != nil {
		return "", m, err
	}
	c, whole, err := h.changeToApply(ctx, run, Apply{Thread: true, Anyway: anyway})
	if err != nil {
		return "", m, err
	}
	at, err := c.Repo.Commit(ctx, "refs/heads/"+branch, false)
	if there, _, herr := c.Repo.HasBranch(ctx, branch, ""); herr != nil || there && err != nil {
		return "", m, errors.Join(herr, err)
	} else if there && at != whole.Start.Base { // what came before is there
		if c.From, whole = run.Origin(), run; c.From == c.To {
			return branch, m, nil
		}
	}
	if run.Start.Worktree != "" {
		m, err = h.commitChange(ctx, whole, c)
		return branch, m, err
	}
	commit, err := c.Repo.CommitTo(ctx, branch, whole.Start.Base, c.From, c.To, CommitMessage(whole), false)
	m = ApplyResult{
		ID:     run.ID,
		Result: ResultCommitted,
		Repo:   c.Repo.Root(),
		Commit: commit,
		Branch: branch,
	}
	if errors.Is(err, worktree.ErrNothing) {
		m.Result, err = ResultNothing, nil
	}
	return branch, m, err
}
