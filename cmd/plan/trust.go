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
	"github.com/plan-engine/plan/worktree"
)

func (a *app) trustCommand() *cobra.Command {
	var yes, list, revoke bool
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "See what a repository wants to do on your machine, and allow it",
		Long: `A repository may come with settings that loosen something, hooks, skills and MCP
servers. None of them count until you have trusted them, each as it is now: what
has changed asks again. What only tightens limits and permissions needs no
trust.

A hook is trusted together with the files of the repository that its command
names, and with all of ` + trust.HookFolder + `.

Exit code 4 says that something is not trusted and nobody was there to ask.`,
		Example: `  plan trust              look, and say yes or no to each
  plan trust --list       only look
  plan trust --yes        trust all of it as it is now
  plan trust --revoke     trust none of it any more`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			repo, err := worktree.Open(cmd.Context(), a.dir)
			if err != nil {
				return err
			}
			t, err := a.host.Trust(repo.Root())
			if err != nil {
				return err
			}
			switch {
			case revoke:
				n, err := t.Revoke(cmd.Context())
				if err != nil {
					return err
				}
				document := map[string]any{"repo": repo.Root(), "revoked": n}
				return a.answer(document, func(w io.Writer) error { return render.TrustRevoked(w, n) })
			case list:
				items, err := t.Items()
				if err != nil {
					return err
				}
				return a.showTrust(repo.Root(), items)
			}
			return a.decideTrust(cmd.Context(), t, repo.Root(), yes)
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
	items, left, err := t.Decide(ctx, func(it trust.Item) bool { return yes || a.askTrust(ctx, it) })
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

// askTrust puts one item to the person, if there is one.
func (a *app) askTrust(ctx context.Context, it trust.Item) bool {
	if !a.interactive() {
		return false
	}
	a.terminal().Discard() // what was typed before is no answer
	render.TrustQuestion(a.out, it)
	line, ok := a.terminal().ReadLine(ctx)
	line = strings.ToLower(line)
	return ok && (line == "y" || line == "yes")
}
