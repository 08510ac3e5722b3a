package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/face/render"
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
			repo, err := openRepo(cmd.Context(), a.dir)
			if err != nil {
				return err
			}
			paths, err := config.FindHome(a.getenv)
			if err != nil {
				return failed(err)
			}
			t := trusting{
				app:   a,
				store: a.trustStore(paths),
				root:  repo.Root(),
			}
			switch {
			case revoke:
				return t.revoke(cmd.Context())
			case list:
				return t.list()
			}
			return t.decide(cmd.Context(), yes)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "trust all of it as it is now")
	cmd.Flags().BoolVar(&list, "list", false, "only look")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "forget every yes for this repository")
	cmd.MarkFlagsMutuallyExclusive("yes", "list", "revoke")
	return cmd
}

// trusting is a person who looks at what a repository wants.
type trusting struct {
	app   *app
	store *trust.Store
	root  string
}

// items lists all that needs a yes, with what was said so far.
func (t trusting) items() ([]trust.Item, error) {
	items, err := config.Claims(t.root)
	if err != nil {
		return nil, failed(err)
	}
	skills, err := trust.Skills(t.root)
	if err != nil {
		return nil, failed(err)
	}
	items = append(items, skills...)
	for i, it := range items {
		if items[i].Trusted, err = t.store.Trusted(t.root, it.Kind, it.Path, it.Digest); err != nil {
			return nil, failed(err)
		}
	}
	return items, nil
}

func (t trusting) list() error {
	items, err := t.items()
	if err != nil {
		return err
	}
	return t.report(items)
}

// report shows the items, as a document or for people.
func (t trusting) report(items []trust.Item) error {
	if t.app.json {
		if items == nil {
			items = []trust.Item{}
		}
		return t.app.document(map[string]any{"repo": t.root, "items": items})
	}
	if len(items) == 0 {
		fmt.Fprintln(t.app.out, "nothing here needs trust")
	}
	for _, it := range items {
		writeItem(t.app.out, it)
	}
	return nil
}

func writeItem(to io.Writer, it trust.Item) {
	state := "not trusted"
	if it.Trusted {
		state = "trusted"
	}
	digest := it.Digest[:min(12, len(it.Digest))]
	fmt.Fprintf(to, "%-11s  %-6s  %-12s  %s\n", state, it.Kind, digest, render.SafeLine(it.Path))
	for line := range strings.Lines(render.SafeText(it.Detail)) {
		fmt.Fprintf(to, "             %s\n", strings.TrimRight(line, "\n"))
	}
}

// decide asks about each item that is not trusted, or takes a yes for all.
func (t trusting) decide(ctx context.Context, yes bool) error {
	items, err := t.items()
	if err != nil {
		return err
	}
	left := 0
	for i, it := range items {
		if it.Trusted {
			continue
		}
		if it.Digest == "" || (!yes && !t.ask(ctx, it)) {
			left++
			continue
		}
		if err := t.store.Trust(ctx, t.root, it); err != nil {
			return failed(err)
		}
		items[i].Trusted = true
	}
	if err := t.report(items); err != nil {
		return err
	}
	switch {
	case left == 0:
		return nil
	case yes:
		return failed(fmt.Errorf("%d of %d cannot be trusted as they are; the list says why", left, len(items)))
	case t.app.interactive():
		return nil // the person said no
	}
	return &exit{
		code: plan.ExitWaiting,
		err: &advice{
			fmt.Sprintf("%d of %d are not trusted", left, len(items)), "Look at them, then: plan trust --yes",
		},
	}
}

// ask puts one item to the person, if there is one.
func (t trusting) ask(ctx context.Context, it trust.Item) bool {
	if !t.app.interactive() {
		return false
	}
	writeItem(t.app.out, it)
	fmt.Fprint(t.app.out, "Trust it as it is now? y or n: ")
	line, ok := t.app.readLine(ctx)
	line = strings.ToLower(line)
	return ok && (line == "y" || line == "yes")
}

func (t trusting) revoke(ctx context.Context) error {
	n, err := t.store.Revoke(ctx, t.root)
	if err != nil {
		return failed(err)
	}
	if t.app.json {
		return t.app.document(map[string]any{"repo": t.root, "revoked": n})
	}
	fmt.Fprintf(t.app.out, "%d revoked\n", n)
	return nil
}
