package catalog

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/plan-engine/plan/model/wire"
)

// Provider is a server of models that is known by its name.
type Provider struct {
	Name string
	// BaseURL is where it serves, "" where each account has its own. At the
	// wire anthropic it ends before "/v1/messages".
	BaseURL string
	KeyEnv  string // the variable that the key is usually in; "" where there is no key
	Wire    string // how most of its models are spoken to
	Auth    string // how the key is sent; "" as its wire has it
	Models  int    // how many of its models are listed with window and prices
}

// ours is what the list has not, or has otherwise than a person with a key
// needs it. A field that is set goes before the list's.
var ours = []Provider{
	{
		Name:    "alibaba",
		BaseURL: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
		KeyEnv:  "DASHSCOPE_API_KEY",
	},
	{
		Name:    theAnthropic,
		BaseURL: "https://api.anthropic.com",
	},
	{
		Name: theAzure,
		Auth: wire.AuthAPIKey,
	},
	{
		Name:    "fireworks",
		BaseURL: "https://api.fireworks.ai/inference/v1",
		KeyEnv:  "FIREWORKS_API_KEY",
	},
	{
		Name:    theGemini,
		BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai",
	},
	{
		Name:    "lmstudio",
		BaseURL: "http://127.0.0.1:1234/v1",
		Auth:    wire.AuthNone,
	},
	{
		Name:    "mistral",
		BaseURL: "https://api.mistral.ai/v1",
		KeyEnv:  "MISTRAL_API_KEY",
	},
	{
		Name:    theMoonshot,
		BaseURL: "https://api.moonshot.ai/v1",
		KeyEnv:  "MOONSHOT_API_KEY",
	},
	{
		Name:    "ollama",
		BaseURL: "http://127.0.0.1:11434/v1",
		Auth:    wire.AuthNone,
	},
	{
		Name:    theOpenAI,
		BaseURL: "https://api.openai.com/v1",
	},
	{
		Name:    "together",
		BaseURL: "https://api.together.xyz/v1",
		KeyEnv:  "TOGETHER_API_KEY",
	},
	{
		Name:   "vercel",
		KeyEnv: "AI_GATEWAY_API_KEY", // as its own pages call it
	},
	{
		Name:    theZAI,
		BaseURL: "https://api.z.ai/api/paas/v4", // the list has that of a subscription
	},
}

// closed are the providers of the list that a key alone does not open: Bedrock
// and Vertex take requests signed with an account's credentials, and Copilot
// changes its key for one of minutes.
var closed = []string{theBedrock, theCopilot, theVertexAI}

// canonical is the name that a provider is listed under.
func canonical(name string) string {
	if name == "kimi" {
		return theMoonshot
	}
	return name
}

// Providers lists the usual providers by name. Those that a key alone does not
// open are left out: Bedrock, Vertex and Copilot are reached by a gateway, or as
// a provider of the settings with a key_command.
func (c *Catalog) Providers() []Provider {
	x := c.load()
	var names []string
	for _, s := range x {
		names = append(names, s.provider)
	}
	for _, p := range ours {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	var out []Provider
	for _, name := range slices.Compact(names) {
		if p, ok := x.provider(name); ok {
			out = append(out, p)
		}
	}
	return out
}

// Provider finds one of Providers by its name; kimi is moonshot.
func (c *Catalog) Provider(name string) (Provider, bool) { return c.load().provider(name) }

// At is the provider whose host a base URL is on; "" is OpenAI's. It is false
// for servers of this machine and for those that are not known.
func (c *Catalog) At(baseURL string) (provider string, ok bool) {
	provider = c.load().locate(baseURL).provider
	return provider, provider != ""
}

// Wire is how a model is spoken to at a provider where that usually serves. A
// provider that is not known speaks chat; "" is OpenAI.
func (c *Catalog) Wire(provider, model string) string { return c.WireAt(provider, model, "") }

// WireAt is Wire at another base URL than the usual one. Where the provider's
// name is not known, the host decides. An override goes before all.
func (c *Catalog) WireAt(provider, model, baseURL string) string {
	own := ""
	for _, override := range c.overridesOf(provider, model, baseURL) {
		own = cmp.Or(override.Wire, own)
	}
	if own != "" {
		return own
	}
	x := c.load()
	s, listed := x.seller(canonical(provider))
	if !listed && (provider == "" || baseURL != "") {
		s, listed = x.seller(x.locate(baseURL).provider)
	}
	if byPath := wireOfPath(s.provider, baseURL); listed && byPath != "" {
		return byPath
	}
	if s.provider == theZen {
		return wireAtZen(strings.ToLower(model))
	}
	return cmp.Or(s.wire, wire.Default)
}

// wireOfPath is the wire that a known provider's path says, "" for nothing.
func wireOfPath(provider, baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil || baseURL == "" {
		return ""
	}
	path := strings.Split(strings.Trim(u.Path, "/"), "/")
	switch {
	case slices.Contains(path, "anthropic"):
		return wire.Anthropic
	case provider == theAzure && slices.Contains(path, "deployments"):
		return wire.Chat // an address of the time before Responses
	case provider == theMiniMax, provider == theMiniMaxChina:
		return wire.Chat
	case provider == theKimiCoding && path[len(path)-1] == "v1":
		return wire.Chat
	}
	return ""
}

// wireAtZen knows a gateway that has each maker's models at the maker's wire.
func wireAtZen(model string) string {
	switch makerOf(model) {
	case theOpenAI:
		return wire.Responses
	case theAnthropic:
		return wire.Anthropic
	}
	return wire.Chat
}

// seller finds a provider of the list.
func (x index) seller(name string) (providerIndex, bool) {
	for _, s := range x {
		if s.provider == name {
			return s, true
		}
	}
	return providerIndex{}, false
}

// provider finds a provider of the list or of ours.
func (x index) provider(name string) (Provider, bool) {
	name = canonical(name)
	s, listed := x.seller(name)
	at := slices.IndexFunc(ours, func(p Provider) bool { return p.Name == name })
	if slices.Contains(closed, name) || !listed && at < 0 {
		return Provider{}, false
	}
	out := Provider{Name: name}
	if at >= 0 {
		out = ours[at]
	}
	if !strings.HasPrefix(s.endpoint, "$") {
		out.BaseURL = cmp.Or(out.BaseURL, s.endpoint)
	}
	out.KeyEnv = cmp.Or(out.KeyEnv, s.keyEnv)
	out.Wire = cmp.Or(out.Wire, s.wire, wire.Default)
	out.Models = strings.Count(s.models, "\n")
	return out, true
}
