package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/cmd/plan/render"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/model/catalog"
	"github.com/plan-engine/plan/model/provider"
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
and its prices. With --offered, or with the name of a provider, the servers are
asked for what they offer. With --providers it lists the providers that can be
named without any settings but a key.`,
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
	servers := a.servers(cfg, nil, nil)
	defer servers.Close()
	rows, err := usedModels(cfg, servers)
	if err != nil {
		return err
	}
	if name != "" {
		rows = slices.DeleteFunc(rows, func(r modelRow) bool { return r.Provider != name })
	}
	if offered {
		rows = append(rows, a.offeredModels(ctx, servers, rows, name, cfg)...)
	}
	return a.showModels(rows)
}

// usedModels are the models that a run would use, and for what.
func usedModels(cfg config.Config, servers *provider.Set) ([]modelRow, error) {
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
		row := rowOf(servers, name)
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
func rowOf(servers *provider.Set, name string) modelRow {
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
	if !place.NoKey && !servers.HasKey(place.Provider) && !place.Usual {
		row.Problem = "no key: set " + place.KeyFrom
	}
	return row
}

// offeredModels asks the servers of the rows, or of one provider, at once.
func (a *app) offeredModels(ctx context.Context, servers *provider.Set, used []modelRow, name string, cfg config.Config) []modelRow {
	names := []string{name}
	if name == "" {
		names = nil
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
	}
	lists := make([][]modelRow, len(names))
	var asking sync.WaitGroup
	for i, p := range names {
		asking.Go(func() { lists[i] = offersOf(ctx, servers, p) })
	}
	asking.Wait()
	var out []modelRow
	for _, r := range slices.Concat(lists...) {
		if !slices.ContainsFunc(used, func(u modelRow) bool { return u.Name == r.Name && r.Problem == "" }) {
			out = append(out, r)
		}
	}
	return out
}

// offersOf lists what one provider offers; a row with a problem where it does not
// say.
func offersOf(ctx context.Context, servers *provider.Set, name string) []modelRow {
	offers, err := servers.Offers(ctx, name)
	if err != nil {
		return []modelRow{{Provider: name, Problem: err.Error()}}
	}
	var out []modelRow
	for _, o := range offers {
		whole := o.Name
		if name != "" {
			whole = name + "/" + o.Name
		}
		row := rowOf(servers, whole)
		row.Offered = true
		if o.Window > 0 {
			row.Window = o.Window
		}
		out = append(out, row)
	}
	return out
}

func (a *app) showModels(rows []modelRow) error {
	if a.json {
		return a.document(append([]modelRow{}, rows...))
	}
	if len(rows) == 0 {
		return failed(errNoModelName)
	}
	table := [][]string{{"MODEL", "PROVIDER", "WIRE", "WINDOW", "USD PER MILLION IN/CACHED/OUT", "USED BY"}}
	for _, r := range rows {
		window, price := "?", "?"
		if r.Window > 0 {
			window = render.Tokens(r.Window)
		}
		if r.Priced {
			price = fmt.Sprintf("%g/%g/%g", r.InputUSD, r.CachedUSD, r.OutputUSD)
		}
		use := strings.Join(r.UsedBy, ", ")
		if r.Problem != "" {
			use = strings.TrimPrefix(use+"; "+r.Problem, "; ")
		}
		table = append(table, []string{r.Name, r.Provider, r.Wire, window, price, use})
	}
	return a.columns(table)
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
		table = append(table, []string{p.Name, p.Wire, key, fmt.Sprint(p.Models), p.BaseURL})
	}
	return a.columns(table)
}

// columns writes rows with their cells under each other; those at the indexes
// that are named are set to the right.
func (a *app) columns(rows [][]string, right ...int) error {
	look := render.NewLook(a.viewing())
	return failed(render.UnlessReaderLeft(render.WriteLines(a.out, look.Columns(rows, right...))))
}
