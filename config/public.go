package config

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// hidden stands where a value may be a key.
const hidden = "***"

// Public is the settings without what may be a key: addresses without name,
// password and query, the names of headers without their values (but "$NAME"
// stays), no key command, and no value of a query or a body that looks secret.
func (c Config) Public() Config {
	c.BaseURL = publicURL(c.BaseURL)
	providers := maps.Clone(c.Providers)
	for name, p := range providers {
		providers[name] = p.public()
	}
	c.Providers = providers
	servers := maps.Clone(c.MCP)
	for name, s := range servers {
		servers[name] = s.public()
	}
	c.MCP = servers
	services := maps.Clone(c.OpenAPI)
	for name, s := range services {
		services[name] = s.public()
	}
	c.OpenAPI = services
	return c
}

func (p ProviderConfig) public() ProviderConfig {
	p.BaseURL = publicURL(p.BaseURL)
	if p.KeyCommand != "" {
		p.KeyCommand = hidden
	}
	p.Headers = maps.Clone(p.Headers)
	for name, value := range p.Headers {
		if _, ok := variableOf(value); !ok {
			p.Headers[name] = hidden
		}
	}
	p.Query = maps.Clone(p.Query)
	for name, value := range p.Query {
		if isSecret(name, value) {
			p.Query[name] = hidden
		}
	}
	if p.Body != nil {
		p.Body, _ = masked("", p.Body, func(string, string) string { return hidden }).(map[string]any)
	}
	return p
}

// PublicURL is the server's address without a name, password or query, which
// may be a key.
func (c Config) PublicURL() string { return publicURL(c.BaseURL) }

func publicURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment = nil, "", "", ""
	return u.String()
}

// masked is a copy of a value, as TOML and JSON have them, in which replace says
// what stands for each text that looks secret. Below a name that does, all do.
func masked(name string, value any, replace func(name, text string) string) any {
	switch v := value.(type) {
	case string:
		if isSecret(name, v) {
			return replace(name, v)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			below := key
			if looksSecret(name) {
				below = name
			}
			out[key] = masked(below, inner, replace)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = masked(name, inner, replace)
		}
		return out
	}
	return value
}

// isSecret reports whether a text under this name may be a key.
func isSecret(name, text string) bool {
	return text != "" && (looksSecret(name) || looksLikeKey()(text))
}

// looksLikeKey knows keys by their shape.
var looksLikeKey = sync.OnceValue(func() func(string) bool {
	clean, err := Rules(nil)
	if err != nil { // the rules are built in
		return func(string) bool { return true }
	}
	return func(text string) bool { return clean(text) != text }
})

// Secrets finds the values that must not be shown: those that the package's
// Secrets finds in an environment, those of the variables that the settings take
// keys from, and what is written in the settings themselves.
func (c Config) Secrets(environ []string) []Secret {
	out := Secrets(environ)
	add := func(name, value string) {
		value = strings.TrimSpace(value)
		if len(value) >= shortest && !isOrdinary(value) {
			out = append(out, Secret{Name: name, Value: value})
		}
	}
	names := c.KeyNames()
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); slices.Contains(names, name) {
			add(name, value)
		}
	}
	addURL(c.BaseURL, "base_url", add)
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		c.Providers[name].secrets("providers."+name, add)
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		c.MCP[name].secrets("mcp."+name, add)
	}
	for _, name := range slices.Sorted(maps.Keys(c.OpenAPI)) {
		c.OpenAPI[name].asServer().secrets("openapi."+name, add)
		addURL(c.OpenAPI[name].Spec, "openapi."+name+".spec", add)
	}
	return out
}

// secrets finds the values of a provider that Public does not show.
func (p ProviderConfig) secrets(key string, add func(name, value string)) {
	addURL(p.BaseURL, key+".base_url", add)
	for name, value := range p.Headers {
		if _, ok := variableOf(value); ok || !isSecret(name, value) {
			continue
		}
		add(key+".headers."+name, value)
		if _, rest, ok := strings.Cut(value, " "); ok { // behind "Bearer"
			add(key+".headers."+name, rest)
		}
	}
	for name, value := range p.Query {
		if isSecret(name, value) {
			add(key+".query."+name, value)
		}
	}
	masked("", p.Body, func(name, text string) string {
		add(key+".body."+name, text)
		return hidden
	})
}

// addURL finds a password and secret parts of the query in an address.
func addURL(raw, key string, add func(name, value string)) {
	if password, ok := urlPassword(raw); ok {
		add(key, password)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return
	}
	for name, values := range u.Query() {
		for _, value := range values {
			if isSecret(name, value) {
				add(key, value)
			}
		}
	}
}
