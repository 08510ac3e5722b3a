package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/internal/plainfile"
)

func (a *app) exportCommand() *cobra.Command {
	var file string
	var force bool
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "Write a run to a file, without secrets",
		Long: `Export writes a run as it stands, with all that its journal refers to, as JSON
lines that "plan journal import" reads. Values of secrets that are known from the
environment are replaced, and what looks like a secret by the built-in rules and
by [redact] patterns in config.toml. The repository is not part of it. Of a damaged
run it writes what stands before the damage, and fails.`,
		Example: `  plan journal export 01JX -o run.jsonl
  plan journal export 01JX | gzip > run.jsonl.gz`,
		Args: oneArg("the id of a run, or latest"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" && a.onTerminal() {
				return usage("an export is for a file: name one with -o FILE, or send the output to one")
			}
			id, err := a.runOf(cmd.Context(), args)
			if err != nil {
				return err
			}
			return a.export(cmd.Context(), id, file, force)
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to `FILE` instead of standard output")
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it is there")
	return cmd
}

func (a *app) export(ctx context.Context, id plan.RunID, file string, force bool) error {
	if file == "" {
		_, err := a.host.Export(ctx, id, a.out)
		return render.UnlessReaderLeft(err)
	}
	ctx, stop := a.interruptible(ctx)
	defer stop()
	sent, err := a.host.ExportFile(ctx, id, file, force)
	if err != nil {
		return err
	}
	document := map[string]any{
		"id":       id,
		"path":     file,
		"events":   sent.Events,
		"blobs":    sent.Blobs,
		"replaced": sent.Replaced,
	}
	return a.answer(document, func(w io.Writer) error { return render.Exported(w, id, file, sent) })
}

func (a *app) importCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Take in a run that was exported elsewhere",
		Long: `Import checks a file that "plan journal export" has written, from its first byte to its
last, and stores the run under its own id. It can then be shown like any other.
Resuming it needs its repository at the same place. It goes on with the settings of
this machine, and not with those that it brings: what is different is shown, and
asked about once ("plan trust RUN"). A run that is there already is left alone if it
is the same, and refused if it is not.`,
		Example: `  plan journal import run.jsonl`,
		Args:    oneArg("the name of a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := plainfile.Open(args[0])
			if err != nil {
				return fmt.Errorf("import a run: %w", err)
			}
			defer file.Close() //nolint:errcheck // only read
			return a.importRun(cmd.Context(), file)
		},
	}
}

func (a *app) importRun(ctx context.Context, file io.ReadSeeker) error {
	run, err := a.host.Import(ctx, file)
	if err != nil {
		return err
	}
	document := map[string]any{
		"id":      run.Run,
		"events":  run.Events,
		"blobs":   run.Blobs,
		"already": run.Existed,
		"state":   run.State,
	}
	err = a.answer(document, func(w io.Writer) error { return render.Imported(w, run) })
	if err == nil && run.NoRepo && !run.Existed && !a.json {
		a.note(fmt.Sprintf("its repository (%s) is not here, so it cannot be resumed", run.Repo))
	}
	return err
}
