package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/skills"
	"github.com/plan-engine/plan/skills/auto"
)

// learningSettings are what learning needs to know outside a run.
func (a *app) learningSettings(root string) (config.Config, func(string) string, error) {
	cfg, err := a.settings(root, config.Config{})
	return cfg, config.Redactor(cfg.Secrets(a.environ)), err
}

// reviewed is a draft in `plan skills review --json`.
type reviewed struct {
	Name      string       `json:"name"`
	Revision  int          `json:"revision"`
	Status    string       `json:"status"`
	Signature string       `json:"signature"`
	Digest    string       `json:"digest"`
	Score     *float64     `json:"score"`
	Runs      []plan.RunID `json:"runs"`
	Change    string       `json:"change,omitempty"`
	Body      string       `json:"body"`
	Diff      string       `json:"diff,omitempty"`
	Router    string       `json:"router"`
}

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
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSkills(cmd, func(ctx context.Context, l *learning) error {
				waiting, err := l.library.Waiting(ctx)
				if err != nil {
					return err
				}
				if a.json {
					return a.reviewDocument(ctx, l, waiting)
				}
				if len(waiting) == 0 {
					_, err := fmt.Fprintln(a.out, "No draft waits for you.")
					return err //nolint:wrapcheck // withSkills tells it
				}
				return a.reviewDrafts(ctx, l, waiting)
			})
		},
	}
}

func (a *app) reviewDocument(ctx context.Context, l *learning, waiting []auto.Draft) error {
	out := []reviewed{}
	for _, d := range waiting {
		r, err := l.reviewed(ctx, d)
		if err != nil {
			return err
		}
		out = append(out, r)
	}
	return a.document(out)
}

func (l *learning) reviewed(ctx context.Context, d auto.Draft) (reviewed, error) {
	text, err := l.draftDiff(ctx, d)
	return reviewed{
		Name:      d.Name,
		Revision:  d.Revision,
		Status:    string(d.Status),
		Signature: d.Meta.Signature,
		Digest:    d.Skill.Digest,
		Score:     d.Meta.Score,
		Runs:      d.Meta.Runs,
		Change:    d.Meta.Change,
		Body:      d.Body,
		Diff:      text,
		Router:    l.wouldHave(ctx, d),
	}, err
}

// draftDiff compares a draft with what is used in its place now: the active
// revision, or the skill that it would change, or nothing.
func (l *learning) draftDiff(ctx context.Context, d auto.Draft) (string, error) {
	c, _, err := l.find(ctx)
	if err != nil {
		return "", err
	}
	var old []byte
	label := "nothing"
	if s, ok := c.Get(d.Name); ok && s.Dir != d.Dir {
		if old, err = skills.Text(s); err != nil {
			return "", err
		}
		label = s.Name + " (" + s.Source + ")"
	}
	text, err := skills.Text(d.Skill)
	if err != nil {
		return "", err
	}
	return udiff.Unified(label, fmt.Sprintf("%s revision %d", d.Name, d.Revision), string(old), string(text)), nil
}

// wouldHave says for which of its own runs the router would have considered
// the draft.
func (l *learning) wouldHave(ctx context.Context, d auto.Draft) string {
	c, _, err := l.find(ctx)
	if err != nil {
		return err.Error()
	}
	list := append([]skills.Skill{d.Skill}, c.Skills...)
	ix := skills.NewIndex(list)
	n := 0
	for _, run := range d.Meta.Runs {
		for ev, err := range l.db.Events(ctx, run, memory.Query{Types: []plan.EventType{plan.TypeRunStart}}) {
			start, ok := ev.Body.(plan.RunStart)
			if err != nil || !ok {
				break
			}
			for _, m := range ix.Relevant(start.Request, plan.Implement, 1) {
				if m.Skill.Digest == d.Skill.Digest {
					n++
				}
			}
		}
	}
	return fmt.Sprintf(
		"the most relevant skill for %d of its %d runs in Implement; it would start at even odds there",
		n,
		len(d.Meta.Runs),
	)
}

func (a *app) reviewDrafts(ctx context.Context, l *learning, waiting []auto.Draft) error {
	in := bufio.NewReader(a.in)
	for i, d := range waiting {
		r, err := l.reviewed(ctx, d)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "Draft %d of %d: %s, revision %d (%s)\n", i+1, len(waiting), d.Name, d.Revision, d.Status)
		fmt.Fprintf(a.out, "from runs %s\nrouter: %s\n", joinRuns(d.Meta.Runs), r.Router)
		if d.Meta.Change != "" {
			fmt.Fprintf(a.out, "a change to the skill %s\n", d.Meta.Change)
		}
		fmt.Fprintf(a.out, "\n%s\n", render.SafeText(r.Diff))
		if !a.interactive() {
			fmt.Fprintf(
				a.out,
				"Decide with: plan skills approve %s, or plan skills reject %s --why …\n\n",
				d.Name,
				d.Name,
			)
			continue
		}
		stop, err := a.reviewOne(ctx, l, d, in)
		if err != nil || stop {
			return err
		}
	}
	return nil
}

// reviewOne asks about one draft until there is an answer. Nothing but a clear
// yes approves.
func (a *app) reviewOne(ctx context.Context, l *learning, d auto.Draft, in *bufio.Reader) (stop bool, err error) {
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
			return false, l.library.Approve(ctx, d, d.Skill.Digest)
		case "n", "no":
			fmt.Fprint(a.out, "Why? ")
			why, _ := in.ReadString('\n') // no reason is fine
			return false, l.library.Reject(ctx, d, strings.TrimSpace(why))
		case "e", "edit":
			if err := a.edit(ctx, d.Dir+string(os.PathSeparator)+skills.File); err != nil {
				return true, err
			}
			if d, err = l.library.Get(ctx, d.Name, d.Revision); err != nil {
				return true, err
			}
			text, err := l.draftDiff(ctx, d)
			if err != nil {
				return true, err
			}
			fmt.Fprintf(a.out, "\n%s\n", render.SafeText(text))
		case "s", "skip":
			return false, nil
		case "q", "quit":
			return true, nil
		}
	}
}

func joinRuns(runs []plan.RunID) string {
	names := make([]string, len(runs))
	for i, r := range runs {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}

// edit opens a file in the person's editor.
func (a *app) edit(ctx context.Context, file string) error {
	editor := a.getenv("VISUAL")
	if editor == "" {
		editor = a.getenv("EDITOR")
	}
	if editor == "" {
		return &advice{"there is no editor to open " + file + " with", "Set EDITOR, or change the file yourself."}
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = a.in, a.out, a.err, a.environ
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("edit %s: %w", file, err)
	}
	return nil
}

// mentionDrafts tells people at the end of a run that drafts wait for them.
func (a *app) mentionDrafts(ctx context.Context, w *workshop) {
	waiting, err := w.learn.library.Waiting(context.WithoutCancel(ctx))
	if err != nil || len(waiting) == 0 {
		return // it is said by the next `plan skills` command
	}
	to := a.out
	if a.json {
		to = a.err
	}
	word := "A drafted skill waits"
	if len(waiting) > 1 {
		word = fmt.Sprintf("%d drafted skills wait", len(waiting))
	}
	fmt.Fprintf(to, "\n%s for your review: plan skills review\n", word)
}
