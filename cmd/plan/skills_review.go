package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/cmd/plan/terminal"
	"github.com/plan-engine/plan/host/learning"
	"github.com/plan-engine/plan/skills/auto"
)

func (a *app) skillsReview() *cobra.Command {
	return &cobra.Command{
		Use:   "review",
		Short: "Go through the drafts that wait for you, one at a time",
		Long: `Shows each draft that waits for a decision: its text, the runs it was made from,
what it would change, and what the router would have done with it. Answer
y (approve), n REASON (reject), e (edit), s (skip) or q (quit). Without a person to
be asked, and with --json, the drafts are listed.`,
		Example: `  plan skills review
  plan skills review --json | jq -r '.[].name'`,
		Args: cobra.NoArgs,
		RunE: a.onSkills(func(ctx context.Context, l *learning.Learning, _ []string) error {
			waiting, err := l.Library().Waiting(ctx)
			if err != nil {
				return err
			}
			reviews := make([]learning.Review, len(waiting))
			for i, d := range waiting {
				if reviews[i], err = l.Review(ctx, d); err != nil {
					return err
				}
			}
			return a.answer(reviews, func(io.Writer) error {
				return a.drafts(l).Review(ctx, waiting, reviews, a.interactive())
			})
		}),
	}
}

// drafts asks the person about drafts.
func (a *app) drafts(l *learning.Learning) terminal.Drafts {
	return terminal.Drafts{
		Terminal: a.terminal(),
		Learning: l,
	}
}

func (a *app) skillsEdit() *cobra.Command {
	var waiting int // 0: the revision that waits
	return &cobra.Command{
		Use:     "edit NAME",
		Short:   "Change a draft in your editor; it has to be approved afterwards",
		Example: `  EDITOR=vim plan skills edit parser-tidy`,
		Args:    cobra.ExactArgs(1),
		RunE: a.onDraft(&waiting, func(ctx context.Context, l *learning.Learning, d auto.Draft) error {
			after, err := a.drafts(l).Edit(ctx, d)
			if err != nil {
				return err
			}
			note := "Look at it with plan skills diff, then approve it."
			if after.Skill.Digest == d.Skill.Digest {
				note = "Nothing was changed."
			}
			return a.draftDecided(after, string(after.Status), note)
		}),
	}
}
