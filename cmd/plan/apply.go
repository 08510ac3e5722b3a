package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
)

func (a *app) applyCommand() *cobra.Command {
	var how host.Apply
	var patch bool
	cmd := &cobra.Command{
		Use:   "apply RUN",
		Short: "Bring the change of a run to your work tree",
		Long: `Apply merges the change that a run made into your work tree, as three-way merges
do: what you did in the meantime stays. The index, commits and branches are left
alone. If the change conflicts with yours, nothing is changed and the files are
listed. Applying twice does no harm, and "plan restore RUN --undo" takes it back,
what --commit made with a commit that reverts it.

With --commit the change, and nothing else of what is not committed, becomes a
commit on the branch that is checked out; with --branch a commit on another one,
new or not. Hooks do not run. -C picks another work tree of the repository.

A run that was imported, and has not gone on here, is brought over where you stand
in its repository, or name it with -C. So it is with restore, fork and tell.`,
		Example: `  plan apply 01JX --check        say what would happen
  plan apply 01JX                into the work tree
  plan apply 01JX --commit -m "Fix the retry test"
  plan apply 01JX --branch fix/retry
  plan apply 01JX --patch | git -C ../other apply -3`,
		Args: oneArg("the id of a run, or latest"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if how.Message != "" && !how.Commit && how.Branch == "" {
				return usage("-m is the message of a commit: it goes with --commit or --branch")
			}
			run, err := a.namedRun(cmd, args)
			if err != nil {
				return err
			}
			if patch {
				return a.printPatch(cmd.Context(), run, how)
			}
			how.Dir = a.namedDir(cmd)
			applied, err := a.host.Apply(cmd.Context(), run, how)
			return a.showMoved(applied, err)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&how.Check, "check", false, "only say what would be done; exits with 1 on conflicts")
	fl.BoolVar(&patch, "patch", false, "print the change as a patch, binary files included")
	fl.BoolVar(&how.Markers, "3way", false, "on conflicts, leave markers in the files instead of changing nothing")
	fl.BoolVar(&how.Commit, "commit", false, "commit the change on the branch that is checked out")
	fl.StringVar(&how.Branch, "branch", "", "commit the change on branch `NAME`, which is made if there is none")
	fl.StringVarP(&how.Message, "message", "m", "", "`TEXT` of the commit (default: the request)")
	fl.BoolVar(&how.Thread, "thread", false, "with what the runs changed that this one goes on from")
	fl.BoolVar(&how.Anyway, "anyway", false, "also if the run was not approved")
	cmd.MarkFlagsMutuallyExclusive("patch", "commit", "branch", "3way")
	cmd.MarkFlagsMutuallyExclusive("patch", "check")
	return cmd
}

// namedRun folds the run that an argument names.
func (a *app) namedRun(cmd *cobra.Command, args []string) (*engine.Run, error) {
	id, err := a.runOf(cmd.Context(), args)
	if err != nil {
		return nil, err
	}
	return a.host.Load(cmd.Context(), id)
}

// printPatch prints the change of a run as a patch.
func (a *app) printPatch(ctx context.Context, run *engine.Run, how host.Apply) error {
	if err := host.RequireApproved(run, how.Anyway); err != nil {
		return err
	}
	c, err := a.host.ChangeOf(ctx, run)
	if err != nil {
		return err
	}
	text, err := c.Patch(ctx)
	if err == nil {
		text, err = c.Inert(ctx, text)
	}
	if err == nil {
		_, err = fmt.Fprint(a.out, text)
	}
	return err
}

// showMoved tells what was done to a work tree. Conflicts are told with the error
// that they are.
func (a *app) showMoved(m host.ApplyResult, err error) error {
	switch {
	case err != nil && m.Result != host.ResultConflicts:
		return err
	case a.json:
		return errors.Join(a.document(m), err)
	}
	for _, path := range m.Submodules {
		a.note(fmt.Sprintf("submodule %s should stand at another commit; move it with `git submodule update`", path))
	}
	render.WriteMoved(a.out, m)
	return err
}
