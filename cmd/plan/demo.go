package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/cmd/plan/demo"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/model/scripted"
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
	cmd.AddCommand(a.demoServeCommand())
	return cmd
}

// demoKey is the variable that the demo's key is in.
const demoKey = "PLAN_DEMO_KEY"

// demoSettings are those of a run with the scripted server, over a wire.
func demoSettings(server *scripted.Server, wire string) config.Config {
	return config.Config{
		Model: scripted.ProviderName + "/" + scripted.Model,
		Providers: map[string]config.ProviderConfig{scripted.ProviderName: {
			Wire:    wire,
			BaseURL: server.URL(),
			KeyEnv:  demoKey,
		}},
	}
}

func (a *app) demo(ctx context.Context, wire string) (err error) {
	text := a.out
	if a.json {
		text = a.err
	}
	fmt.Fprintln(text, "plan demo: the model is scripted; the repository, the tools and the tests are real.")
	scenario, err := demo.Scenario()
	if err != nil {
		return err
	}
	server, err := scripted.Start(ctx, scenario, scripted.Config{})
	if err != nil {
		return fmt.Errorf("start the scripted model: %w", err)
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	dir, err := os.MkdirTemp("", "plan-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	repo := filepath.Join(dir, "repo")
	if err := demo.Unpack(ctx, repo); err != nil {
		return err
	}
	fmt.Fprintf(text, "The sample repository is in %s\n\n", repo)

	home := filepath.Join(dir, "home")
	a.environ = append(a.environ, "PLAN_HOME="+home, demoKey+"="+server.Key(), "OPENAI_BASE_URL=", "PLAN_MODEL=")
	a.host = a.newHost()
	request := host.Request{
		Dir:     repo,
		Text:    demo.Request,
		Options: host.Options{Settings: demoSettings(server, wire)},
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
		repo,
		home,
		home,
	)
	return runErr
}

// demoDiff shows what the demo's run changed.
func (a *app) demoDiff(ctx context.Context, to io.Writer) error {
	run, err := a.namedRun(ctx, "0")
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
