package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host/learning"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/skills"
	"github.com/plan-engine/plan/skills/auto"
)

func (a *app) skillsReview() *cobra.Command {
	return &cobra.Command{
		Use:   "review",
		Short: "Go through the drafts that wait for you, one at a time",
		Long: `Shows each draft that waits for a decision: its text, the runs it was made from,
what it would change, and what the router would have done with it. Answer
y (approve), n (reject), e (edit), s (skip) or q (quit). Where nobody can be
asked, and with --json, the drafts are listed.`,
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
			return a.answer(reviews, func(io.Writer) error { return a.reviewDrafts(ctx, l, waiting, reviews) })
		}),
	}
}

// reviewDrafts shows the drafts that wait, and asks about each where a person is
// there.
func (a *app) reviewDrafts(
	ctx context.Context,
	l *learning.Learning,
	waiting []auto.Draft,
	reviews []learning.Review,
) error {
	if len(waiting) == 0 {
		fmt.Fprintln(a.out, "No draft waits for you.")
		return nil
	}
	in := bufio.NewReader(a.in)
	for i, d := range waiting {
		if err := render.DraftReview(a.out, reviews[i], i+1, len(waiting)); err != nil {
			return err
		}
		if !a.interactive() {
			const decide = "Decide with: plan skills approve %s, or plan skills reject %s --why …\n\n"
			fmt.Fprintf(a.out, decide, d.Name, d.Name)
			continue
		}
		stop, err := a.askAboutDraft(ctx, l, d, in)
		if err != nil || stop {
			return err
		}
	}
	return nil
}

// askAboutDraft asks about one draft until there is an answer. Nothing but a
// clear yes approves.
func (a *app) askAboutDraft(
	ctx context.Context,
	l *learning.Learning,
	d auto.Draft,
	in *bufio.Reader,
) (stop bool, err error) {
	for {
		fmt.Fprint(a.out, "Approve it? [y]es, [n]o for good, [e]dit, [s]kip, [q]uit: ")
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return true, fmt.Errorf("read the answer: %w", err)
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return false, l.ApproveDraft(ctx, d, d.Skill.Digest)
		case "n", "no":
			fmt.Fprint(a.out, "Why? ")
			why, _ := in.ReadString('\n') // no reason is fine
			return false, l.Library().Reject(ctx, d, strings.TrimSpace(why))
		case "e", "edit":
			if d, err = a.editDraft(ctx, l, d); err != nil {
				return true, err
			}
			diff, err := l.DiffDraft(ctx, d)
			if err != nil {
				return true, err
			}
			fmt.Fprintf(a.out, "\n%s\n", render.SafeText(diff))
		case "s", "skip":
			return false, nil
		case "q", "quit":
			return true, nil
		}
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
			after, err := a.editDraft(ctx, l, d)
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

// editDraft opens a draft in the person's editor, and returns it as it is then.
func (a *app) editDraft(ctx context.Context, l *learning.Learning, d auto.Draft) (auto.Draft, error) {
	file := filepath.Join(d.Dir, skills.File)
	editor := a.terminal().Editor()
	if editor == "" {
		return d, hint.New(
			"there is no editor to open "+file+" with",
			"Set EDITOR, or change the file yourself.",
		)
	}
	if err := a.terminal().Open(ctx, editor, file); err != nil {
		return d, fmt.Errorf("edit %s: %w", file, err)
	}
	after, err := l.Library().Get(ctx, d.Name, d.Revision)
	if err != nil {
		return d, fmt.Errorf("%w; the draft is kept out until it can be read again", err)
	}
	return after, nil
}
