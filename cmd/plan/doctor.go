package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/doctor"
)

func (a *app) doctorCommand() *cobra.Command {
	var onlyDB bool
	var probe doctor.Probe
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what plan needs, and say what to do about what is missing",
		Long: `Doctor checks git, the shell, what the kernel offers for walls, the database, the
configuration and the models: the model of each phase is asked to call a tool and
then to answer, as a run does, which costs a few hundred tokens. It exits with 1
if something that plan needs is missing.

With --provider it looks at that provider alone, and asks the model that a phase
uses there, the one that --model names, or the first that the server offers. With
--record it keeps what was said, without keys, in a file that can be sent with a
bug report and played again.

With --db it looks at the database alone, and reads all of it: the structure of
the file, the hash chain of every journal, every blob, and every other row. Rows
of an earlier program have no sum that proves them until gc has given them one.`,
		Example: `  plan doctor
  plan doctor --db
  plan doctor --provider deepseek --record deepseek.jsonl
  plan -C ../other doctor --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			doc := doctor.New(cmd.Context(), a.host, a.dir)
			switch {
			case onlyDB:
				return a.showFindings(doc.AuditDB(cmd.Context(), a.progress().Of("checked", "runs")))
			case probe.Provider != "":
				return a.showFindings(doc.Models(cmd.Context(), probe))
			}
			return a.showFindings(doc.All(cmd.Context(), probe))
		},
	}
	cmd.Flags().BoolVar(&onlyDB, "db", false, "only the database, and all of it")
	cmd.Flags().StringVar(&probe.Provider, "provider", "", "only the provider `NAME`")
	cmd.Flags().StringVar(&probe.Model, "model", "", "`NAME` of the model to ask")
	cmd.Flags().StringVar(&probe.Record, "record", "", "keep what was said in `FILE`")
	cmd.MarkFlagsMutuallyExclusive("db", "provider")
	cmd.MarkFlagsMutuallyExclusive("db", "record")
	return cmd
}

// showFindings shows what was found, and fails if something that is needed is
// missing.
func (a *app) showFindings(findings []doctor.Finding) error {
	healthy := doctor.Healthy(findings)
	document := map[string]any{"ok": healthy, "findings": findings}
	if err := a.answer(document, func(w io.Writer) error { return render.Findings(w, findings) }); err != nil {
		return err
	}
	if !healthy {
		return exitWith(plan.ExitFailed)
	}
	return nil
}

// progressEvery is how often long work says how far it is.
const progressEvery = 2 * time.Second

// progress says now and then how far long work is.
func (a *app) progress() host.Progress {
	last := a.now()
	return func(did string, done, total int, unit string) {
		if now := a.now(); now.Sub(last) >= progressEvery {
			last = now
			fmt.Fprintf(a.err, "plan: %s %d of %d %s\n", did, done, total, unit)
		}
	}
}
