package connect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/model/catalog"
	"github.com/plan-engine/plan/model/wire"
)

// openAIKey is the variable of the key for the base URL that the settings have.
const openAIKey = "OPENAI_API_KEY"

// Key says whether there is a key for a provider, and never which.
type Key struct {
	Provider string `json:"provider"` // "" for a base URL that is no known provider's
	Default  bool   `json:"default,omitempty"`
	Set      bool   `json:"set"`
	From     string `json:"from"` // a variable's name, key_command or none
	Wire     string `json:"wire"`
	BaseURL  string `json:"base_url,omitempty"`
}

// What a key can come from beside a variable.
const (
	KeyFromCommand = "key_command"
	KeyFromNone    = "none"
)

// String is the state in one line.
func (k Key) String() string {
	name := cmp.Or(k.Provider, "base_url")
	if k.Default {
		name += " (default)"
	}
	from := k.From
	switch {
	case from == KeyFromNone:
		from = "needs none"
	case from == KeyFromCommand:
	case k.Set:
		from += " is set"
	default:
		from += " is not set"
	}
	return fmt.Sprintf("%-22s %-30s %s at %s", name, from, k.Wire, cmp.Or(k.BaseURL, "no base_url"))
}

// Keys lists the default provider, then those of the settings, then the usual
// ones whose variable is set.
func (c Connector) Keys(cfg config.Config) []Key {
	cat := Catalog(cfg)
	usual := c.defaultKey(cfg, cat)
	out := []Key{usual}
	listed := map[string]bool{}
	if cfg.BaseURL == "" || cfg.Provider != "" {
		listed[usual.Provider] = true
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Providers)) {
		if !listed[name] {
			out = append(out, c.keyOf(cfg, cat, name))
			listed[name] = true
		}
	}
	for _, p := range cat.Providers() {
		if !listed[p.Name] && p.KeyEnv != "" && c.getenv(p.KeyEnv) != "" {
			out = append(out, c.keyOf(cfg, cat, p.Name))
		}
	}
	return out
}

// defaultKey is that of names of models without a provider.
func (c Connector) defaultKey(cfg config.Config, cat *catalog.Catalog) Key {
	var out Key
	switch {
	case cfg.Provider != "":
		out = c.keyOf(cfg, cat, cfg.Provider)
	case cfg.BaseURL == "":
		out = c.keyOf(cfg, cat, "openai")
	default:
		name, _ := cat.At(cfg.BaseURL)
		out = Key{
			Provider: name,
			From:     openAIKey,
			Set:      config.APIKey(c.getenv) != "",
			Wire:     cat.WireAt("", cfg.Model, cfg.BaseURL),
			BaseURL:  cfg.PublicURL(),
		}
		if known, ok := cat.Provider(name); ok && !out.Set && known.KeyEnv != "" && c.getenv(known.KeyEnv) != "" {
			out.From, out.Set = known.KeyEnv, true // the key of the host goes second
		}
	}
	out.Default = true
	return out
}

// keyOf is the state of a provider that has a name.
func (c Connector) keyOf(cfg config.Config, cat *catalog.Catalog, name string) Key {
	own := cfg.Public().Providers[name]
	known, _ := cat.Provider(name)
	out := Key{
		Provider: name,
		From:     cmp.Or(own.KeyEnv, known.KeyEnv, KeyFromNone),
		BaseURL:  cmp.Or(own.BaseURL, known.BaseURL),
	}
	out.Wire = cmp.Or(own.Wire, cat.WireAt(name, "", out.BaseURL))
	switch {
	case cmp.Or(own.Auth, known.Auth) == wire.AuthNone:
		out.From = KeyFromNone
	case own.KeyCommand != "":
		out.From, out.Set = KeyFromCommand, true
	case out.From != KeyFromNone:
		out.Set = c.getenv(out.From) != ""
	}
	return out
}

// knownProviders says which first parts of models' names are providers.
func knownProviders(cfg config.Config) func(name string) bool {
	cat := Catalog(cfg)
	return cfg.Known(func(name string) bool {
		_, ok := cat.Provider(name)
		return ok
	})
}
