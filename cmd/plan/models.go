package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host/connect"
	"github.com/plan-engine/plan/model/catalog"
)

func (a *app) modelsCommand() *cobra.Command {
	var offered, all bool
	cmd := &cobra.Command{
		Use:   "models [PROVIDER]",
		Short: "List the models that phases use, and what providers offer",
		Long: `Models lists what each phase uses: the model, its provider and wire, its window
in tokens, and its prices in USD per million tokens of input, of input read from
a prompt cache and written to one, and of output. "?" is not known, "-" is as
input. Where neither a key nor a base URL is set, it looks for a server on this
machine, as a run does.

With --offered, or with the name of a provider, the servers are asked for what
they offer; so is the one of the settings where no model is named yet. With
--providers it lists the providers that can be named without any settings but a
key.`,
		Example: `  plan models
  plan models --offered
  plan models openrouter
  plan models --providers`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all {
				return a.listProviders()
			}
			name := ""
			if len(args) > 0 {
				name, offered = args[0], true
			}
			return a.listModels(cmd.Context(), name, offered)
		},
	}
	cmd.Flags().BoolVar(&offered, "offered", false, "ask the servers what they offer")
	cmd.Flags().BoolVar(&all, "providers", false, "list the providers that are known")
	return cmd
}

// listModels lists the models that are used, or those of a provider, and with
// offered what the servers have. Where no model is named yet, they are always
// asked.
func (a *app) listModels(ctx context.Context, name string, offered bool) error {
	cfg, _, err := a.host.SettingsAt(ctx, a.dir)
	if err != nil {
		return err
	}
	connector := a.host.Connector(ctx, a.dir)
	if name == "" {
		if err := connector.DiscoverIfNeeded(ctx, &cfg); err != nil {
			return err
		}
		if cfg.Model == "" && !offered {
			fmt.Fprintln(a.err, "plan: no model is named; this is what is offered. "+
				"Name one with --model, PLAN_MODEL, or `model = \"…\"` in config.toml.")
			offered = true
		}
	}
	models, err := connector.Models(ctx, cfg, name, offered)
	switch {
	case err != nil:
		return err
	case len(models) == 0 && !a.json:
		return connect.ErrNoModelName
	}
	models = append([]connect.Model{}, models...)
	return a.view(models, func(w io.Writer) error { return render.Models(w, models, a.viewing()) })
}

// listProviders lists the providers of the catalogue.
func (a *app) listProviders() error {
	providers := catalog.New(nil).Providers()
	isSet := func(name string) bool { return a.getenv(name) != "" }
	return a.view(providers, func(w io.Writer) error { return render.Providers(w, providers, isSet, a.viewing()) })
}
