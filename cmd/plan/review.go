package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/cmd/plan/build"
	"github.com/plan-engine/plan/cmd/plan/runflags"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
)

func (a *app) reviewCommand() *cobra.Command {
	var flags runflags.Flags
	var format string
	req := host.Request{Aim: plan.AimReview}
	cmd := &cobra.Command{
		Use:   "review [REQUEST|-]",
		Short: "Judge a change that is there: a branch, a dirty tree, the work of others",
		Long: `Review has the reviewer judge the change that the work tree holds against --base,
uncommitted and untracked files included. No plan is made and nothing is changed:
checks run on the base and on the change, and a verdict counts by what ran, as in
a run. It ends as approved (0), or as exhausted with the gaps that are open (3).

Without a request the commit messages since the base stand in for one, as their
author's word. With --fix the gaps go on to Implement, and the result is reviewed.

What --format writes belongs outside the tree, or among what git ignores: a new file
in the tree is part of the change that is judged.`,
		Example: `  plan review --check "go test ./..."
  plan review --base v1.4 "Retries must not outlive their context"
  plan review --format sarif > ../review.sarif
  plan review --fix --max-review-cycles 1`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			switch {
			case !slices.Contains(render.ReviewFormats(), format):
				return usage("--format %q: write one of %s", format, strings.Join(render.ReviewFormats(), ", "))
			case format != render.FormatText && a.json:
				return usage("--json is every event, a line each; --format is the review at its end: choose one")
			case cmd.Flags().Changed("max-review-cycles") && !req.Review.Fix:
				return usage("--max-review-cycles belongs to --fix: without it nothing is fixed")
			}
			if req.Options, err = flags.Options(cmd); err != nil {
				return err
			}
			if len(args) > 0 {
				if req.Text, err = a.request(args, `plan review "Retries must not outlive their context"`); err != nil {
					return err
				}
			}
			req.Dir = a.dir
			return a.review(cmd.Context(), req, format)
		},
	}
	flags.RegisterLooking(cmd)
	flags.RegisterProof(cmd)
	cmd.Flags().StringVar(&req.Review.Base, "base", "",
		"what the change counts from: where HEAD left `REF` (default: the default branch of upstream or origin, else main or master)")
	cmd.Flags().BoolVar(&req.Review.Fix, "fix", false, "have the gaps closed, and review again")
	cmd.Flags().StringVar(&format, "format", render.FormatText,
		"what standard output gets: `FORMAT` text, or one document as markdown, json or sarif")
	return cmd
}

// review drives a review. A document has standard output for itself.
func (a *app) review(ctx context.Context, req host.Request, format string) error {
	out := a.out
	if format != render.FormatText {
		a.out = a.err
	}
	var end host.End
	err := a.drive(ctx, func(ctx context.Context, face host.Face) (_ host.End, err error) {
		end, err = a.host.Run(ctx, req, face)
		return end, err
	})
	if format == render.FormatText || end.Run == "" {
		return err
	}
	reviewed, lerr := a.host.Reviewed(context.WithoutCancel(ctx), end)
	if lerr == nil {
		lerr = render.Review(out, format, build.Version(), reviewed)
	}
	return errors.Join(err, failed(lerr))
}
