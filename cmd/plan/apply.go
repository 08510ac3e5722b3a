package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

// applying is how the change of a run is brought over.
type applying struct {
	check, patch, markers, commit, anyway bool
	branch, message                       string
}

func (a *app) applyCommand() *cobra.Command {
	var how applying
	cmd := &cobra.Command{
		Use:   "apply RUN",
		Short: "Bring the change of a run to your work tree",
		Long: `Apply merges the change that a run made into your work tree, as three-way merges
do: what you did in the meantime stays. The index, commits and branches are left
alone. If the change conflicts with yours, nothing is changed and the files are
listed. Applying twice does no harm, and "plan restore RUN --undo" takes it back.

With --commit the change, and nothing else of what is not committed, becomes a
commit on the branch that is checked out; with --branch a commit on another one,
new or not. Hooks do not run. -C picks another work tree of the repository.`,
		Example: `  plan apply 01JX --check        say what would happen
  plan apply 01JX                into the work tree
  plan apply 01JX --commit -m "Fix the retry test"
  plan apply 01JX --branch fix/retry
  plan apply 01JX --patch | git -C ../other apply -3`,
		Args: oneArg("the id of a run, or a prefix of it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if how.message != "" && !how.commit && how.branch == "" {
				return usage("-m is the message of a commit: it goes with --commit or --branch")
			}
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				run, err := namedRun(ctx, db, args[0])
				if err != nil {
					return err
				}
				return a.apply(ctx, db, run, how)
			})
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&how.check, "check", false, "only say what would be done; exits with 1 on conflicts")
	fl.BoolVar(&how.patch, "patch", false, "print the change as a patch, binary files included")
	fl.BoolVar(&how.markers, "3way", false, "on conflicts, leave markers in the files instead of changing nothing")
	fl.BoolVar(&how.commit, "commit", false, "commit the change on the branch that is checked out")
	fl.StringVar(&how.branch, "branch", "", "commit the change on branch `NAME`, which is made if there is none")
	fl.StringVarP(&how.message, "message", "m", "", "`TEXT` of the commit (default: the request)")
	fl.BoolVar(&how.anyway, "anyway", false, "also if the run was not approved")
	cmd.MarkFlagsMutuallyExclusive("patch", "commit", "branch", "3way")
	cmd.MarkFlagsMutuallyExclusive("patch", "check")
	return cmd
}

// namedRun folds the run that an argument names.
func namedRun(ctx context.Context, db *memory.DB, prefix string) (*engine.Run, error) {
	id, err := findRun(ctx, db, prefix)
	if err != nil {
		return nil, err
	}
	run, err := foldRun(ctx, db, id, nil)
	if err != nil {
		return nil, failed(err)
	}
	if run.Start == nil || len(run.Snapshots) == 0 {
		return nil, failed(fmt.Errorf("run %s has no beginning in its journal", id))
	}
	return run, nil
}

// outcome is what a command did to a work tree, as --json says it.
type outcome struct {
	ID         plan.RunID `json:"id"`
	Result     string     `json:"result"` // applied, restored, undone, committed, nothing, conflicts; with --check what it would be
	Check      bool       `json:"check,omitempty"`
	Repo       string     `json:"repo"`
	Files      []string   `json:"files"`
	Conflicts  []string   `json:"conflicts"`
	Submodules []string   `json:"submodules,omitempty"`
	Commit     string     `json:"commit,omitempty"`
	Branch     string     `json:"branch,omitempty"`
	Undo       string     `json:"undo,omitempty"` // ref of the tree as it was
}

func (a *app) apply(ctx context.Context, db *memory.DB, run *engine.Run, how applying) (err error) {
	if run.State != plan.Approved && !how.anyway {
		return failed(&advice{
			fmt.Sprintf("run %s is %s, not approved", run.ID, run.State),
			fmt.Sprintf("Look at it with `plan diff %s`; --anyway brings it over all the same.", run.ID),
		})
	}
	repo, from, to, err := endsOf(ctx, run)
	if err != nil {
		return failed(err)
	}
	if how.patch {
		text, err := repo.Patch(ctx, from, to)
		if err == nil {
			_, err = fmt.Fprint(a.out, text)
		}
		return failed(err)
	}
	if held, ok := db.Holder(run.ID); ok && !how.check {
		return failed(
			&advice{
				fmt.Sprintf("run %s is not at its end: process %d drives it", run.ID, held.PID),
				"Wait for it, or stop it with Ctrl-C.",
			},
		)
	}
	if a.dir != "." {
		if repo, err = openRepo(ctx, a.dir); err != nil {
			return err
		}
	}
	if _, err := repo.Stat(ctx, from, to); err != nil {
		return failed(
			&advice{
				fmt.Sprintf("the repository %s does not have the change of run %s: %v", repo.Root(), run.ID, err),
				"The run was made in " + run.Start.Repo + "; elsewhere use --patch.",
			},
		)
	}
	hold, err := a.occupy(repo, run.ID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, failed(hold.Close())) }()
	return a.bring(ctx, repo, run, from, to, how)
}

