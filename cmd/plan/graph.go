package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/face/render"
)

func (a *app) graphCommand() *cobra.Command {
	var run string
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Draw the workflow as Mermaid, or the way a run took through it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.showGraph(cmd.Context(), run)
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "mark the way that `RUN` took")
	return cmd
}

// showGraph draws the workflow, with the way that a run took where one is named.
func (a *app) showGraph(ctx context.Context, run string) error {
	mermaid, err := a.host.Graph(ctx, run)
	if err != nil {
		return err
	}
	return a.answer(map[string]string{"mermaid": mermaid}, func(w io.Writer) error {
		return render.WriteLines(w, []string{strings.TrimRight(mermaid, "\n")})
	})
}
