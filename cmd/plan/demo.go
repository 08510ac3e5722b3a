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
	"github.com/plan-engine/plan/memory"
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
			if !slices.Contains(demoWires(), wire) {
				return usage("--wire %q: write one of %s", wire, strings.Join(demoWires(), ", "))
			}
			return a.demo(cmd.Context(), wire)
		},
	}
	cmd.Flags().StringVar(
		&wire,
		"wire",
		wires.Default,
		"speak to the model over `WIRE`: "+strings.Join(demoWires(), ", "),
	)
	cmd.AddCommand(a.demoServeCommand())
	return cmd
}

// demoWires are the wires that the scripted server speaks.
func demoWires() []string {
	return wires.Names()
}

// The provider of the demo, and where its key is.
const (
	demoProvider = "scripted"
	demoKey      = "PLAN_DEMO_KEY"
)

// demoSettings are those of a run with the scripted server, over a wire.
func demoSettings(server *scripted.Server, wire string) config.Config {
	return config.Config{
		Model: demoProvider + "/" + scripted.Model,
		Providers: map[string]config.ProviderConfig{demoProvider: {
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
		return failed(err)
	}
	server, err := scripted.Start(ctx, scenario, scripted.Config{})
	if err != nil {
		return failed(fmt.Errorf("start the scripted model: %w", err))
	}
	defer func() { err = errors.Join(err, failed(server.Close())) }()
	dir, err := os.MkdirTemp("", "plan-demo-")
	if err != nil {
		return failed(fmt.Errorf("make a folder for the demo: %w", err))
	}
	repo := filepath.Join(dir, "repo")
	if err := demo.Unpack(ctx, repo); err != nil {
		return failed(err)
	}
	fmt.Fprintf(text, "The sample repository is in %s\n\n", repo)

	a.dir = repo
	home := filepath.Join(dir, "home")
	a.environ = append(a.environ, "PLAN_HOME="+home, demoKey+"="+server.Key(), "OPENAI_BASE_URL=", "PLAN_MODEL=")
	runErr := a.start(ctx, startOptions{request: demo.Request}, said{Config: demoSettings(server, wire)})
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
	return a.readDB(ctx, func(db *memory.DB) error {
		id, err := findRun(ctx, db, "0")
		if err != nil {
			return err
		}
		run, err := foldRun(ctx, db, id, nil)
		if err != nil {
			return failed(err)
		}
		repo, from, end, err := endsOf(ctx, run)
		if err != nil {
			return failed(err)
		}
		diff, err := repo.Diff(ctx, from, end)
		if err != nil {
			return failed(err)
		}
		fmt.Fprintf(to, "\n%s", render.SafeText(diff))
		return nil
	})
}
