package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/worktree"
)

// Load folds the journal of a run that has begun.
func (h *Host) Load(ctx context.Context, id plan.RunID) (*engine.Run, error) {
	db, err := h.DB(ctx)
	if err != nil {
		return nil, err
	}
	run, err := Fold(ctx, db, id, nil)
	if err != nil {
		return nil, err
	}
	if run.Start == nil || len(run.Snapshots) == 0 {
		return nil, fmt.Errorf("run %s has no beginning in its journal", id)
	}
	return run, nil
}

// Change is what a run changed: the difference between two trees of a repository.
type Change struct {
	Repo     *worktree.Repo
	From, To string // trees
}

// ChangeOf finds the change of a run so far: from the tree as the run found it,
// dirt included, to the tree as it left it. For a run that is not final that is
// the tree as it is now, unless only a journal from elsewhere names it.
func (h *Host) ChangeOf(ctx context.Context, run *engine.Run) (c Change, err error) {
	if run.Start == nil {
		return c, fmt.Errorf("run %s has no beginning in its journal", run.ID)
	}
	if c.Repo, err = h.OpenRepo(ctx, run.Start.Repo); err != nil {
		return c, err
	}
	c.From = run.Origin()
	c.To = run.Tree()
	if run.State.Final() || run.Attempt(plan.Implement) == 0 {
		return c, nil
	}
	if stray, err := h.isStray(ctx, run); err != nil || stray { // it may name any folder of the person's
		return c, err
	}
	tree, err := h.treeOf(ctx, run)
	var elsewhere *elsewhereError
	if run.Start.Worktree != "" && errors.Is(err, fs.ErrNotExist) || errors.As(err, &elsewhere) {
		return c, nil // only the snapshots are here
	}
	if err == nil {
		c.To, err = tree.Tree(ctx)
	}
	return c, err
}

// Diff is the change as a unified diff, for people.
func (c Change) Diff(ctx context.Context) (string, error) { return c.Repo.Diff(ctx, c.From, c.To) }

// Patch is the change as a patch that git applies, binary files included.
func (c Change) Patch(ctx context.Context) (string, error) { return c.Repo.Patch(ctx, c.From, c.To) }

// Inert is a patch of the change that does nothing to a terminal; see
// [worktree.Repo.Inert].
func (c Change) Inert(ctx context.Context, patch string) (string, error) {
	return c.Repo.Inert(ctx, c.From, c.To, patch)
}

// Stat is how much changed.
func (c Change) Stat(ctx context.Context) (plan.DiffStat, error) {
	return c.Repo.Stat(ctx, c.From, c.To)
}

// SizeOf is the size of a run's change so far.
func (h *Host) SizeOf(ctx context.Context, run *engine.Run) (plan.DiffStat, error) {
	if run.Outcome != nil {
		return run.Outcome.Diff, nil
	}
	c, err := h.ChangeOf(ctx, run)
	if err != nil {
		return plan.DiffStat{}, err
	}
	return c.Stat(ctx)
}

// ApplyResult is what was done to a work tree.
type ApplyResult struct {
	ID plan.RunID `json:"id"`
	// Result is applied, restored, undone, committed, nothing or conflicts; with
	// Check what it would be.
	Result     string   `json:"result"`
	Check      bool     `json:"check,omitempty"`
	Repo       string   `json:"repo"`
	Files      []string `json:"files"`
	Conflicts  []string `json:"conflicts"`
	Submodules []string `json:"submodules,omitempty"`
	Commit     string   `json:"commit,omitempty"`
	Branch     string   `json:"branch,omitempty"`
	Undo       string   `json:"undo,omitempty"` // ref of the tree as it was
}

// What an [ApplyResult] can have come to.
const (
	ResultApplied   = "applied"
	ResultRestored  = "restored"
	ResultUndone    = "undone"
	ResultCommitted = "committed"
	ResultNothing   = "nothing"
	ResultConflicts = "conflicts"
)

// Words say what was done or, with Check, would be, and where; "" for conflicts.
func (m ApplyResult) Words() string {
	done := map[string]string{
		ResultApplied:   "applied to ",
		ResultRestored:  "restored in ",
		ResultUndone:    "undone in ",
		ResultCommitted: "committed in ",
	}[m.Result]
	switch {
	case m.Result == ResultNothing:
		return "there is nothing to do, " + m.Repo + " has it already"
	case done == "":
		return ""
	case m.Check:
		return "would be " + done + m.Repo
	}
	return done + m.Repo
}

