package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/memory"
	"github.com/spf13/cobra"
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
				id, err := findRun(ctx, db, run)
				if err != nil {
					return err
				}
				folded, err := foldRun(ctx, db, id, nil)
				if err != nil {
					return failed(err)
				}
				return a.drawing(engine.Mermaid(folded.Moves))
			})
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "mark the way that `RUN` took")
	return cmd
}

func (a *app) drawing(mermaid string) error {
	if a.json {
		return a.document(map[string]string{"mermaid": mermaid})
	}
	_, err := fmt.Fprint(a.out, strings.TrimRight(mermaid, "\n")+"\n")
	return failed(err)
}
