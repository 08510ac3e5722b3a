package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/skills"
	"github.com/plan-engine/plan/skills/auto"
	"github.com/plan-engine/plan/worktree"
)

func (a *app) skillsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skills",
		Short: "See skills, review drafted ones, and how well each has done",
		Long: `A skill is a folder with a SKILL.md: when to use it, and how. They are found in
the repository (.plan/skills, .agents/skills, .claude/skills), among the drafts
you approved, in your own folder ($PLAN_HOME/skills), and built in; of two with
the same name the first counts.

Three approved runs of one kind make a draft. No model sees a draft before you
have approved its exact bytes, and none sees it any more once they change.`,
		Example: `  plan skills list
  plan skills review
  plan skills stats`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.skillsList(), a.skillsShow(), a.skillsReview(), a.skillsDiff(), a.skillsApprove(),
		a.skillsReject(), a.skillsEdit(), a.skillsRollback(), a.skillsWrite(), a.skillsTest(), a.skillsStats())
	return cmd
}

// withSkills does something with the skills of the repository that -C names,
// or of no repository where there is none.
func (a *app) withSkills(cmd *cobra.Command, do func(ctx context.Context, l *learning) error) error {
	ctx := cmd.Context()
	root := ""
	if repo, err := worktree.Open(ctx, a.dir); err == nil {
		root = repo.Root()
	}
	return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
		cfg, redact, err := a.learningSettings(root)
		if err != nil {
			return err
		}
		l, err := a.newLearning(cfg, db, root, redact)
		if err != nil {
			return failed(err)
		}
		return failed(do(ctx, l))
	})
}

// skillLine is a skill in `plan skills list --json`.
type skillLine struct {
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Source      string       `json:"source"`
	Status      string       `json:"status"` // usable, shadowed, withheld, broken
	Why         string       `json:"why,omitempty"`
	Path        string       `json:"path,omitempty"`
	Phases      []plan.Phase `json:"phases,omitempty"`
	Hidden      bool         `json:"hidden,omitempty"`
	Digest      string       `json:"digest,omitempty"`
}

func lineOf(s skills.Skill, status, why string) skillLine {
	return skillLine{
		Name:        s.Name,
		Description: s.Description,
		Source:      s.Source,
		Status:      status,
		Why:         why,
		Path:        s.Dir,
		Phases:      s.Phases,
		Hidden:      s.Hidden,
		Digest:      s.Digest,
	}
}

func skillLines(c *skills.Catalog) []skillLine {
	out := []skillLine{}
	for _, s := range c.Skills {
		out = append(out, lineOf(s, "usable", ""))
	}
	for _, s := range c.Shadowed {
		out = append(out, lineOf(s.Skill, "shadowed", "by the one in "+s.By))
	}
	for _, s := range c.Withheld {
		out = append(out, lineOf(s.Skill, "withheld", s.Why))
	}
	for _, p := range c.Problems {
		out = append(out, skillLine{
			Path:   p.Path,
			Status: "broken",
			Why:    p.Err.Error(),
		})
	}
	return out
}

func (a *app) skillsList() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List all skills, which of them count, and what is wrong with the others",
		Example: `  plan skills list --json`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSkills(cmd, func(ctx context.Context, l *learning) error {
				c, _, err := l.find(ctx)
				if err != nil {
					return err
				}
				lines := skillLines(c)
				if a.json {
					return a.document(lines)
				}
				tw := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(tw, "SKILL\tFROM\tSTATUS\tWHAT FOR")
				for _, s := range lines {
					what := s.Description
					if s.Why != "" {
						what = s.Why
					}
					if s.Name == "" {
						s.Name, s.Source = s.Path, "-"
					}
					fmt.Fprintf(
						tw,
						"%s\t%s\t%s\t%s\n",
						render.SafeLine(s.Name),
						s.Source,
						s.Status,
						render.SafeLine(cutText(what, 80)),
					)
				}
				return tw.Flush()
			})
		},
	}
}

func (a *app) skillsShow() *cobra.Command {
	var revision int
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show a skill or a draft as a model would read it",
		Example: `  plan skills show bug-fix`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSkills(cmd, func(ctx context.Context, l *learning) error {
				c, _, err := l.find(ctx)
				if err != nil {
					return err
				}
				if s, ok := c.Get(args[0]); ok && revision == 0 {
					body, _, err := skills.Load(s)
					if err != nil {
						return err
					}
					return a.showSkill(lineOf(s, "usable", ""), body)
				}
				d, err := l.library.Get(ctx, args[0], revision)
				if err != nil {
					return err
				}
				return a.showSkill(lineOf(d.Skill, string(d.Status), d.Why), d.Body)
			})
		},
	}
	cmd.Flags().IntVar(
		&revision,
		"revision",
		0,
		"of a draft: revision `N` (0: the one that waits for you, else the latest)",
	)
	return cmd
}

