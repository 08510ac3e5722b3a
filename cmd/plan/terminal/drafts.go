package terminal

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host/learning"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/skills"
	"github.com/plan-engine/plan/skills/auto"
)

// Drafts asks the person about drafted skills.
type Drafts struct {
	Terminal
	Learning *learning.Learning
}

// Review shows the drafts that wait, and asks about each where a person is there.
func (t Drafts) Review(ctx context.Context, waiting []auto.Draft, reviews []learning.Review, asks bool) error {
	if len(waiting) == 0 {
		fmt.Fprintln(t.Out, "No draft waits for you.")
		return nil
	}
	for i, d := range waiting {
		if err := render.DraftReview(t.Out, reviews[i], i+1, len(waiting)); err != nil {
			return err
		}
		if !asks {
			const decide = "Decide with: plan skills approve %s, or plan skills reject %s --why …\n\n"
			fmt.Fprintf(t.Out, decide, d.Name, d.Name)
			continue
		}
		stop, err := t.ask(ctx, d)
		if err != nil || stop {
			return err
		}
	}
	return nil
}

// ask asks about one draft until there is an answer. Nothing but a clear yes approves.
func (t Drafts) ask(ctx context.Context, d auto.Draft) (stop bool, err error) {
	for {
		line, ok := t.Ask(ctx, "Approve it? y, n REASON (for good), e to edit, s to skip, q to quit: ")
		if !ok {
			return true, nil
		}
		word, reason, _ := strings.Cut(line, " ")
		switch strings.ToLower(word) {
		case "y", "yes":
			return false, t.Learning.ApproveDraft(ctx, d, d.Skill.Digest)
		case "n", "no":
			return false, t.Learning.Library().Reject(ctx, d, strings.TrimSpace(reason))
		case "e", "edit":
			if d, err = t.Edit(ctx, d); err != nil {
				return true, err
			}
			diff, err := t.Learning.DiffDraft(ctx, d)
			if err != nil {
				return true, err
			}
			fmt.Fprintf(t.Out, "\n%s\n", render.SafeText(diff))
		case "s", "skip":
			return false, nil
		case "q", "quit":
			return true, nil
		default:
			t.notUnderstood(word)
		}
	}
}

// Edit opens a draft in the person's editor, and returns it as it is then.
func (t Drafts) Edit(ctx context.Context, d auto.Draft) (auto.Draft, error) {
	file := filepath.Join(d.Dir, skills.File)
	editor := t.Editor(ctx)
	if editor == "" {
		return d, hint.New(
			"there is no editor to open "+file+" with",
			"Set EDITOR, or change the file yourself.",
		)
	}
	if err := t.Open(ctx, editor, file); err != nil {
		return d, fmt.Errorf("edit %s: %w", file, err)
	}
	after, err := t.Learning.Library().Get(ctx, d.Name, d.Revision)
	if err != nil {
		return d, fmt.Errorf("%w; the draft is kept out until it can be read again", err)
	}
	return after, nil
}
