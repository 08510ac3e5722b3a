package config

import (
	"fmt"
	"maps"
	"slices"
)

// withoutKeys are the providers of a trusted file without what no repository
// may say: where a key comes from, what is sent beside it, and where a provider
// serves that the user's own settings have a key for.
func (t repoFile) withoutKeys(providers, own map[string]ProviderConfig) (map[string]ProviderConfig, []Warning) {
	out := maps.Clone(providers)
	var warnings []Warning
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		p, mine := providers[name], own[name]
		refuse := func(key string, isSet bool, why string) bool {
			if isSet {
				warnings = append(warnings, Warning{
					File: t.path,
					Line: t.lineOfProvider(name, key),
					Key:  "providers." + name + "." + key,
					Why:  why,
				})
			}
			return isSet
		}
		const keys = "keys and headers are never taken from a repository; put it in your own config.toml"
		if refuse("key_env", p.KeyEnv != "", keys) {
			p.KeyEnv = ""
		}
		if refuse("key_command", p.KeyCommand != "", keys) {
			p.KeyCommand = ""
		}
		if refuse("headers", len(p.Headers) > 0, keys) {
			p.Headers = nil
		}
		hasKey := mine.KeyEnv != "" || mine.KeyCommand != "" || len(mine.Headers) > 0
		const moves = "it would send your key to another address; put it in your own config.toml"
		if refuse("base_url", hasKey && p.BaseURL != "" && p.BaseURL != mine.BaseURL, moves) {
			p.BaseURL = ""
		}
		out[name] = p
	}
	return out, warnings
}

// lineOfProvider is the line of a provider's key, or else of its table.
func (t repoFile) lineOfProvider(name, key string) int {
	table := "providers." + name
	return max(1, lineOf(t.data, table, 0), lineOf(t.data, table+"."+key, 0))
}

// addresses are the servers that the file would have plan talk to, for a person
// who is asked to trust it.
func (t repoFile) addresses() []string {
	var decoded Config
	if _, err := decode(t.path, t.data, &decoded); err != nil {
		return nil // then none of it counts
	}
	var out []string
	if decoded.BaseURL != "" {
		out = append(out, fmt.Sprintf("base_url at %s", publicURL(decoded.BaseURL)))
	}
	for _, name := range slices.Sorted(maps.Keys(decoded.Providers)) {
		if p := decoded.Providers[name]; p.BaseURL != "" {
			out = append(out, fmt.Sprintf("provider %s at %s", name, publicURL(p.BaseURL)))
		}
	}
	return out
}
