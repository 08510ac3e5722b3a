package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/wire"
)

// ProviderConfig is a server that models are reached at. What is unset is as the
// catalogue says of a provider of that name.
type ProviderConfig struct {
	// Wire is how it is spoken to. Unset: as the catalogue says, else chat.
	Wire    string `toml:"wire,omitempty" json:"wire,omitempty" known:"wire"`
	BaseURL string `toml:"base_url,omitempty" json:"base_url,omitempty"`
	// KeyEnv is the name of the variable that holds the key, and KeyCommand a
	// command that prints it. Neither is read from a repository's file.
	KeyEnv     string `toml:"key_env,omitempty" json:"key_env,omitempty"`
	KeyCommand string `toml:"key_command,omitempty" json:"key_command,omitempty"`
	// Auth is how the key is sent. Unset: as is usual there.
	Auth string `toml:"auth,omitempty" json:"auth,omitempty" known:"auth"`
	// Headers are sent with each request. A value "$NAME" is that variable's.
	// None is read from a repository's file.
	Headers map[string]string `toml:"headers,omitempty" json:"headers,omitempty"`
	Query   map[string]string `toml:"query,omitempty" json:"query,omitempty"` // such as api-version
	// Body is laid over each request, such as chat_template_kwargs, provider
	// or service_tier.
	Body map[string]any `toml:"body,omitempty" json:"body,omitempty"`
	// Structured is how a verdict is asked for. Unset: as the settings say.
	Structured string `toml:"structured,omitempty" json:"structured,omitempty" known:"structured"`
	// Cache says whether to mark what a prompt cache should keep. Unset: auto.
	Cache string `toml:"cache,omitempty" json:"cache,omitempty" oneof:"auto,off"`
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
			return "", "", fmt.Errorf("%q is not a model: write @cheap, @strong or a model's name", name)
		}
		return name, "", nil
	}
	if model == "" {
		return "", "", fmt.Errorf(
			"%q stands for no model: set %s in config.toml, or name a model in its place",
			name,
			key,
		)
	}
	return model, key, nil
}

// Known makes the function that Split asks: a provider is one of the settings,
// or one of the catalogue's while no base URL is set. inCatalogue may be nil.
func (c Config) Known(inCatalogue func(provider string) bool) func(provider string) bool {
	return func(provider string) bool {
		if _, ok := c.Providers[provider]; ok {
			return true
		}
		return c.BaseURL == "" && inCatalogue != nil && inCatalogue(provider)
	}
}

