package render

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/plan-engine/plan/host/connect"
	"github.com/plan-engine/plan/model/catalog"
)

// Models writes a table of models.
func Models(w io.Writer, models []connect.Model, opts Options) error {
	table := [][]string{{"MODEL", "PROVIDER", "WIRE", "WINDOW", "$ IN", "CACHED", "WRITTEN", "OUT", "USED BY"}}
	for _, m := range models {
		table = append(table, modelCells(m))
	}
	return WriteLines(w, NewLook(opts).Columns(table, 3, 4, 5, 6, 7))
}

// modelCells are those of a model's row.
func modelCells(m connect.Model) []string {
	use := strings.Join(m.UsedBy, ", ")
	if m.Problem != "" {
		use = strings.TrimPrefix(use+"; "+m.Problem, "; ")
	}
	if m.Name == "" { // its provider does not say what it has
		return []string{"", m.Provider, "", "", "", "", "", "", use}
	}
	window := "?"
	if m.Window > 0 {
		window = Tokens(m.Window)
	}
	price := func(usd float64) string {
		switch {
		case !m.Priced:
			return "?"
		case usd == 0 && m.InputUSD > 0:
			return "-"
		}
		return fmt.Sprint(usd)
	}
	return []string{
		m.Name,
		m.Provider,
		m.Wire,
		window,
		price(m.InputUSD),
		price(m.CachedUSD),
		price(m.CacheWriteUSD),
		price(m.OutputUSD),
		use,
	}
}

// Providers writes a table of the providers that can be named. IsSet says whether a
// variable is.
func Providers(w io.Writer, providers []catalog.Provider, isSet func(name string) bool, opts Options) error {
	table := [][]string{{"PROVIDER", "WIRE", "KEY", "MODELS", "BASE URL"}}
	for _, p := range providers {
		key := p.KeyEnv
		if key != "" && isSet(key) {
			key += " (set)"
		}
		where := cmp.Or(p.BaseURL, "(set base_url in [providers."+p.Name+"])")
		table = append(table, []string{p.Name, p.Wire, key, fmt.Sprint(p.Models), where})
	}
	return WriteLines(w, NewLook(opts).Columns(table, 3))
}
