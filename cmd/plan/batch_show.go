package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/face/render"
)

func (a *app) batchListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the batches, newest first",
		Example: "  plan batch list\n  plan batch list --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := a.batches().List(cmd.Context())
			if err != nil {
				return err
			}
			return a.answer(list, func(w io.Writer) error {
				return render.UnlessReaderLeft(render.Batches(w, list, a.now()))
			})
		},
	}
}

// batchShowCommand makes show, which lists the jobs, and status, which lists
// only those that are not approved or not finished.
func (a *app) batchShowCommand(name string) *cobra.Command {
	short := "Show a batch with all its jobs"
	long := "Show lists every job of a batch. Without BATCH it takes the newest."
	if name == "status" {
		short = "Say how a batch stands"
		long = "Status says how many jobs are how far, and lists those that run, wait or have failed.\n" +
			"Without BATCH it takes the newest."
	}
	return &cobra.Command{
		Use:     name + " [BATCH]",
		Short:   short,
		Long:    long,
		Example: fmt.Sprintf("  plan batch %s\n  plan batch %s 01JX --json", name, name),
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.batches().Show(cmd.Context(), strings.Join(args, ""))
			if err != nil {
				return err
			}
			return a.answer(b, func(w io.Writer) error {
				return render.UnlessReaderLeft(render.Batch(w, b, name == "status"))
			})
		},
	}
}

func (a *app) batchReportCommand() *cobra.Command {
	var format, file string
	cmd := &cobra.Command{
		Use:   "report [BATCH]",
		Short: "Tell what came of a batch, job by job",
		Long: `Report says of each job how it ended, what it changed, what the checks and the
reviewer said, what it cost, and of each that was not approved, why. Without
BATCH it takes the newest. The HTML page needs nothing beside itself.`,
		Example: `  plan batch report
  plan batch report 01JX --format html -o report.html
  plan batch report 01JX --format junit -o junit.xml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.json && !cmd.Flags().Changed("format") {
				format = "json"
			}
			if !slices.Contains(batch.Formats(), format) {
				return usage("--format %q: the formats are %s", format, strings.Join(batch.Formats(), ", "))
			}
			report, err := a.batches().Report(cmd.Context(), strings.Join(args, ""))
			if err != nil {
				return err
			}
			var out bytes.Buffer
			if err := report.Write(&out, format); err != nil {
				return err
			}
			if file != "" && file != "-" {
				return os.WriteFile(file, out.Bytes(), 0o644)
			}
			_, err = io.Copy(a.out, &out)
			return render.UnlessReaderLeft(err)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "`FORMAT` text, markdown, json, junit or html")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write it to `FILE`")
	return cmd
}