// bring does what apply was asked for, in a work tree that is held.
func (a *app) bring(ctx context.Context, repo *worktree.Repo, run *engine.Run, from, to string, how applying) error {
	out := outcome{
		ID:     run.ID,
		Result: "applied",
		Check:  how.check,
		Repo:   repo.Root(),
		Branch: how.branch,
	}
	message := how.message
	if message == "" {
		message = messageOf(run)
	}
	var made step
	opts := worktree.Options{
		Check: how.check,
		Force: how.markers,
		Keep:  keeping(ctx, repo, run.ID, "apply", &made),
	}
	var moved worktree.Moved
	var err error
	switch {
	case how.branch != "":
		out.Result = "committed"
		out.Commit, err = repo.CommitTo(ctx, how.branch, run.Start.Base, from, to, message, how.check)
		if err == nil {
			moved.Paths, err = repo.Changed(ctx, out.Commit+"^", out.Commit)
		}
	case how.commit:
		out.Result = "committed"
		out.Commit, moved, err = repo.MergeCommit(ctx, from, to, message, opts)
	default:
		moved, err = repo.Merge(ctx, from, to, opts)
		if moved.Before == moved.After {
			out.Result = "nothing"
		}
	}
	return a.moved(
		out,
		moved,
		made,
		err,
		"--3way leaves markers in them, --branch puts the change on a branch of its own",
	)
}

// moved tells what a change to a work tree came to.
func (a *app) moved(out outcome, moved worktree.Moved, made step, err error, instead string) error {
	var conflict *worktree.Conflict
	switch {
	case errors.Is(err, worktree.ErrNothing):
		out.Result, out.Commit = "nothing", ""
	case errors.As(err, &conflict):
		out.Result, moved.Conflicts = "conflicts", conflict.Paths
	case err != nil:
		return failed(err)
	case len(moved.Conflicts) > 0:
		out.Result = "conflicts"
	}
	if out.Check {
		out.Commit = ""
	}
	out.Files, out.Conflicts, out.Submodules = listOf(moved.Paths), listOf(moved.Conflicts), moved.Submodules
	if made.n > 0 && err == nil {
		out.Undo = "refs/plan/" + string(out.ID) + "/" + made.label("before")
	}
	if a.json {
		if err := a.document(out); err != nil {
			return err
		}
	} else {
		a.tellMoved(out, moved)
	}
	if out.Result != "conflicts" {
		return nil
	}
	if conflict == nil {
		return failed(&advice{
			fmt.Sprintf(
				"%s with conflict markers: %s",
				render.Count(len(out.Conflicts), "file"),
				strings.Join(out.Conflicts, ", "),
			),
			"Edit them. The tree as it was is kept as " + out.Undo + ".",
		})
	}
	return failed(&advice{err.Error() + "; nothing was changed", "What can be done: " + instead + "."})
}

func (a *app) tellMoved(out outcome, moved worktree.Moved) {
	words := map[string]string{
		"applied":   "applied to",
		"restored":  "restored in",
		"undone":    "undone in",
		"committed": "committed in",
	}
	what := words[out.Result]
	if out.Check && what != "" {
		what = "would be " + what
	}
	switch {
	case out.Result == "nothing":
		fmt.Fprintf(a.out, "%s: there is nothing to do, %s has it already\n", out.ID, render.SafeLine(out.Repo))
	case what != "":
		fmt.Fprintf(
			a.out,
			"%s: %s %s %s\n",
			out.ID,
			render.Count(len(moved.Paths), "file"),
			what,
			render.SafeLine(out.Repo),
		)
		for _, path := range moved.Paths {
			fmt.Fprintf(a.out, "  %s\n", render.SafeLine(path))
		}
	}
	if out.Commit != "" && out.Result == "committed" {
		fmt.Fprintf(a.out, "commit %s\n", out.Commit)
	}
	for _, path := range moved.Submodules {
		a.note(fmt.Sprintf("submodule %s should stand at another commit; move it with `git submodule update`", path))
	}
	if out.Undo != "" {
		fmt.Fprintf(
			a.out,
			"The tree as it was is kept as %s; `plan restore %s --undo` goes back to it.\n",
			out.Undo,
			out.ID,
		)
	}
}

// messageOf is the message of the commit of a run's change: the request.
func messageOf(run *engine.Run) string {
	title, rest, _ := strings.Cut(strings.TrimSpace(run.Start.Request), "\n")
	if short := []rune(title); len(short) > 72 {
		rest = title + "\n" + rest
		title = string(short[:71]) + "…"
	}
	return strings.TrimSpace(title+"\n\n"+strings.TrimSpace(rest)) + "\n\nPlan-Run: " + string(run.ID) + "\n"
}
