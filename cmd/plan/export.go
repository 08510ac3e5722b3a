package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/internal/durable"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

func (a *app) exportCommand() *cobra.Command {
	var file string
	var force bool
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "Write a run to a file, without secrets",
		Long: `Export writes a run as it stands, with all that its journal refers to, as JSON
lines that "plan import" reads. Values of secrets that are known from the
environment are replaced, and what looks like a secret by the built-in rules and
by [redact] patterns in config.toml. The repository is not part of it.`,
		Example: `  plan export 01JX -o run.jsonl
  plan export 01JX | gzip > run.jsonl.gz`,
		Args: oneArg("the id of a run, or a prefix of it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" && a.onTerminal() {
				return usage("an export is for a file: name one with -o FILE, or send the output to one")
			}
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				id, err := findRun(ctx, db, args[0])
				if err != nil {
					return err
				}
				return a.export(ctx, db, id, file, force)
			})
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to `FILE` instead of standard output")
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it is there")
	return cmd
}

func (a *app) export(ctx context.Context, db *memory.DB, id plan.RunID, file string, force bool) error {
	redact, err := a.outward()
	if err != nil {
		return err
	}
	if file == "" {
		_, err := db.Export(ctx, id, a.out, redact)
		return failed(render.UnlessReaderLeft(err))
	}
	var sent memory.Transfer
	err = writeWhole(file, force, func(to io.Writer) (err error) {
		sent, err = db.Export(ctx, id, to, redact)
		return err
	})
	if err != nil {
		return failed(err)
	}
	if a.json {
		return a.document(
			map[string]any{
				"id":       id,
				"path":     file,
				"events":   sent.Events,
				"blobs":    sent.Blobs,
				"replaced": sent.Replaced,
			},
		)
	}
	_, err = fmt.Fprintf(a.out, "%s: %s and %s of run %s; secrets replaced in %s\n", render.SafeLine(file),
		counted(sent.Events, "event"), counted(sent.Blobs, "blob"), id, counted(sent.Replaced, "text"))
	return failed(err)
}

// outward makes the function that text goes through on its way out: known
// values by name, then what looks like a secret.
func (a *app) outward() (func(string) string, error) {
	cfg, err := a.settings("", config.Config{})
	if err != nil {
		return nil, err
	}
	known := config.Redactor(cfg.Secrets(a.environ))
	rules, err := config.Rules(cfg.Redact.Patterns)
	if err != nil {
		return nil, failed(err)
	}
	return func(s string) string { return rules(known(s)) }, nil
}

// writeWhole writes a private file that appears under its name when it is
// whole.
func writeWhole(file string, force bool, write func(io.Writer) error) error {
	if _, err := os.Lstat(file); err == nil && !force {
		return &advice{fmt.Sprintf("%s is there already", file), "Name another file, or replace it with --force."}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look at the file: %w", err)
	}
	return durable.Write(file, 0o600, write)
}

func (a *app) importCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Take in a run that was exported elsewhere",
		Long: `Import checks a file that "plan export" has written, from its first byte to its
last, and stores the run under its own id. It can then be shown like any other;
resuming it needs its repository at the same place, and runs what it was started
with, its checks included, so do that only with a file that you trust. A run that
is there already is left alone if it is the same, and refused if it is not.`,
		Example: `  plan import run.jsonl`,
		Args:    oneArg("the name of a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := os.Open(args[0])
			if err != nil {
				return failed(fmt.Errorf("import a run: %w", err))
			}
			defer file.Close() //nolint:errcheck // only read
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				got, err := db.Import(ctx, file)
				if err != nil {
					return failed(err)
				}
				return a.imported(ctx, db, got)
			})
		},
	}
}

func (a *app) imported(ctx context.Context, db *memory.DB, got memory.Transfer) error {
	info, err := db.Run(ctx, got.Run)
	if err != nil {
		return failed(err)
	}
	if a.json {
		return a.document(
			map[string]any{
				"id":      got.Run,
				"events":  got.Events,
				"blobs":   got.Blobs,
				"already": got.Existed,
				"state":   info.State,
			},
		)
	}
	if got.Existed {
		return a.said(got.Run, "it is there already, and the same")
	}
	if err := a.said(got.Run, fmt.Sprintf("imported %s and %s; it is %s. See `plan show %s`.",
		counted(got.Events, "event"), counted(got.Blobs, "blob"), info.State, got.Run)); err != nil {
		return err
	}
	if _, err := openRepo(ctx, info.Repo); err != nil && !info.Ended() {
		fmt.Fprintf(
			a.err,
			"plan: note: its repository (%s) is not here, so it cannot be resumed\n",
			render.SafeLine(info.Repo),
		)
	}
	return nil
}

// knowsRun says so if a repository is not the one that a run worked in: an
// imported run may find another in its place, or a clone, which has no
// snapshots.
func knowsRun(ctx context.Context, repo *worktree.Repo, run *engine.Run) error {
	if run.Tree() == "" {
		return nil
	}
	if err := repo.Has(ctx, run.Start.Base+"^{commit}", run.Tree()+"^{tree}"); err != nil && ctx.Err() == nil {
		return failed(&advice{
			fmt.Sprintf("the repository %s does not have what run %s left in it: %v", run.Start.Repo, run.ID, err),
			"A run can be resumed in the repository that it began in, with its refs/plan. Elsewhere it can be shown.",
		})
	}
	return nil
}
