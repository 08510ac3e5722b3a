package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/model/catalog"
	"github.com/plan-engine/plan/model/provider"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/worktree"
)

// modelRow is a model as `plan models` shows it.
type modelRow struct {
	Name     string `json:"name"` // as the settings write it
	Provider string `json:"provider"`
	Wire     string `json:"wire"`
	Window   int64  `json:"window,omitempty"` // tokens; 0: not known
	// Prices are USD per million tokens.
	Priced        bool    `json:"priced"`
	InputUSD      float64 `json:"input_usd,omitempty"`
	CachedUSD     float64 `json:"cached_usd,omitempty"`
	CacheWriteUSD float64 `json:"cache_write_usd,omitempty"`
	OutputUSD     float64 `json:"output_usd,omitempty"`
	// UsedBy are the phases that use it, "summary", "sub-agent" and escalations.
	UsedBy []string `json:"used_by,omitempty"`
	// Offered says that the server lists it.
	Offered bool   `json:"offered,omitempty"`
	Problem string `json:"problem,omitempty"`
}

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

func (a *app) listModels(ctx context.Context, name string, offered bool) error {
	root := ""
	if repo, err := worktree.Open(ctx, a.dir); err == nil {
		root = repo.Root()
	}
	cfg, err := a.settings(root, config.Config{})
	if err != nil {
		return err
	}
	if name == "" {
		if err := a.lookAround(ctx, &cfg, &offered); err != nil {
			return err
		}
	}
	servers := a.servers(cfg, nil, nil)
	defer servers.Close()
	rows, err := a.usedModels(cfg, servers)
	if err != nil {
		return err
	}
	if name != "" {
		rows = slices.DeleteFunc(rows, func(r modelRow) bool { return r.Provider != name })
	}
	if !offered {
		return a.showModels(rows)
	}
	names := []string{name}
	if name == "" {
		names = toAsk(cfg, servers, rows)
	}
	lists, err := a.offeredModels(ctx, servers, names)
	if err != nil && name != "" {
		return failed(err)
	}
	return a.showModels(joinModels(rows, lists))
}

// lookAround finds a server on this machine where a run would, and has the server
// of the settings asked where they name no model.
func (a *app) lookAround(ctx context.Context, cfg *config.Config, offered *bool) error {
	servers := a.servers(*cfg, nil, nil)
	defer servers.Close()
	if a.nowhere(*cfg, servers) {
		if err := a.discover(ctx, cfg); err != nil && cfg.Model == "" {
			return err
		}
	}
	if cfg.Model == "" && !*offered {
		fmt.Fprintln(a.err, "plan: no model is named; this is what is offered. "+
			"Name one with --model, PLAN_MODEL, or `model = \"…\"` in config.toml.")
		*offered = true
	}
	return nil
}

// usedModels are the models that a run would use, and for what.
func (a *app) usedModels(cfg config.Config, servers *provider.Set) ([]modelRow, error) {
	route, _, err := routeOf(cfg)
	if err != nil {
		return nil, err
	}
	var rows []modelRow
	add := func(name, use string) {
		if name == "" {
			return
		}
		for i := range rows {
			if rows[i].Name == name {
				rows[i].UsedBy = append(rows[i].UsedBy, use)
				return
			}
		}
		row := a.rowOf(servers, name)
		row.UsedBy = []string{use}
		rows = append(rows, row)
	}
	models := modelsOf(cfg)
	for _, p := range append(plan.Phases(), plan.Critique) {
		add(models[p], string(p))
	}
	for _, p := range plan.Phases() {
		add(route.Escalate[p], string(p)+" (escalated)")
	}
	add(route.Summary, "summary")
	add(route.SubAgent, "sub-agent")
	return rows, nil
}

// rowOf is what is known of a model beforehand.
func (a *app) rowOf(servers *provider.Set, name string) modelRow {
	row := modelRow{Name: name}
	place, err := servers.Place(name)
	if err != nil {
		row.Problem = err.Error()
		return row
	}
	entry, _ := servers.Entry(name)
	row.Provider, row.Wire, row.Window = place.Provider, place.Wire, servers.Window(name)
	row.Priced = entry.Priced
	row.InputUSD, row.CachedUSD, row.CacheWriteUSD, row.OutputUSD = entry.InputUSD, entry.CachedUSD, entry.WriteUSD, entry.OutputUSD
	if !place.NoKey && place.KeyFrom != "command" && a.getenv(place.KeyFrom) == "" {
		row.Problem = "no key: set " + place.KeyFrom
	}
	return row
}

