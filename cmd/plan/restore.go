package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

// restoring is what restore was asked for.
type restoring struct {
	to                 string
	undo, force, check bool
}

func (a *app) restoreCommand() *cobra.Command {
	var how restoring
	cmd := &cobra.Command{
		Use:   "restore RUN --to SEQ|start",
		Short: "Undo what a run changed, and nothing else",
		Long: `Restore takes the work tree of a run back to the last snapshot at or before an
event, or to the start. Only files that the run changed since then are touched,
and only if they are still as the run left them; if others changed one of them,
nothing is done and they are listed. The index and commits are left alone. The
tree as it was before is kept; --undo goes back to it, and undoes "plan apply"
as well.

The snapshots are the "snapshot" events of "plan events RUN".`,
		Example: `  plan restore 01JX --to start --check
  plan restore 01JX --to start
  plan restore 01JX --to 120
  plan restore 01JX --undo`,
		Args: oneArg("the id of a run, or a prefix of it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (how.to == "") != how.undo {
				return usage("restore needs --to SEQ, --to start, or --undo")
			}
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				run, err := namedRun(ctx, db, args[0])
				if err != nil {
					return err
				}
				return a.restore(ctx, db, run, how)
			})
		},
	}
	cmd.Flags().StringVar(&how.to, "to", "", "where to: the `SEQ` of an event, or start")
	cmd.Flags().BoolVar(&how.undo, "undo", false, "take the last plan apply or plan restore for this run back")
	cmd.Flags().BoolVar(&how.force, "force", false, "overwrite files that were changed since")
	cmd.Flags().BoolVar(&how.check, "check", false, "only say what would be done; exits with 1 on conflicts")
	cmd.MarkFlagsMutuallyExclusive("to", "undo")
	return cmd
}

func (a *app) restore(ctx context.Context, db *memory.DB, run *engine.Run, how restoring) (err error) {
	repo, err := a.restoreIn(ctx, run, how)
	if errors.Is(err, fs.ErrNotExist) {
		return failed(&advice{
			fmt.Sprintf("the work tree of run %s is gone, so there is nothing to restore in it", run.ID),
			fmt.Sprintf(
				"Its snapshots stay: `plan apply %s` brings the change over, `plan fork %s --at SEQ` makes a tree as it was.",
				run.ID,
				run.ID,
			),
		})
	}
	if err != nil {
		return failed(err)
	}
	hold, err := a.occupy(repo, run.ID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, failed(hold.Close())) }()
	const instead = "--force overwrites them, and keeps what was there"
	out := outcome{
		ID:     run.ID,
		Result: "restored",
		Check:  how.check,
		Repo:   repo.Root(),
	}
	opts := worktree.Options{Check: how.check, Force: how.force}
	if how.undo {
		out.Result = "undone"
		moved, err := undo(ctx, repo, run.ID, opts)
		return a.moved(out, moved, step{}, err, instead)
	}
	left, to, err := restoreEnds(ctx, db, repo, run, how)
	if err != nil {
		return err
	}
	var made step
	opts.Keep = keeping(ctx, repo, run.ID, "restore", &made)
	moved, err := repo.Restore(ctx, left, to.Tree, opts)
	if err == nil && moved.Before == moved.After {
		out.Result = "nothing"
	}
	if err == nil && !run.State.Final() {
		a.note(
			"the run is not final: if it goes on, it finds another tree than it left; `plan fork` goes on from an earlier moment instead",
		)
	}
	return a.moved(out, moved, made, err, instead)
}

// restoreIn opens the work tree that is to be changed: the run's, or the one
// that the last step was made in.
func (a *app) restoreIn(ctx context.Context, run *engine.Run, how restoring) (*worktree.Repo, error) {
	if !how.undo || run.Start.Worktree == "" {
		return treeOf(ctx, run)
	}
	repo, err := worktree.Open(ctx, run.Start.Repo)
	if err != nil {
		return nil, err
	}
	kept, err := repo.Kept(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	if was := steps(kept); len(was) > 0 && was[len(was)-1].kind == "restore" {
		return treeOf(ctx, run)
	}
	if a.dir != "." {
		return worktree.Open(ctx, a.dir)
	}
	return repo, nil
}

// goal is the last snapshot up to an event, with what somebody else changed
// after it. Loose says that the run may have changed the tree since its latest
// snapshot.
func goal(
	ctx context.Context,
	db *memory.DB,
	run *engine.Run,
	seq int64,
) (to plan.Snapshot, since []plan.Drift, loose bool, err error) {
	to = run.Snapshots[0]
	for ev, err := range db.Events(ctx, run.ID, memory.Query{Types: []plan.EventType{plan.TypeSnapshot, plan.TypePhaseStart, plan.TypeDrift}}) {
		if err != nil {
			return to, nil, false, err
		}
		switch b := ev.Body.(type) {
		case plan.Drift:
			if ev.Seq > seq {
				since = append(since, b)
			}
		case plan.Snapshot:
			loose = false
			if ev.Seq <= seq {
				to = b
			}
		default:
			loose = loose || ev.Phase == plan.Implement
		}
	}
	return to, since, loose, nil
}

// restoreEnds finds the tree that the run left and the one to go back to.
func restoreEnds(
	ctx context.Context,
	db *memory.DB,
	repo *worktree.Repo,
	run *engine.Run,
	how restoring,
) (left string, to plan.Snapshot, err error) {
	seq := int64(1)
	if how.to != engine.LabelStart {
		if seq, err = strconv.ParseInt(how.to, 10, 64); err != nil || seq < 1 || seq > run.Head {
			return "", to, usage(
				"--to %q: write start, or the seq of an event; run %s has 1 to %d",
				how.to,
				run.ID,
				run.Head,
			)
		}
	}
	to, since, loose, err := goal(ctx, db, run, seq)
	if err != nil {
		return "", to, failed(err)
	}
	for i, d := range since {
		if to.Tree, err = repo.Carry(ctx, run.ID, fmt.Sprintf("goal-%d", i+1), to.Tree, d.From, cmp.Or(d.Tree, d.From)); err != nil {
			return "", to, failed(err)
		}
	}
	if !loose {
		return run.Tree(), to, nil
	}
	if !how.force {
		return "", to, failed(&advice{
			fmt.Sprintf(
				"run %s stopped in the middle of Implement, and no snapshot says which changes are its own",
				run.ID,
			),
			fmt.Sprintf(
				"`plan resume %s` goes on with it, `plan cancel %s` ends it with a snapshot; --force takes everything in the tree for the run's.",
				run.ID,
				run.ID,
			),
		})
	}
	left, err = repo.Tree(ctx)
	return left, to, failed(err)
}
