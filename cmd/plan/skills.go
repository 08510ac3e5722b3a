package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host/connect"
	"github.com/plan-engine/plan/host/learning"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/skills/auto"
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

// onSkills runs a command with the skills of the repository that -C names, or of
// no repository where there is none.
func (a *app) onSkills(
	do func(ctx context.Context, l *learning.Learning, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cfg, root, err := a.host.SettingsAt(cmd.Context(), a.dir)
		if err != nil {
			return err
		}
		l, err := a.host.Learning(cmd.Context(), cfg, root)
		if err != nil {
			return err
		}
		return do(cmd.Context(), l, args)
	}
}

// onDraft runs a command with a revision of the draft that its argument names;
// with 0 it is the one that waits for a person, else the latest.
func (a *app) onDraft(
	revision *int,
	do func(ctx context.Context, l *learning.Learning, d auto.Draft) error,
) func(*cobra.Command, []string) error {
	return a.onSkills(func(ctx context.Context, l *learning.Learning, args []string) error {
		d, err := l.Library().Get(ctx, args[0], *revision)
		if err != nil {
			return err
		}
		return do(ctx, l, d)
	})
}

func revisionFlag(cmd *cobra.Command, revision *int) {
	cmd.Flags().IntVar(revision, "revision", 0, "revision `N` of the draft")
}

func (a *app) skillsList() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List all skills, which of them count, and what is wrong with the others",
		Example: `  plan skills list --json`,
		Args:    cobra.NoArgs,
		RunE: a.onSkills(func(ctx context.Context, l *learning.Learning, _ []string) error {
			list, err := l.List(ctx)
			if err != nil {
				return err
			}
			return a.answer(list, func(w io.Writer) error { return render.Skills(w, list) })
		}),
	}
}

func (a *app) skillsShow() *cobra.Command {
	var revision int
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show a skill or a draft as a model would read it",
		Example: `  plan skills show bug-fix`,
		Args:    cobra.ExactArgs(1),
		RunE: a.onSkills(func(ctx context.Context, l *learning.Learning, args []string) error {
			s, err := l.Show(ctx, args[0], revision)
			if err != nil {
				return err
			}
			return a.answer(s, func(w io.Writer) error { return render.Skill(w, s) })
		}),
	}
	cmd.Flags().IntVar(&revision, "revision", 0,
		"of a draft: revision `N` (0: the one that waits for you, else the latest)")
	return cmd
}

func (a *app) skillsDiff() *cobra.Command {
	var revision int
	cmd := &cobra.Command{
		Use:     "diff NAME",
		Short:   "Show what a draft would change",
		Example: `  plan skills diff parser-tidy`,
		Args:    cobra.ExactArgs(1),
		RunE: a.onDraft(&revision, func(ctx context.Context, l *learning.Learning, d auto.Draft) error {
			diff, err := l.DiffDraft(ctx, d)
			if err != nil {
				return err
			}
			document := map[string]any{"name": d.Name, "revision": d.Revision, "diff": diff}
			return a.answer(document, func(w io.Writer) error { return render.DraftDiff(w, diff) })
		}),
	}
	revisionFlag(cmd, &revision)
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
		RunE: a.onDraft(&revision, func(ctx context.Context, l *learning.Learning, d auto.Draft) error {
			if err := l.ApproveDraft(ctx, d, digest); err != nil {
				return err
			}
			note := "From now on runs may be told about it. Take it back with: plan skills rollback " + d.Name
			return a.draftDecided(d, "approved", note)
		}),
	}
	revisionFlag(cmd, &revision)
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
		RunE: a.onDraft(&revision, func(ctx context.Context, l *learning.Learning, d auto.Draft) error {
			if err := l.Library().Reject(ctx, d, why); err != nil {
				return err
			}
			return a.draftDecided(d, "rejected", "Its files stay in "+d.Dir+".")
		}),
	}
	revisionFlag(cmd, &revision)
	cmd.Flags().StringVar(&why, "why", "", "the `REASON`, kept with the decision")
	return cmd
}

func (a *app) draftDecided(d auto.Draft, decision, note string) error {
	document := map[string]any{
		"name":     d.Name,
		"revision": d.Revision,
		"digest":   d.Skill.Digest,
		"decision": decision,
	}
	return a.answer(document, func(w io.Writer) error { return render.DraftDecided(w, d, decision, note) })
}

