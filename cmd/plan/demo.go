package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/cmd/plan/demo"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/model/wires"
)

func (a *app) demoCommand() *cobra.Command {
	var wire string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a whole workflow on a sample repository, without key or network",
		Long: `Demo unpacks a small Go repository with a real bug into a temporary folder and
takes it through the four phases. The model is scripted: a server on this
machine that plays a prepared part over the real protocol. Everything else is
real: the tools, the edits, the test runs, the journal.

The part is the same over each of the wires that models are spoken to by: Chat
Completions, OpenAI's Responses and Anthropic's Messages. None of your settings
has a say in it. With "plan demo serve" the server plays a part of yours.`,
		Example: `  plan demo
  plan demo --wire anthropic
  plan demo --json | jq .type
  plan demo serve scenario.toml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(wires.Names(), wire) {
				return usage("--wire %q: write one of %s", wire, strings.Join(wires.Names(), ", "))
			}
			return a.demo(cmd.Context(), wire)
		},
	}
	cmd.Flags().StringVar(
		&wire,
		"wire",
		wires.Names()[0],
		"speak to the model over `WIRE`: "+strings.Join(wires.Names(), ", "),
	)
	cmd.AddCommand(a.demoServer().Command())
	return cmd
}

func (a *app) demo(ctx context.Context, wire string) (err error) {
	text := a.forPeople()
	fmt.Fprintln(text, "plan demo: the model is scripted; the repository, the tools and the tests are real.")
	stage, err := demo.Open(ctx, wire)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Close()) }()
	fmt.Fprintf(text, "The sample repository is in %s\n\n", stage.Repo)

	a.environ = append(a.environ, stage.Environ()...)
	a.host = a.newHost()
	request := host.Request{
		Dir:     stage.Repo,
		Text:    demo.Request,
		Options: host.Options{Settings: stage.Settings()},
	}
	runErr := a.drive(ctx, func(ctx context.Context, face host.Face) (host.End, error) {
		return a.host.Run(ctx, request, face)
	})
	if runErr == nil {
		runErr = a.demoDiff(ctx, text)
	}
	fmt.Fprintf(
		text,
		"\nLook around:\n  git -C %s diff\n  PLAN_HOME=%s plan show 0\n  PLAN_HOME=%s plan show 0 --cost\n\n"+
			"Then, in a repository of yours: plan run \"what should change\"\n",
		stage.Repo,
		stage.Home,
		stage.Home,
	)
	return runErr
}

// demoDiff shows what the demo's run changed.
func (a *app) demoDiff(ctx context.Context, to io.Writer) error {
	id, err := a.host.Resolve(ctx, "0")
	if err != nil {
		return err
	}
	run, err := a.host.Load(ctx, id)
	if err != nil {
		return err
	}
	c, err := a.host.ChangeOf(ctx, run)
	if err != nil {
		return err
	}
	diff, err := c.Diff(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(to, "\n%s", render.SafeText(diff))
	return err
}

// demoServer are the commands that serve a scripted model.
func (a *app) demoServer() demo.Server { return demo.Server{In: a.in, Answer: a.answer} }
