package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/hint"
)

func (a *app) trustCommand() *cobra.Command {
	var yes, list, revoke bool
	cmd := &cobra.Command{
		Use:   "trust [RUN]",
		Short: "See what a repository wants to do on your machine, and allow it",
		Long: `A repository may come with settings that loosen something, hooks, skills and
servers of tools (.mcp.json), and name folders outside of it that its commands are
to read. None of them count until you have trusted them, each as it is now: what
has changed asks again. What only tightens limits and permissions needs no trust.

A hook or a server is trusted together with the files of the repository that its
command names, and with all of ` + trust.HookFolder + `. Tools that a server of yours has changed
since they were accepted, and those that speak to the model, are asked about here too.

With RUN it is about a run that was begun elsewhere and imported: it shows what it
was begun with that is different here, and allows it to go on under what holds here.

Exit code 4 says that something is not trusted and nobody was there to ask.`,
		Example: `  plan trust              look, and say yes or no to each
  plan trust --list       only look
  plan trust --yes        trust all of it as it is now
  plan trust --revoke     trust none of it any more
  plan trust 01JX         let an imported run go on here`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.host.TrustOf(cmd.Context(), a.dir, strings.Join(args, ""))
			if err != nil {
				return err
			}
			switch {
			case revoke:
				n, err := t.Revoke(cmd.Context())
				if err != nil {
					return err
				}
				document := map[string]any{"repo": t.Root(), "revoked": n}
				return a.answer(document, func(w io.Writer) error { return render.TrustRevoked(w, n) })
			case list:
				items, err := t.Items()
				if err != nil {
					return err
				}
				return a.showTrust(t.Root(), items)
			}
			return a.decideTrust(cmd.Context(), t, t.Root(), yes)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "trust all of it as it is now")
	cmd.Flags().BoolVar(&list, "list", false, "only look")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "forget every yes for this repository")
	cmd.MarkFlagsMutuallyExclusive("yes", "list", "revoke")
	return cmd
}

// showTrust shows what a repository wants, and what of it is trusted.
func (a *app) showTrust(repo string, items []trust.Item) error {
	items = append([]trust.Item{}, items...)
	document := map[string]any{"repo": repo, "items": items}
	return a.answer(document, func(w io.Writer) error { return render.TrustItems(w, items) })
}

// decideTrust asks about each item that is not trusted, or takes a yes for all.
func (a *app) decideTrust(ctx context.Context, t host.Trust, repo string, yes bool) error {
	ask := func(item trust.Item) bool { return yes || a.interactive() && a.terminal().Trust(ctx, item) }
	items, left, err := t.Decide(ctx, ask)
	if err != nil {
		return err
	}
	if err := a.showTrust(repo, items); err != nil {
		return err
	}
	switch {
	case left == 0:
		return nil
	case yes:
		return fmt.Errorf("%d of %d cannot be trusted as they are; the list says why", left, len(items))
	case a.interactive():
		return nil // the person said no
	}
	return &exit{
		code: plan.ExitWaiting,
		err: hint.New(
			fmt.Sprintf("%d of %d are not trusted", left, len(items)), "Look at them, then: plan trust --yes",
		),
	}
}