// KeyNames lists the variables that the settings take keys from, sorted.
func (c Config) KeyNames() []string {
	names := map[string]bool{}
	for _, p := range c.Providers {
		if p.KeyEnv != "" {
			names[p.KeyEnv] = true
		}
		for _, value := range p.Headers {
			if name, ok := variableOf(value); ok {
				names[name] = true
			}
		}
	}
	for _, s := range c.MCP {
		for _, name := range s.variables() {
			names[name] = true
		}
	}
	for _, s := range c.OpenAPI {
		for _, name := range s.asServer().variables() {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// queueVariable holds what opens a queue of batches.
const queueVariable = "PLAN_QUEUE_TOKEN"

// ForChildren is an environment ("NAME=value") without the variables that the
// settings take keys from.
func (c Config) ForChildren(environ []string) []string {
	names := c.KeyNames()
	out := make([]string, 0, len(environ))
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if name != queueVariable && !slices.Contains(names, name) {
			out = append(out, entry)
		}
	}
	return out
}

// variableOf is the variable that a header's value stands for.
func variableOf(value string) (name string, ok bool) {
	name, ok = strings.CutPrefix(value, "$")
	return name, ok && isVariable(name)
}

// unresolved finds the settings that name a model which [route] does not know.
func unresolved(c Config) []fault {
	named := namedModels(c)
	var out []fault
	for _, key := range slices.Sorted(maps.Keys(named)) {
		if _, _, err := c.Resolve(named[key]); err != nil {
			out = append(out, fault{key: key, text: "= " + err.Error()})
		}
	}
	return out
}

// namedModels are the names of models that may be hints, by their keys.
func namedModels(c Config) map[string]string {
	out := map[string]string{
		"model":           c.Model,
		"route.summary":   c.Route.Summary,
		"route.sub_agent": c.Route.SubAgent,
	}
	for phase, p := range c.Phase {
		out["phase."+string(phase)+".model"] = p.Model
		out["phase."+string(phase)+".escalate"] = p.Escalate
	}
	return out
}

// providerFaults checks what the fields of providers and routes cannot say of
// themselves. No text holds a value that may be a key.
func providerFaults(c Config, wires []wire.Kind) []fault {
	var out []fault
	if c.Provider != "" && !isProvider(c.Provider) {
		out = append(out, fault{key: "provider", text: wrongProvider(c.Provider)})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		key := "providers." + name
		if !isProvider(name) {
			out = append(out, fault{key: key, text: wrongProvider(name)})
		}
		out = append(out, c.Providers[name].faults(key, wires)...)
	}
	for key, model := range map[string]string{"route.cheap": c.Route.Cheap, "route.strong": c.Route.Strong} {
		if strings.HasPrefix(model, "@") {
			out = append(out, fault{key: key, text: fmt.Sprintf("= %q must be a model's name", model)})
		}
	}
	return out
}

func wrongProvider(name string) string {
	return fmt.Sprintf(
		"= %q is not a provider's name: write lower-case letters, digits, - and _, at most %d",
		name,
		longestName,
	)
}

func (p ProviderConfig) faults(key string, wires []wire.Kind) []fault {
	var out []fault
	add := func(name, text string) { out = append(out, fault{key: key + name, text: text}) }
	if p.BaseURL != "" && !webAddress(p.BaseURL) {
		add(".base_url", `must be an address like "https://host/v1"`)
	}
	switch {
	case p.KeyEnv != "" && p.KeyCommand != "":
		add(".key_env", "and key_command are both set: keep one")
	case p.KeyEnv != "" && !isVariable(p.KeyEnv):
		add(".key_env", `must be the name of a variable that holds the key, such as "CORP_API_KEY", and not the key`)
	case p.KeyCommand != "" && isBlank(p.KeyCommand):
		add(".key_command", "is blank: name a command that prints the key, or remove it")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
		if text := wrongHeader(name, p.Headers[name]); text != "" {
			add(".headers."+name, text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Query)) {
		if name == "" || wrongText(name) != "" || wrongText(p.Query[name]) != "" {
			add(".query."+name, "must be a name and a text without control characters")
		}
	}
	for _, name := range ownFields(wires) {
		if _, ok := p.Body[name]; ok {
			add(".body."+name, "is what plan sends itself: remove it")
		}
	}
	if _, err := plan.MarshalCompact(p.Body); err != nil {
		add(".body", "holds a number that JSON cannot: write no nan and no inf")
	}
	return out
}

// ownFields are the fields of a request that no settings replace, on any of the
// wires.
func ownFields(wires []wire.Kind) []string {
	out := []string{"model", "stream", "tools"}
	for _, kind := range wires {
		out = append(out, kind.Fields...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// wrongHeader says what is wrong with a header, "" for nothing.
func wrongHeader(name, value string) string {
	const signs = "!#$%&'*+-.^_`|~"
	odd := func(r rune) bool { return !isWord(r) && !strings.ContainsRune(signs, r) }
	_, isName := variableOf(value)
	switch {
	case name == "" || strings.ContainsFunc(name, odd):
		return "is not the name of a header: write letters, digits and -"
	case strings.HasPrefix(strings.ToLower(name), "x-plan-"):
		return "is a header that plan sends itself: remove it"
	case wrongText(value) != "" || strings.ContainsAny(value, "\n\t"):
		return "must have a value of one line without control characters"
	case strings.HasPrefix(value, "$") && !isName:
		return `must name a variable behind the $, such as "$CORP_TOKEN"`
	}
	return ""
}

// longestName bounds the names of providers and variables, in bytes.
const longestName = 64

func isProvider(name string) bool {
	odd := func(r rune) bool { return !isWord(r) && r != '-' || 'A' <= r && r <= 'Z' }
	return name != "" && len(name) <= longestName && name[0] != '-' && !strings.ContainsFunc(name, odd)
}

// isVariable reports whether this is the name of a variable. One with letters of
// both cases and digits is more likely a key that was put in its place.
func isVariable(name string) bool {
	if name == "" || len(name) > longestName || '0' <= name[0] && name[0] <= '9' {
		return false
	}
	mixed := strings.ToUpper(name) != name && strings.ToLower(name) != name && strings.ContainsAny(name, "0123456789")
	return !mixed && !strings.ContainsFunc(name, func(r rune) bool { return !isWord(r) })
}

func isWord(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_'
}
