package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/cmd/plan/demo"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/model/scripted"
)

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Run a whole workflow on a sample repository, without key or network",
		Long: `Demo unpacks a small Go repository with a real bug into a temporary folder and
takes it through the four phases. The model is scripted: a server on this
machine that plays a prepared part over the real protocol. Everything else is
real: the tools, the edits, the test runs, the journal.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context()) },
	}
}

func (a *app) demo(ctx context.Context) (err error) {
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
	if err := demo.Unpack(repo); err != nil {
		return failed(err)
	}
	fmt.Fprintf(text, "The sample repository is in %s\n\n", repo)

	a.dir = repo
	a.environ = append(a.environ,
		"PLAN_HOME="+filepath.Join(dir, "home"),
		"OPENAI_BASE_URL="+server.URL(), "OPENAI_API_KEY="+server.Key(), "PLAN_MODEL=scripted",
	)
	runErr := a.start(ctx, startOptions{request: demo.Request}, config.Config{})
	fmt.Fprintf(text, "\nLook around: git -C %s diff\n             PLAN_HOME=%s plan list\n", repo, filepath.Join(dir, "home"))
	return runErr
}
