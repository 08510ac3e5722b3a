package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/cmd/plan/runflags"
	"github.com/plan-engine/plan/host"
)

func (a *app) askCommand() *cobra.Command {
	var flags runflags.Flags
	var goesOn bool
	cmd := &cobra.Command{
		Use:   "ask [QUESTION|-]",
		Short: "Answer a question about a repository, and change nothing",
		Long: `Ask has Explore alone look at the repository and answer. There is no plan, and
nothing is changed: what commands write is thrown away.

The question is the argument, or standard input with "-". With --continue it goes
on from the newest answer about this repository, as a run of its own.`,
		Example: `  plan ask "Where is the retry limit decided, and who can change it?"
  plan ask --continue "And which test covers that?"
  plan show 01JX --report                    the answer alone`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			req := host.Request{Dir: a.dir, Aim: plan.AimAsk}
			if req.Options, err = flags.Options(cmd); err != nil {
				return err
			}
			if req.Text, err = a.request(args, `plan ask "Where is the retry limit decided?"`); err != nil {
				return err
			}
			if goesOn {
				if err := a.host.ContinueAnswer(cmd.Context(), &req); err != nil {
					return err
				}
			}
			return a.drive(cmd.Context(), func(ctx context.Context, face host.Face) (host.End, error) {
				return a.host.Run(ctx, req, face)
			})
		},
	}
	flags.RegisterLooking(cmd)
	cmd.Flags().BoolVar(&goesOn, "continue", false, "go on from the newest answer about this repository")
	return cmd
}
