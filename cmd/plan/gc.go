package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
)

func (a *app) gcCommand() *cobra.Command {
	var p host.GCPolicy
	var older, size string
	var dryRun, shrink bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove old runs that have ended",
		Long: `Gc removes runs that have ended, with their journals, their blobs and the
snapshots that git keeps for them. A run that is parked, unfinished, held by a
process, has a worktree, or waits to be gone on from is never removed. --keep
alone removes all but the newest; beside the others it protects the newest from
them. What was kept of build caches goes too where its repository is gone, where no
run has used it for 30 days (or D, if that is less), and the oldest beyond 20 GB.

What killed processes have left (work trees and branches of runs that never began,
files of backups, temporary folders, locks) goes in any case: without a flag, gc
removes nothing else. What a process uses stays, and so does a branch with commits of
its own.

The space is used again by later runs; --shrink gives it back to the disk. The first
time that writes the whole file anew, and is left undone while a run is live; from
then on it goes in small steps beside live runs.`,
		Example: `  plan journal gc --older-than 90d --keep 50 --dry-run
  plan journal gc --max-size 2GB --shrink`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p.KeepAlone = cmd.Flags().Changed("keep") && older == "" && size == ""
			if err := p.Read(older, size); err != nil {
				return err
			}
			ctx, stop := a.interruptible(cmd.Context())
			defer stop()
			done, err := a.host.GC(ctx, p, dryRun, shrink, a.progress())
			if err != nil && done.Removed == nil {
				return err
			}
			if !p.KeepAlone && older == "" && size == "" && !shrink && len(host.Remarkable(done.Left)) == 0 {
				a.note("nothing is left of killed processes; runs go by --keep N, --older-than D or --max-size S")
			}
			if done.Unshrunk != "" {
				a.note("the file was not made smaller, because " + done.Unshrunk)
			}
			return errors.Join(a.showGC(done, dryRun), err)
		},
	}
	cmd.Flags().IntVar(&p.Keep, "keep", 0, "keep the newest `N` runs that have ended")
	cmd.Flags().StringVar(&older, "older-than", "", "remove what has been over for `D`, such as 90d or 12h")
	cmd.Flags().StringVar(&size, "max-size", "", "remove the oldest until the database uses at most `S`, such as 500MB")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would go")
	cmd.Flags().BoolVar(&shrink, "shrink", false,
		"give free space back to the disk; the first time only if no run is live")
	return cmd
}

func (a *app) showGC(done host.GC, dryRun bool) error {
	document := map[string]any{
		"dry_run": dryRun,
		"removed": done.Removed,
		"kept":    done.Kept,
		"freed":   done.Freed(),
		"used":    done.Used,
		"caches":  done.Caches,

		"abandoned": done.Left,
	}
	return a.answer(document, func(w io.Writer) error { return render.Collected(w, done, dryRun, a.now()) })
}
