package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/cmd/plan/demo"
	"github.com/plan-engine/plan/cmd/plan/render"
	"github.com/plan-engine/plan/memory"
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
		Example: `  plan demo
  plan demo --json | jq .type`,
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
	if err := demo.Unpack(ctx, repo); err != nil {
		return failed(err)
	}
	fmt.Fprintf(text, "The sample repository is in %s\n\n", repo)

	a.dir = repo
	a.environ = append(a.environ,
		"PLAN_HOME="+filepath.Join(dir, "home"),
		"OPENAI_BASE_URL="+server.URL(), "OPENAI_API_KEY="+server.Key(), "PLAN_MODEL=scripted",
	)
	runErr := a.start(ctx, startOptions{request: demo.Request}, said{})
	if runErr == nil {
		runErr = a.demoDiff(ctx, text)
	}
	fmt.Fprintf(text, "\nLook around:\n  git -C %s diff\n  PLAN_HOME=%s plan show 0\n\nThen, in a repository of yours: plan run \"what should change\"\n", repo, filepath.Join(dir, "home"))
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