func (a *app) skillsRollback() *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:     "rollback NAME",
		Short:   "Take the latest approval back and use the revision before it, or none",
		Example: `  plan skills rollback parser-tidy --why "made reviews longer"`,
		Args:    cobra.ExactArgs(1),
		RunE: a.onSkills(func(ctx context.Context, l *learning.Learning, args []string) error {
			active, err := l.Library().Rollback(ctx, args[0], why)
			if err != nil {
				return err
			}
			revision := 0
			if active != nil {
				revision = active.Revision
			}
			document := map[string]any{"name": args[0], "active_revision": revision}
			return a.answer(document, func(w io.Writer) error { return render.SkillRolledBack(w, args[0], revision) })
		}),
	}
	cmd.Flags().StringVar(&why, "why", "", "the `REASON`, kept with the decision")
	return cmd
}

func (a *app) skillsWrite() *cobra.Command {
	var revision int
	var model string
	cmd := &cobra.Command{
		Use:   "write NAME",
		Short: "Have a model write a draft's text from its evidence, as a new revision",
		Long: `Drafts are put together without a model. This gives a draft to the model that is
set up, once and without tools, and keeps what it writes as a new revision. That
one waits for your decision like any other.`,
		Example: `  plan skills write parser-tidy
  plan skills diff parser-tidy`,
		Args: cobra.ExactArgs(1),
		RunE: a.onDraft(&revision, func(ctx context.Context, l *learning.Learning, d auto.Draft) error {
			cfg := l.Settings()
			if model != "" {
				cfg.Model = model
			}
			servers, err := a.host.Connector(ctx, a.dir).Open(ctx, &cfg, nil, nil)
			if err != nil {
				return err
			}
			defer servers.Close()
			draft, used, err := l.WriteDraft(ctx, d, phases.DraftConfig{
				Model:    servers,
				Name:     connect.PhaseModels(cfg)[plan.Plan],
				Settings: connect.PhaseSettings(cfg)[plan.Plan],
				Retry:    connect.Retry(cfg),
			})
			if err != nil {
				return err
			}
			return a.answer(draft, func(w io.Writer) error { return render.DraftWritten(w, draft, used) })
		}),
	}
	revisionFlag(cmd, &revision)
	cmd.Flags().StringVar(&model, "model", "", "`NAME` of the model")
	return cmd
}

func (a *app) skillsTest() *cobra.Command {
	var yes bool
	var revision int
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Do the tasks that a draft was made from again, with and without it, and note its score",
		Long: `Repeats each task that the draft was made from twice, on the commit it was done
on, in a work tree and a home of its own: once with the draft and once without.
The mean reward with it becomes its score, which is where the router begins.
This makes as many runs as it says, with the model that is set up, and costs
what they cost.`,
		Example: `  plan skills test parser-tidy --yes`,
		Args:    cobra.ExactArgs(1),
		RunE: a.onDraft(&revision, func(ctx context.Context, l *learning.Learning, d auto.Draft) error {
			if !yes {
				return usage("this makes %d runs; say --yes if that is what you want", learning.Trials(d))
			}
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			m, err := l.Measure(ctx, d, learning.TrialProcess(self, a.environ, a.err))
			if err != nil {
				return err
			}
			return a.answer(m, func(w io.Writer) error { return render.SkillMeasured(w, m) })
		}),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "make the runs")
	revisionFlag(cmd, &revision)
	return cmd
}

func (a *app) skillsStats() *cobra.Command {
	var svg string
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show how well skills have done: mean, 95 % interval, and the density of each",
		Example: `  plan skills stats
  plan skills stats --svg skills.svg`,
		Args: cobra.NoArgs,
		RunE: a.onSkills(func(ctx context.Context, l *learning.Learning, _ []string) error {
			stats, err := l.Stats(ctx)
			if err != nil {
				return err
			}
			if svg != "" {
				if err := os.WriteFile(svg, render.SkillStatsSVG(stats), 0o644); err != nil {
					return fmt.Errorf("write the picture: %w", err)
				}
			}
			return a.answer(stats, func(w io.Writer) error { return render.SkillStats(w, stats) })
		}),
	}
	cmd.Flags().StringVar(&svg, "svg", "", "also draw the densities into `FILE`")
	return cmd
}
