package connect

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/model/provider"
	"github.com/plan-engine/plan/model/wire"
)

// Model is a model that settings use or a server offers, and what is known of it.
type Model struct {
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

// Models lists the models that settings use, those of one provider where it is
// named. With offered the servers are asked for what they offer, too; where one
// that was not named does not say, that is the problem of its row.
func (c Connector) Models(ctx context.Context, cfg config.Config, name string, offered bool) ([]Model, error) {
	servers := c.Servers(cfg, nil, nil)
	defer servers.Close()
	rows, err := c.modelsInUse(cfg, servers)
	if err != nil {
		return nil, err
	}
	if name != "" {
		rows = slices.DeleteFunc(rows, func(m Model) bool { return m.Provider != name })
	}
	if !offered {
		return rows, nil
	}
	names := []string{name}
	if name == "" {
		names = providersToAsk(cfg, servers, rows)
	}
	lists, err := c.offeredModels(ctx, servers, names)
	if err != nil && name != "" {
		return nil, err
	}
	return joinModels(rows, lists), nil
}

// DiscoverIfNeeded finds a server on this machine where a run would. That there is
// none is an error only where the settings name no model.
func (c Connector) DiscoverIfNeeded(ctx context.Context, cfg *config.Config) error {
	servers := c.Servers(*cfg, nil, nil)
	defer servers.Close()
	if !c.NeedsDiscovery(*cfg, servers) {
		return nil
	}
	if err := c.Discover(ctx, cfg); err != nil && cfg.Model == "" {
		return err
	}
	return nil
}

// modelsInUse are the models that a run would use, and for what.
func (c Connector) modelsInUse(cfg config.Config, servers *provider.Set) ([]Model, error) {
	route, _, err := RouteOf(cfg)
	if err != nil {
		return nil, err
	}
	var rows []Model
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
		row := c.model(servers, name)
		row.UsedBy = []string{use}
		rows = append(rows, row)
	}
	models := PhaseModels(cfg)
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

// model is what is known of a model beforehand.
func (c Connector) model(servers *provider.Set, name string) Model {
	row := Model{Name: name}
	place, err := servers.Place(name)
	if err != nil {
		row.Problem = err.Error()
		return row
	}
	entry, _ := servers.Entry(name)
	row.Provider = place.Provider
	row.Wire = place.Wire
	row.Window = servers.Window(name)
	row.Priced = entry.Priced
	row.InputUSD = entry.InputUSD
	row.CachedUSD = entry.CachedUSD
	row.CacheWriteUSD = entry.WriteUSD
	row.OutputUSD = entry.OutputUSD
	if !place.NoKey && place.KeyFrom != "command" && c.getenv(place.KeyFrom) == "" {
		row.Problem = "no key: set " + place.KeyFrom
	}
	return row
}

// providersToAsk are the providers of the models that are used, and those of the
// settings.
// Where no model is named, the default provider is one of them.
func providersToAsk(cfg config.Config, servers *provider.Set, used []Model) []string {
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
func (c Connector) offeredModels(ctx context.Context, servers *provider.Set, names []string) ([]Model, error) {
	lists := make([][]Model, len(names))
	wrong := make([]error, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		asking.Go(func() { lists[i], wrong[i] = c.offersOf(ctx, servers, name) })
	}
	asking.Wait()
	for i, err := range wrong {
		if err != nil {
			lists[i] = []Model{{Provider: cmp.Or(names[i], provider.Default), Problem: err.Error()}}
		}
	}
	return slices.Concat(lists...), cmp.Or(wrong...)
}

// offersOf lists what one provider offers, by name.
func (c Connector) offersOf(ctx context.Context, servers *provider.Set, name string) ([]Model, error) {
	offers, err := servers.Offers(ctx, name)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(offers, func(x, y wire.Offer) int { return cmp.Compare(x.Name, y.Name) })
	var out []Model
	for _, o := range offers {
		whole := o.Name
		if name != "" {
			whole = name + "/" + o.Name
		}
		row := c.model(servers, whole)
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
func joinModels(used, offered []Model) []Model {
	for _, o := range offered {
		at := slices.IndexFunc(used, func(u Model) bool { return o.Offered && u.Name == o.Name })
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
