package config

import (
	"fmt"
	"net/url"
	"strings"
)

// ProviderConfig is a server that models are reached at. What is unset is as the
// catalogue says of a provider of that name.
type ProviderConfig struct {
	// Wire is how it is spoken to. Unset: as the catalogue says, else chat.
	Wire    string `toml:"wire,omitempty" json:"wire,omitempty" oneof:"chat,responses,anthropic"`
	BaseURL string `toml:"base_url,omitempty" json:"base_url,omitempty"`
	// KeyEnv is the name of the variable that holds the key, and KeyCommand a
	// command that prints it. Neither is read from a repository's file.
	KeyEnv     string `toml:"key_env,omitempty" json:"key_env,omitempty"`
	KeyCommand string `toml:"key_command,omitempty" json:"key_command,omitempty"`
	// Auth is how the key is sent. Unset: as is usual there.
	Auth string `toml:"auth,omitempty" json:"auth,omitempty" oneof:"bearer,api-key,x-api-key,none"`
	// Headers are sent with each request. A value "$NAME" is that variable's.
	// None is read from a repository's file.
	Headers map[string]string `toml:"headers,omitempty" json:"headers,omitempty"`
	Query   map[string]string `toml:"query,omitempty" json:"query,omitempty"` // such as api-version
	// Body is laid over each request, such as chat_template_kwargs, provider
	// or service_tier.
	Body       map[string]any `toml:"body,omitempty" json:"body,omitempty"`
	Structured string         `toml:"structured,omitempty" json:"structured,omitempty" oneof:"auto,schema,tool,text"` // unset: the general one
	Cache      string         `toml:"cache,omitempty" json:"cache,omitempty" oneof:"auto,off"`                        // marks for prompt caches; unset: auto
}

// RouteConfig names models by what they are for. Cheap and Strong are what
// "@cheap" and "@strong" mean wherever a model is named. Summary and SubAgent
// are a name or one of these. Unset: the phase's own model.
type RouteConfig struct {
	Cheap    string `toml:"cheap,omitempty" json:"cheap,omitempty"`
	Strong   string `toml:"strong,omitempty" json:"strong,omitempty"`
	Summary  string `toml:"summary,omitempty" json:"summary,omitempty"`     // writes summaries of history
	SubAgent string `toml:"sub_agent,omitempty" json:"sub_agent,omitempty"` // does what the tool task hands on
}

// Split takes a model's name apart. It is provider/model where known says that
// the first part is a provider; else the provider is "", which is the default
// one, and the model is the whole name.
func Split(name string, known func(provider string) bool) (provider, model string) {
	first, rest, ok := strings.Cut(name, "/")
	if !ok || first == "" || rest == "" || !known(first) {
		return "", name
	}
	return first, rest
}

// Resolve is the model that a name stands for: "@cheap" and "@strong" are what
// [route] says they are, and why then says so; every other name is as it is.
func (c Config) Resolve(name string) (model, why string, err error) {
	var key string
	switch name {
	case "@cheap":
		key, model = "route.cheap", c.Route.Cheap
	case "@strong":
		key, model = "route.strong", c.Route.Strong
	default:
		if strings.HasPrefix(name, "@") {
			return "", "", fmt.Errorf("model %q is not known: write @cheap, @strong or a model's name", name)
		}
		return name, "", nil
	}
	if model == "" {
		return "", "", fmt.Errorf("model %q has no meaning yet: set %s in config.toml, or name a model in its place", name, key)
	}
	return model, key, nil
}

// Public is the settings without what may be a key.
func (c Config) Public() Config {
	c.BaseURL = publicURL(c.BaseURL)
	return c
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
