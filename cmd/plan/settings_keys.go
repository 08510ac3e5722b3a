package main

import (
	"cmp"
	"maps"
	"slices"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/model/catalog"
	"github.com/plan-engine/plan/model/wire"
)

// openAIKey is the variable of the key for the base URL that the settings have.
const openAIKey = "OPENAI_API_KEY"

// keyStates lists the default provider, then those of the settings, then the
// usual ones whose variable is set.
func (a *app) keyStates(cfg config.Config) []keyState {
	cat := catalogue(cfg)
	usual := a.defaultKey(cfg, cat)
	out := []keyState{usual}
	shown := map[string]bool{}
	if cfg.BaseURL == "" || cfg.Provider != "" {
		shown[usual.Provider] = true
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Providers)) {
		if !shown[name] {
			out = append(out, a.keyOf(cfg, cat, name))
			shown[name] = true
		}
	}
	for _, p := range cat.Providers() {
		if !shown[p.Name] && p.KeyEnv != "" && a.getenv(p.KeyEnv) != "" {
			out = append(out, a.keyOf(cfg, cat, p.Name))
		}
	}
	return out
}

// defaultKey is that of names of models without a provider.
func (a *app) defaultKey(cfg config.Config, cat *catalog.Catalog) keyState {
	var out keyState
	switch {
	case cfg.Provider != "":
		out = a.keyOf(cfg, cat, cfg.Provider)
	case cfg.BaseURL == "":
		out = a.keyOf(cfg, cat, "openai")
	default:
		name, _ := cat.At(cfg.BaseURL)
		out = keyState{
			Provider: name,
			From:     openAIKey,
			Set:      config.APIKey(a.getenv) != "",
			Wire:     cat.WireAt("", cfg.Model, cfg.BaseURL),
			BaseURL:  cfg.PublicURL(),
		}
		if known, ok := cat.Provider(name); ok && !out.Set && known.KeyEnv != "" && a.getenv(known.KeyEnv) != "" {
			out.From, out.Set = known.KeyEnv, true // the key of the host goes second
		}
	}
	out.Default = true
	return out
}

// keyOf is the state of a provider that has a name.
func (a *app) keyOf(cfg config.Config, cat *catalog.Catalog, name string) keyState {
	own := cfg.Public().Providers[name]
	known, _ := cat.Provider(name)
	out := keyState{
		Provider: name,
		From:     cmp.Or(own.KeyEnv, known.KeyEnv, keyFromNone),
		BaseURL:  cmp.Or(own.BaseURL, known.BaseURL),
	}
	out.Wire = cmp.Or(own.Wire, cat.WireAt(name, "", out.BaseURL))
	switch {
	case cmp.Or(own.Auth, known.Auth) == wire.AuthNone:
		out.From = keyFromNone
	case own.KeyCommand != "":
		out.From, out.Set = keyFromCommand, true
	case out.From != keyFromNone:
		out.Set = a.getenv(out.From) != ""
	}
	return out
}

// knownProviders says which first parts of models' names are providers.
func knownProviders(cfg config.Config) func(name string) bool {
	cat := catalogue(cfg)
	return cfg.Known(func(name string) bool {
		_, ok := cat.Provider(name)
		return ok
	})
}

// ownSettings are the user's own, which say what holds keys. Where they cannot
// be read they say nothing: what needs them says why.
func (a *app) ownSettings() config.Config {
	paths, err := config.FindHome(a.getenv)
	if err != nil {
		return config.Config{}
	}
	cfg, _, err := config.Load(config.Source{Home: paths.Home, Getenv: a.getenv})
	if err != nil {
		return config.Config{}
	}
	return cfg
}
