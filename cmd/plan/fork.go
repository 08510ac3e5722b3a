package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/face/render"
)

func (a *app) forkCommand() *cobra.Command {
	var at int64
	var request string
	cmd := &cobra.Command{
		Use:   "fork RUN --at SEQ",
		Short: "Begin a new run in the middle of another one",
		Long: `Fork makes a run whose journal begins as that of RUN does, up to an event, and
gives it a work tree of its own with the files as they were then. It is cut at
the last moment before that event from which a run can go on: a move from one
phase to the next, or the end of a turn of a phase that only reads. What RUN
spent until then is shown, but does not count towards the new run.

The new run is parked; "plan resume" goes on with it, "plan tell" or --request
sends it another way.`,
		Example: `  plan show 01JX --events                find the moment
  plan fork 01JX --at 57
  plan fork 01JX --at 57 --request "Keep the old flag working as well"`,
		Args: oneArg("the id of a run, or latest"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if at < 1 {
				return usage("fork needs --at SEQ: the seq of an event, as `plan show --events` shows it")
			}
			id, err := a.runOf(cmd.Context(), args)
			if err != nil {
				return err
			}
			ctx, stop := a.interruptible(cmd.Context())
			defer stop()
			forked, err := a.host.Fork(ctx, id, at, strings.TrimSpace(request))
			if err != nil {
				return err
			}
			return a.answer(forked, func(w io.Writer) error { return render.Forked(w, forked) })
		},
	}
	cmd.Flags().Int64Var(&at, "at", 0, "the `SEQ` of the event to begin at")
	cmd.Flags().StringVar(&request, "request", "",
		"a further request, given to the implementer when it would otherwise be done")
	return cmd
}
