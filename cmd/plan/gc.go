package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
)

func (a *app) gcCommand() *cobra.Command {
	var p gcPolicy
	var older, size string
	var dryRun, shrink bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove old runs that have ended",
		Long: `Gc removes runs that have ended, with their journals, their blobs and the
snapshots that git keeps for them. A run that is parked, unfinished, held by a
process, or has a worktree is never removed. --keep alone removes all but the
newest; beside the others it protects the newest from them.

The space is used again by later runs; --shrink gives it back to the disk.`,
		Example: `  plan gc --older-than 90d --keep 50 --dry-run
  plan gc --max-size 2GB --shrink`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p.keepAlone = cmd.Flags().Changed("keep") && older == "" && size == ""
			if err := p.read(older, size); err != nil {
				return err
			}
			if !p.keepAlone && older == "" && size == "" {
				return usage("plan gc needs to know what may go: --keep N, --older-than D or --max-size S")
			}
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				return a.gc(ctx, db, p, dryRun, shrink)
			})
		},
	}
	cmd.Flags().IntVar(&p.keep, "keep", 0, "keep the newest `N` runs that have ended")
	cmd.Flags().StringVar(&older, "older-than", "", "remove what has been over for `D`, such as 90d or 12h")
	cmd.Flags().StringVar(
		&size,
		"max-size",
		"",
		"remove the oldest until the database uses at most `S`, such as 500MB",
	)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would go")
	cmd.Flags().BoolVar(&shrink, "shrink", false, "give free space back to the disk, if no run is live")
	return cmd
}

// gcPolicy says which of the runs that have ended may go.
type gcPolicy struct {
	keep      int
	keepAlone bool
	olderThan time.Duration // 0 for none
	maxSize   int64         // bytes; 0 for none
}

func (p *gcPolicy) read(older, size string) (err error) {
	if p.keep < 0 {
		return usage("--keep cannot be negative")
	}
	if older != "" {
		if p.olderThan, err = daysOrDuration(older); err != nil || p.olderThan <= 0 {
			return usage("--older-than %q: write a number with a unit, such as 90d or 12h", older)
		}
	}
	if size != "" {
		if p.maxSize, err = byteSize(size); err != nil || p.maxSize <= 0 {
			return usage("--max-size %q: write a number with a unit, such as 500MB or 2GB", size)
		}
	}
	return nil
}

func daysOrDuration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err //nolint:wrapcheck // the caller says what to write
	}
	return time.ParseDuration(s) //nolint:wrapcheck // the caller says what to write
}

func byteSize(s string) (int64, error) {
	upper, scale := strings.ToUpper(s), int64(1)
	for i, unit := range []string{"KB", "MB", "GB", "TB"} {
		if cut, ok := strings.CutSuffix(upper, unit); ok {
			upper = cut
			for range i + 1 {
				scale *= 1000
			}
		}
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(upper, "B"), 10, 20)
	return int64(n) * scale, err //nolint:wrapcheck // the caller says what to write
}

// choose picks from runs that may go, newest first, those that go.
func (p gcPolicy) choose(
	runs []memory.RunInfo,
	sizes map[plan.RunID]int64,
	used int64,
	now time.Time,
) []memory.RunInfo {
	var gone, left []memory.RunInfo
	for i, r := range runs {
		switch {
		case i < p.keep:
		case p.keepAlone, p.olderThan > 0 && now.Sub(r.Updated) > p.olderThan:
			gone = append(gone, r)
			used -= sizes[r.ID]
		default:
			left = append(left, r)
		}
	}
	for _, r := range slices.Backward(left) {
		if p.maxSize == 0 || used <= p.maxSize {
			break
		}
		gone = append(gone, r)
		used -= sizes[r.ID]
	}
	return gone
}

// collected is one run that gc removes, in its JSON form.
type collected struct {
	ID      plan.RunID `json:"id"`
	State   plan.State `json:"state"`
	Updated time.Time  `json:"updated"`
	Bytes   int64      `json:"bytes"`
	Refs    int        `json:"refs"` // snapshots that git kept for it
}

func (a *app) gc(ctx context.Context, db *memory.DB, p gcPolicy, dryRun, shrink bool) error {
	runs, err := db.Runs(ctx, memory.Filter{})
	if err != nil {
		return failed(err)
	}
	sizes, err := db.Sizes(ctx)
	if err != nil {
		return failed(err)
	}
	used, err := db.UsedBytes(ctx)
	if err != nil {
		return failed(err)
	}
	mayGo, live, err := a.removable(db, runs)
	if err != nil {
		return err
	}
	gone := p.choose(mayGo, sizes, used, a.now())
	keeper := newRefKeeper(db, runs, gone)
	out := make([]collected, 0, len(gone))
	var faults []error
	for _, r := range gone {
		c := collected{
			ID:      r.ID,
			State:   r.State,
			Updated: r.Updated,
			Bytes:   sizes[r.ID],
		}
		if c.Refs, err = keeper.forget(ctx, r, dryRun); err == nil && !dryRun {
			err = db.Remove(ctx, r.ID)
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		out = append(out, c)
	}
	if shrink && !dryRun && live == 0 {
		faults = append(faults, db.Shrink(ctx))
	}
	if after, err := db.UsedBytes(ctx); err == nil && !dryRun {
		used = after
	}
	return errors.Join(
		a.tellGC(out, len(runs)-len(out), used, dryRun),
		a.tellUnshrunk(shrink, live),
		failed(errors.Join(faults...)),
	)
}

// removable leaves out what is never removed, and counts the live runs.
func (a *app) removable(db *memory.DB, runs []memory.RunInfo) (out []memory.RunInfo, live int, err error) {
	paths, err := config.FindHome(a.getenv)
	if err != nil {
		return nil, 0, failed(err)
	}
	for _, r := range runs {
		if _, held := db.Holder(r.ID); held {
			live++
			continue
		}
		if _, err := os.Lstat(filepath.Join(paths.Worktrees, string(r.ID))); err == nil {
			continue
		}
		if r.Ended() {
			out = append(out, r)
		}
	}
	return out, live, nil
}

func (a *app) tellGC(gone []collected, kept int, used int64, dryRun bool) error {
	var bytes int64
	for _, c := range gone {
		bytes += c.Bytes
	}
	if a.json {
		return a.document(
			map[string]any{"dry_run": dryRun, "removed": gone, "kept": kept, "freed": bytes, "used": used},
		)
	}
	verb, sum := "removed", "freed"
	if dryRun {
		verb, sum = "would remove", "would free"
	}
	for _, c := range gone {
		fmt.Fprintf(a.out, "%s %s  %s, over for %s, %s, %s\n", verb, c.ID, c.State,
			render.Duration(a.now().Sub(c.Updated)), spokenBytes(c.Bytes), counted(c.Refs, "snapshot"))
	}
	_, err := fmt.Fprintf(a.out, "%s about %s in %s; %s kept; the database uses %s\n",
		sum, spokenBytes(bytes), counted(len(gone), "run"), counted(kept, "run"), spokenBytes(used))
	return failed(err)
}

func (a *app) tellUnshrunk(shrink bool, live int) error {
	if shrink && live > 0 {
		fmt.Fprintf(a.err, "plan: note: the file was not made smaller, because %s live\n", isOrAre(live))
	}
	return nil
}

func isOrAre(runs int) string {
	if runs == 1 {
		return "1 run is"
	}
	return fmt.Sprintf("%d runs are", runs)
}
