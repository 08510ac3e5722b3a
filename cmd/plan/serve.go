package main

import (
	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/cmd/plan/machines"
	"github.com/plan-engine/plan/cmd/plan/serveflags"
	"github.com/plan-engine/plan/face/web"
)

func (a *app) serveCommand() *cobra.Command {
	var flags serveflags.Flags
	var queue string
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Serve pages and an API on which runs are watched, decided and begun",
		Long:    serveflags.Long,
		Example: serveflags.Example,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := flags.Options(cmd, a.dir)
			if err != nil {
				return err
			}
			ctx, release := a.interruptible(cmd.Context())
			defer release()
			var end func()
			if o.Queue, end, err = a.machines().Open(ctx, queue); err != nil {
				return err
			}
			defer end()
			return web.Serve(ctx, a.host, o, func(s web.Served) error {
				return a.answer(s, flags.Told(s, a.note))
			})
		},
	}
	flags.Register(cmd)
	machines.AddFlag(cmd, &queue)
	return cmd
}
