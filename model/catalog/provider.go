package catalog

import (
	"net"
	"net/url"
	"strings"

	"charm.land/catwalk/pkg/catwalk"
)

// place is where a provider serves: a host (or, with a leading dot, all hosts
// that end in it) and a path below which it does.
type place struct {
	provider   catwalk.InferenceProvider
	host, path string
}

// hosts are the places that catwalk leaves to the environment.
var hosts = map[catwalk.InferenceProvider][]string{
	catwalk.InferenceProviderOpenAI:    {"api.openai.com", ".api.openai.com"},
	catwalk.InferenceProviderAnthropic: {"api.anthropic.com"},
	catwalk.InferenceProviderGemini:    {"generativelanguage.googleapis.com"},
	catwalk.InferenceProviderAzure:     {".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"},
	catwalk.InferenceProviderVertexAI:  {"aiplatform.googleapis.com", "-aiplatform.googleapis.com"},
	catwalk.InferenceProviderBedrock:   {".amazonaws.com"},
}

// placesOf lists where a provider serves.
func placesOf(p catwalk.Provider) []place {
	var out []place
	for _, host := range hosts[p.ID] {
		out = append(out, place{provider: p.ID, host: host})
	}
	if u, err := url.Parse(p.APIEndpoint); err == nil && u.Hostname() != "" {
		out = append(out, place{provider: p.ID, host: u.Hostname(), path: u.Path})
	}
	return out
}

// location is what a base URL says about who serves there.
type location struct {
	provider catwalk.InferenceProvider // "" if it is nobody known
	local    bool                      // on this machine or a private network
}

// locate reads a base URL. Where providers share a host, the one whose path
// goes furthest along with the URL's serves there.
func (x *index) locate(baseURL string) location {
	if baseURL == "" {
		return location{provider: catwalk.InferenceProviderOpenAI}
	}
	u, err := url.Parse(baseURL)
	if err != nil {
		return location{}
	}
	host := strings.ToLower(u.Hostname())
	if isLocal(host) {
		return location{local: true}
	}
	var best location
	most := -1
	for _, p := range x.places {
		if host != p.host && (p.host[0] != '.' && p.host[0] != '-' || !strings.HasSuffix(host, p.host)) {
			continue
		}
		if n := common(u.Path, p.path); n > most {
			best, most = location{provider: p.provider}, n
		}
	}
	return best
}

// common counts the leading path elements that two paths share.
func common(a, b string) int {
	as, bs := strings.Split(strings.Trim(a, "/"), "/"), strings.Split(strings.Trim(b, "/"), "/")
	n := 0
	for n < len(as) && n < len(bs) && as[n] != "" && as[n] == bs[n] {
		n++
	}
	return n
}

func isLocal(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified()
	}
	for _, end := range []string{".localhost", ".local", ".internal"} {
		if strings.HasSuffix(host, end) {
			return true
		}
	}
	return host == "localhost"
}

// makers says who makes the models whose names begin so.
var makers = []struct {
	prefix string
	maker  catwalk.InferenceProvider
}{
	{"gpt-", catwalk.InferenceProviderOpenAI},
	{"chatgpt-", catwalk.InferenceProviderOpenAI},
	{"codex-", catwalk.InferenceProviderOpenAI},
	{"o1", catwalk.InferenceProviderOpenAI},
	{"o3", catwalk.InferenceProviderOpenAI},
	{"o4", catwalk.InferenceProviderOpenAI},
	{"claude-", catwalk.InferenceProviderAnthropic},
	{"gemini-", catwalk.InferenceProviderGemini},
	{"grok-", catwalk.InferenceProviderXAI},
	{"deepseek-", catwalk.InferenceProviderDeepSeek},
	{"glm-", catwalk.InferenceProviderZAI},
	{"minimax-", catwalk.InferenceProviderMiniMax},
}

// makerOf returns the provider that makes a model, "" if it is not known.
func makerOf(id string) catwalk.InferenceProvider {
	bare := vendors.ReplaceAllString(id, "")
	for _, m := range makers {
		if strings.HasPrefix(bare, m.prefix) {
			return m.maker
		}
	}
	return ""
}

// structured reports whether a provider's model takes a strict json_schema.
// The list says nothing about it, so only what its maker promises counts.
func structured(provider catwalk.InferenceProvider, id string) bool {
	if provider != catwalk.InferenceProviderOpenAI && provider != catwalk.InferenceProviderAzure {
		return false
	}
	for _, prefix := range []string{"gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "o1", "o3", "o4"} {
		if strings.HasPrefix(id, prefix) {
			return true
		}
	}
	return false
}

// entryOf reads a listing. A price of zero is a price only where the name says
// that the model is free; elsewhere it is not known, or a subscription.
func entryOf(provider catwalk.InferenceProvider, m catwalk.Model) Entry {
	e := Entry{
		Window: int(m.ContextWindow), MaxOutput: int(m.DefaultMaxTokens),
		InputUSD: m.CostPer1MIn, CachedUSD: cachedPrice(m), OutputUSD: m.CostPer1MOut,
		Reasoning: m.CanReason, Source: string(provider),
	}
	id := strings.ToLower(m.ID)
	free := strings.HasSuffix(id, ":free") || strings.HasSuffix(id, "-free")
	e.Priced = free || e.InputUSD > 0 || e.OutputUSD > 0
	if c, ok := corrections[correction{provider, id}]; ok {
		e.InputUSD, e.CachedUSD, e.OutputUSD = c.InputUSD, c.CachedUSD, c.OutputUSD
		e.Source += " (corrected)"
	}
	return e
}

// cachedPrice is the price of input read from the cache. The list holds two
// cache prices, to write and to read, and its sources do not agree on which is
// which; reading is the cheaper one, and never dearer than fresh input.
func cachedPrice(m catwalk.Model) float64 {
	price := m.CostPer1MIn
	for _, p := range []float64{m.CostPer1MInCached, m.CostPer1MOutCached} {
		if p > 0 {
			price = min(price, p)
		}
	}
	return price
}

// correction names a listing with a wrong price.
type correction struct {
	provider catwalk.InferenceProvider
	id       string
}

// corrections are prices that are plainly wrong in the list. Every other
// provider of the same model there has the price that stands here.
var corrections = map[correction]Entry{
	// The list has the output price of gpt-5.4-pro, 180.
	{catwalk.InferenceProviderOpenAI, "gpt-5.4-mini"}: {InputUSD: 0.75, CachedUSD: 0.075, OutputUSD: 4.5},
}