func (a *app) showSkill(s skillLine, body string) error {
	if a.json {
		return a.document(struct {
			skillLine
			Body string `json:"body"`
		}{s, body})
	}
	_, err := fmt.Fprintf(
		a.out,
		"%s (%s, %s)\n%s\n\n%s\n",
		s.Name,
		orDash(s.Source),
		s.Status,
		render.SafeLine(s.Description),
		render.SafeText(body),
	)
	return err //nolint:wrapcheck // withSkills tells it
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// withDraft does something with the draft that the argument names.
func (a *app) withDraft(
	cmd *cobra.Command,
	name string,
	revision int,
	do func(ctx context.Context, l *learning, d auto.Draft) error,
) error {
	return a.withSkills(cmd, func(ctx context.Context, l *learning) error {
		d, err := l.library.Get(ctx, name, revision)
		if err != nil {
			return err
		}
		return do(ctx, l, d)
	})
}

func (a *app) skillsDiff() *cobra.Command {
	var revision int
	cmd := &cobra.Command{
		Use:     "diff NAME",
		Short:   "Show what a draft would change",
		Example: `  plan skills diff parser-tidy`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDraft(cmd, args[0], revision, func(ctx context.Context, l *learning, d auto.Draft) error {
				text, err := l.draftDiff(ctx, d)
				if err != nil {
					return err
				}
				if a.json {
					return a.document(map[string]any{"name": d.Name, "revision": d.Revision, "diff": text})
				}
				_, err = fmt.Fprint(a.out, render.SafeText(text))
				return err //nolint:wrapcheck // withSkills tells it
			})
		},
	}
	cmd.Flags().IntVar(&revision, "revision", 0, "revision `N` of the draft")
	return cmd
}

func (a *app) skillsApprove() *cobra.Command {
	var revision int
	var digest string
	cmd := &cobra.Command{
		Use:   "approve NAME",
		Short: "Let models see a draft, exactly as it is now",
		Example: `  plan skills approve parser-tidy
  plan skills approve parser-tidy --digest 3f2a…   only if these are still its bytes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDraft(cmd, args[0], revision, func(ctx context.Context, l *learning, d auto.Draft) error {
				if digest == "" {
					digest = d.Skill.Digest
				} else if len(digest) >= 8 && strings.HasPrefix(d.Skill.Digest, digest) {
					digest = d.Skill.Digest
				}
				if err := l.library.Approve(ctx, d, digest); err != nil {
					return err
				}
				return a.decided(
					d,
					"approved",
					"From now on runs may be told about it. Take it back with: plan skills rollback "+d.Name,
				)
			})
		},
	}
	cmd.Flags().IntVar(&revision, "revision", 0, "revision `N` of the draft")
	cmd.Flags().StringVar(&digest, "digest", "", "only if the draft has this `DIGEST` (at least 8 characters of it)")
	return cmd
}

func (a *app) skillsReject() *cobra.Command {
	var revision int
	var why string
	cmd := &cobra.Command{
		Use:     "reject NAME",
		Short:   "Keep a draft out for good; nothing of its kind is drafted again",
		Example: `  plan skills reject parser-tidy --why "says nothing new"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDraft(cmd, args[0], revision, func(ctx context.Context, l *learning, d auto.Draft) error {
				if err := l.library.Reject(ctx, d, why); err != nil {
					return err
				}
				return a.decided(d, "rejected", "Its files stay in "+d.Dir+".")
			})
		},
	}
	cmd.Flags().IntVar(&revision, "revision", 0, "revision `N` of the draft")
	cmd.Flags().StringVar(&why, "why", "", "the `REASON`, kept with the decision")
	return cmd
}

func (a *app) decided(d auto.Draft, decision, note string) error {
	if a.json {
		return a.document(
			map[string]any{"name": d.Name, "revision": d.Revision, "digest": d.Skill.Digest, "decision": decision},
		)
	}
	_, err := fmt.Fprintf(a.out, "%s revision %d: %s. %s\n", d.Name, d.Revision, decision, note)
	return err //nolint:wrapcheck // withSkills tells it
}

func (a *app) skillsRollback() *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:     "rollback NAME",
		Short:   "Take the latest approval back and use the revision before it, or none",
		Example: `  plan skills rollback parser-tidy --why "made reviews longer"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSkills(cmd, func(ctx context.Context, l *learning) error {
				now, err := l.library.Rollback(ctx, args[0], why)
				if err != nil {
					return err
				}
				active := 0
				if now != nil {
					active = now.Revision
				}
				if a.json {
					return a.document(map[string]any{"name": args[0], "active_revision": active})
				}
				text := "no revision is used now"
				if active > 0 {
					text = fmt.Sprintf("revision %d is used again", active)
				}
				_, err = fmt.Fprintf(a.out, "%s: %s.\n", args[0], text)
				return err //nolint:wrapcheck // withSkills tells it
			})
		},
	}
	cmd.Flags().StringVar(&why, "why", "", "the `REASON`, kept with the decision")
	return cmd
}

func (a *app) skillsEdit() *cobra.Command {
	return &cobra.Command{
		Use:     "edit NAME",
		Short:   "Change a draft in your editor; it has to be approved afterwards",
		Example: `  EDITOR=vim plan skills edit parser-tidy`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDraft(cmd, args[0], 0, func(ctx context.Context, l *learning, d auto.Draft) error {
				file := d.Dir + string(os.PathSeparator) + skills.File
				if err := a.edit(ctx, file); err != nil {
					return err
				}
				after, err := l.library.Get(ctx, d.Name, d.Revision)
				if err != nil {
					return fmt.Errorf("%w; the draft is kept out until it can be read again", err)
				}
				if after.Skill.Digest == d.Skill.Digest {
					return a.decided(after, string(after.Status), "Nothing was changed.")
				}
				return a.decided(after, string(after.Status), "Look at it with plan skills diff, then approve it.")
			})
		},
	}
}
