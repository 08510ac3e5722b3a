package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/skills/auto"
)

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
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDraft(cmd, args[0], revision, func(ctx context.Context, l *learning, d auto.Draft) error {
				return a.writeDraft(ctx, l, d, model)
			})
		},
	}
	cmd.Flags().IntVar(&revision, "revision", 0, "revision `N` of the draft")
	cmd.Flags().StringVar(&model, "model", "", "`NAME` of the model")
	return cmd
}

func (a *app) writeDraft(ctx context.Context, l *learning, d auto.Draft, model string) error {
	cfg := l.cfg
	if model != "" {
		cfg.Model = model
	}
	servers, err := a.connect(ctx, &cfg, nil, nil)
	if err != nil {
		return err
	}
	defer servers.Close()
	var run plan.RunID
	if n := len(d.Meta.Runs); n > 0 {
		run = d.Meta.Runs[n-1]
	}
	body, used, err := phases.WriteDraft(ctx, phases.DraftConfig{
		Model:    servers,
		Name:     modelsOf(cfg)[plan.Plan],
		Settings: settingsOf(cfg)[plan.Plan],
		Retry:    retryOf(cfg),
		Run:      run,
	}, l.redact(d.Body))
	if err != nil {
		return err
	}
	made, err := l.library.Rewrite(ctx, d, body)
	if err != nil {
		return err
	}
	if a.json {
		return a.document(made)
	}
	_, err = fmt.Fprintf(
		a.out,
		"%s revision %d is written (%s tokens) and waits for you: plan skills review\n",
		made.Name,
		made.Revision,
		render.Tokens(used.Tokens()),
	)
	return err //nolint:wrapcheck // withSkills tells it
}

// retryOf is how often and how long failed model calls are repeated.
func retryOf(cfg config.Config) loop.Retry {
	return loop.Retry{
		Served:           cfg.Retry.Served,
		UnservedFor:      cfg.Retry.UnservedFor.Duration,
		UnreachableFirst: cfg.Retry.Unreachable(false),
		UnreachableFor:   cfg.Retry.Unreachable(true),
		Base:             cfg.Retry.Base.Duration,
		Max:              cfg.Retry.Max.Duration,
		RetryAfterMax:    cfg.Retry.RetryAfterMax.Duration,
	}
}
