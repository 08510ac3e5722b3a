package main

import (
	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/cmd/plan/build"
	"github.com/plan-engine/plan/cmd/plan/runflags"
	"github.com/plan-engine/plan/face/acp"
)

func (a *app) acpCommand() *cobra.Command {
	var flags runflags.Flags
	options := acp.Options{
		Version: build.Version(),
		Log:     a.err,
	}
	cmd := &cobra.Command{
		Use:   "acp",
		Short: "Drive runs from an editor, over the Agent Client Protocol",
		Long: `Acp speaks the Agent Client Protocol on standard input and output: an editor starts
it and sends it what you type. A prompt is a run; while it goes on a prompt is
guidance, and after its end one that continues it. What waits for you is asked as a
permission. A session is in the journal: load it after a crash, or resume the run
with "plan resume". When the editor leaves, its runs park, unless --stay is given.
How an editor is set up stands in docs/agents.md.`,
		Example: `  plan acp
  plan acp --check "go test ./..." --max-cost 2
  plan acp --stay                            runs go on when the editor is closed`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if options.Run, err = flags.Options(cmd); err != nil {
				return err
			}
			ctx, release := a.interruptible(cmd.Context())
			defer release()
			return acp.Serve(ctx, a.host, a.in, a.out, options)
		},
	}
	flags.Register(cmd)
	cmd.Flags().BoolVar(&options.Stay, "stay", false,
		"go on with runs when the editor has left, until they end or park")
	return cmd
}