// Apply says how the change of a run is brought over.
type Apply struct {
	// Dir is the work tree that the change is brought to. Default: the user's, which
	// the run began in.
	Dir string

	// Check only says what would be done.
	Check bool

	// Markers leaves conflict markers in files instead of changing nothing.
	Markers bool

	// Commit commits the change on the branch that is checked out; Branch on
	// another one, which is made if there is none.
	Commit bool
	Branch string

	// Message is that of the commit. Default: the request.
	Message string

	// Anyway brings over also what was not approved.
	Anyway bool

	// Thread brings over what the runs that this one continues changed, too.
	Thread bool
}

// Apply brings the change of a run to a work tree, as three-way merges do: what
// was done there in the meantime stays, and so do the index and branches.
// Applying twice does no harm. Conflicts are an error, with what they are in the
// [ApplyResult]; without Markers nothing was changed then.
func (h *Host) Apply(ctx context.Context, run *engine.Run, a Apply) (m ApplyResult, err error) {
	if err := RequireApproved(run, a.Anyway); err != nil {
		return m, err
	}
	c, run, err := h.changeToApply(ctx, run, a)
	if err != nil {
		return m, err
	}
	db, err := h.DB(ctx)
	if err != nil {
		return m, err
	}
	if held, ok := db.Holder(run.ID); ok && !a.Check {
		return m, hint.New(
			fmt.Sprintf("run %s is not at its end: process %d drives it", run.ID, held.PID),
			"Wait for it, or stop it with Ctrl-C.",
		)
	}
	if a.Dir != "" {
		c.Repo, err = h.OpenRepo(ctx, a.Dir)
	} else {
		err = h.requireStanding(ctx, run, "apply "+string(run.ID))
	}
	if err != nil {
		return m, err
	}
	if _, err := c.Stat(ctx); err != nil {
		return m, hint.New(
			fmt.Sprintf("the repository %s does not have the change of run %s: %v", c.Repo.Root(), run.ID, err),
			"The run was made in "+run.Start.Repo+"; elsewhere use --patch.",
		)
	}
	hold, err := h.holdTree(ctx, c.Repo, run.ID)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, hold.Close()) }()
	return h.mergeChange(ctx, run, c, a, hold)
}

// changeToApply is the change that is meant, and the run as whose it is brought over.
func (h *Host) changeToApply(ctx context.Context, run *engine.Run, a Apply) (Change, *engine.Run, error) {
	if !a.Thread {
		c, err := h.ChangeOf(ctx, run)
		return c, run, err
	}
	c, t, err := h.ThreadChangeOf(ctx, run)
	if err == nil {
		err = requireThreadApproved(t, a.Anyway)
	}
	if err != nil {
		return c, run, err
	}
	whole, start := *run, *run.Start
	start.Base = t[0].Start.Base
	start.Request = t.Request()
	whole.Start = &start
	return c, &whole, nil
}

// RequireApproved refuses a change that was not approved, unless it is wanted
// anyway.
func RequireApproved(run *engine.Run, anyway bool) error {
	if run.State == plan.Approved || anyway {
		return nil
	}
	return hint.New(
		fmt.Sprintf("run %s is %s, not approved", run.ID, run.State),
		fmt.Sprintf("Look at it with `plan diff %s`; --anyway brings it over all the same.", run.ID),
	)
}

// CommitOnBranch commits the change of a run that works in a tree of its own on
// the branch of that tree, whatever the run came to. Doing so twice does no harm.
func (h *Host) CommitOnBranch(ctx context.Context, run *engine.Run) (m ApplyResult, err error) {
	c, err := h.ChangeOf(ctx, run)
	if err != nil {
		return m, err
	}
	return h.commitChange(ctx, run, c)
}

// commitChange commits a change that was made in a run's own tree on the branch of it.
func (h *Host) commitChange(ctx context.Context, run *engine.Run, c Change) (m ApplyResult, err error) {
	tree, err := h.treeOf(ctx, run)
	var elsewhere *elsewhereError
	if errors.As(err, &elsewhere) {
		return m, err
	}
	if err != nil { // only the snapshots are left
		_, err := c.Repo.CommitTo(ctx, run.Start.WorkBranch, run.Start.Base, c.From, c.To, CommitMessage(run), false)
		if errors.Is(err, worktree.ErrNothing) {
			err = nil
		}
		return m, err
	}
	hold, err := h.holdTree(ctx, tree, run.ID)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, hold.Close()) }()
	c.Repo = tree
	return h.mergeChange(ctx, run, c, Apply{Commit: true}, hold)
}

