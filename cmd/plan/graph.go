package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/memory"
)

func (a *app) graphCommand() *cobra.Command {
	var run string
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Draw the workflow as Mermaid, or the way a run took through it",
		Example: `  plan graph > workflow.mmd
  plan graph --run 01JX`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if run == "" {
				return a.drawing(engine.Mermaid(nil))
			}
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				id, err := a.host.Resolve(ctx, run)
				if err != nil {
					return err
				}
				folded, err := host.Fold(ctx, db, id, nil)
				if err != nil {
					return err
				}
				return a.drawing(engine.Mermaid(folded.Moves))
			})
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "mark the way that `RUN` took")
	return cmd
}

func (a *app) drawing(mermaid string) error {
	return a.answer(map[string]string{"mermaid": mermaid}, func(w io.Writer) error {
		return render.WriteLines(w, []string{strings.TrimRight(mermaid, "\n")})
	})
}