// toAsk are the providers of the models that are used, and those of the settings.
// Where no model is named, the default provider is one of them.
func toAsk(cfg config.Config, servers *provider.Set, used []modelRow) []string {
	var names []string
	if len(used) == 0 {
		names = append(names, "")
	}
	for _, r := range used {
		if p := servers.Provider(r.Name); r.Problem == "" && !slices.Contains(names, p) {
			names = append(names, p)
		}
	}
	for p := range cfg.Providers {
		if !slices.Contains(names, p) {
			names = append(names, p)
		}
	}
	slices.Sort(names)
	return names
}

// offeredModels asks the servers of providers at once. One that does not say has
// a row with its problem; the error is the first of them.
func (a *app) offeredModels(ctx context.Context, servers *provider.Set, names []string) ([]modelRow, error) {
	lists := make([][]modelRow, len(names))
	wrong := make([]error, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		asking.Go(func() { lists[i], wrong[i] = a.offersOf(ctx, servers, name) })
	}
	asking.Wait()
	for i, err := range wrong {
		if err != nil {
			lists[i] = []modelRow{{Provider: cmp.Or(names[i], provider.Default), Problem: err.Error()}}
		}
	}
	return slices.Concat(lists...), cmp.Or(wrong...)
}

// offersOf lists what one provider offers, by name.
func (a *app) offersOf(ctx context.Context, servers *provider.Set, name string) ([]modelRow, error) {
	offers, err := servers.Offers(ctx, name)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(offers, func(x, y wire.Offer) int { return cmp.Compare(x.Name, y.Name) })
	var out []modelRow
	for _, o := range offers {
		whole := o.Name
		if name != "" {
			whole = name + "/" + o.Name
		}
		row := a.rowOf(servers, whole)
		row.Offered = true
		if o.Window > 0 {
			row.Window = o.Window
		}
		switch {
		case o.Chat != nil && !*o.Chat:
			row.Problem = "does not chat"
		case o.Tools != nil && !*o.Tools:
			row.Problem = "cannot call tools"
		}
		out = append(out, row)
	}
	return out, nil
}

// joinModels puts what is offered behind what is used. Of a model that is both, the
// server's word counts.
func joinModels(used, offered []modelRow) []modelRow {
	for _, o := range offered {
		at := slices.IndexFunc(used, func(u modelRow) bool { return o.Offered && u.Name == o.Name })
		if at < 0 {
			used = append(used, o)
			continue
		}
		u := &used[at]
		u.Offered, u.Window = true, o.Window
		u.Problem = cmp.Or(u.Problem, o.Problem)
	}
	return used
}

func (a *app) showModels(rows []modelRow) error {
	if a.json {
		return a.document(append([]modelRow{}, rows...))
	}
	if len(rows) == 0 {
		return failed(errNoModelName)
	}
	table := [][]string{{"MODEL", "PROVIDER", "WIRE", "WINDOW", "$ IN", "CACHED", "WRITTEN", "OUT", "USED BY"}}
	for _, r := range rows {
		table = append(table, r.cells())
	}
	return a.columns(table, 3, 4, 5, 6, 7)
}

// cells are those of a row as people see it.
func (r modelRow) cells() []string {
	use := strings.Join(r.UsedBy, ", ")
	if r.Problem != "" {
		use = strings.TrimPrefix(use+"; "+r.Problem, "; ")
	}
	if r.Name == "" { // its provider does not say what it has
		return []string{"", r.Provider, "", "", "", "", "", "", use}
	}
	window := "?"
	if r.Window > 0 {
		window = render.Tokens(r.Window)
	}
	price := func(usd float64) string {
		switch {
		case !r.Priced:
			return "?"
		case usd == 0 && r.InputUSD > 0:
			return "-"
		}
		return fmt.Sprint(usd)
	}
	return []string{
		r.Name,
		r.Provider,
		r.Wire,
		window,
		price(r.InputUSD),
		price(r.CachedUSD),
		price(r.CacheWriteUSD),
		price(r.OutputUSD),
		use,
	}
}

// listProviders lists the providers of the catalogue.
func (a *app) listProviders() error {
	providers := catalog.New(nil).Providers()
	if a.json {
		return a.document(providers)
	}
	table := [][]string{{"PROVIDER", "WIRE", "KEY", "MODELS", "BASE URL"}}
	for _, p := range providers {
		key := p.KeyEnv
		if key != "" && a.getenv(key) != "" {
			key += " (set)"
		}
		where := cmp.Or(p.BaseURL, "(set base_url in [providers."+p.Name+"])")
		table = append(table, []string{p.Name, p.Wire, key, fmt.Sprint(p.Models), where})
	}
	return a.columns(table, 3)
}

// columns writes rows with their cells under each other; those at the indexes
// that are named are set to the right.
func (a *app) columns(rows [][]string, right ...int) error {
	look := render.NewLook(a.viewing())
	return failed(render.UnlessReaderLeft(render.WriteLines(a.out, look.Columns(rows, right...))))
}