// mergeChange does what Apply was asked for, in a work tree that is held.
func (h *Host) mergeChange(
	ctx context.Context,
	run *engine.Run,
	c Change,
	a Apply,
	hold *worktree.Hold,
) (ApplyResult, error) {
	out := ApplyResult{
		ID:     run.ID,
		Result: ResultApplied,
		Check:  a.Check,
		Repo:   c.Repo.Root(),
		Branch: a.Branch,
	}
	message := a.Message
	if message == "" {
		message = CommitMessage(run)
	}
	var undoStep step
	opts := worktree.Options{
		Check:  a.Check,
		Force:  a.Markers,
		Keep:   keepBothSides(ctx, c.Repo, run.ID, "apply", &undoStep),
		Intent: hold.Intent(),
	}
	var merge worktree.MergeResult
	var err error
	switch {
	case a.Branch != "":
		out.Result = ResultCommitted
		out.Commit, err = c.Repo.CommitTo(ctx, a.Branch, run.Start.Base, c.From, c.To, message, a.Check)
		if err == nil {
			merge.Paths, err = c.Repo.Changed(ctx, out.Commit+"^", out.Commit)
		}
	case a.Commit:
		out.Result = ResultCommitted
		opts.Keep = keepBothSides(ctx, c.Repo, run.ID, "commit", &undoStep)
		out.Commit, merge, err = c.Repo.MergeCommit(ctx, c.From, c.To, message, opts)
		err = dropUnmade(ctx, c.Repo, run.ID, undoStep, err)
		if err == nil && len(merge.Paths) == 0 { // the files had it
			merge.Paths, err = c.Repo.Changed(ctx, out.Commit+"^", out.Commit)
		}
	default:
		merge, err = c.Repo.Merge(ctx, c.From, c.To, opts)
		err = dropUnmade(ctx, c.Repo, run.ID, undoStep, err)
		if merge.Before == merge.After {
			out.Result = ResultNothing
		}
	}
	return out.finish(merge, undoStep, err, "--3way leaves markers in them, --branch puts the change on a branch of "+
		"its own")
}

// finish fills in what a change to a work tree came to. Instead says what can be
// done about conflicts.
func (m ApplyResult) finish(merge worktree.MergeResult, undoStep step, err error, instead string) (ApplyResult, error) {
	var conflict *worktree.Conflict
	switch {
	case errors.Is(err, worktree.ErrNothing):
		m.Result = ResultNothing
		m.Commit = ""
	case errors.As(err, &conflict):
		m.Result = ResultConflicts
		merge.Conflicts = conflict.Paths
	case err != nil:
		return m, err
	case len(merge.Conflicts) > 0:
		m.Result = ResultConflicts
	}
	if m.Check {
		m.Commit = ""
	}
	m.Files = listOf(merge.Paths)
	m.Conflicts = listOf(merge.Conflicts)
	m.Submodules = merge.Submodules
	if undoStep.n > 0 && err == nil {
		m.Undo = "refs/plan/" + string(m.ID) + "/" + undoStep.label("before")
	}
	switch {
	case m.Result != ResultConflicts:
		return m, nil
	case conflict != nil:
		return m, hint.New(err.Error()+"; nothing was changed", "What can be done: "+instead+".")
	}
	files := "1 file"
	if n := len(m.Conflicts); n != 1 {
		files = fmt.Sprintf("%d files", n)
	}
	advice := "Edit them."
	if m.Undo != "" {
		advice += " The tree as it was is kept as " + m.Undo + "."
	}
	return m, hint.New(files+" with conflict markers: "+strings.Join(m.Conflicts, ", "), advice)
}

// listOf is a list that is [] in JSON where it is empty.
func listOf[T any](of []T) []T {
	if of == nil {
		return []T{}
	}
	return of
}

// CommitMessage is the message of the commit of a run's change: the request.
func CommitMessage(run *engine.Run) string {
	title, rest, _ := strings.Cut(strings.TrimSpace(run.Start.Request), "\n")
	if short := []rune(title); len(short) > 72 {
		rest = title + "\n" + rest
		title = string(short[:71]) + "…"
	}
	return strings.TrimSpace(title+"\n\n"+strings.TrimSpace(rest)) + "\n\nPlan-Run: " + string(run.ID) + "\n"
}
