package catalog

import (
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Providers that more is known about than the list says, by their names there.
const (
	theAnthropic    = "anthropic"
	theAzure        = "azure"
	theBedrock      = "bedrock"
	theCopilot      = "copilot"
	theDeepSeek     = "deepseek"
	theGemini       = "gemini"
	theKimiCoding   = "kimi-coding"
	theMiniMax      = "minimax"
	theMiniMaxChina = "minimax-china"
	theMoonshot     = "moonshot"
	theOpenAI       = "openai"
	theVertexAI     = "vertexai"
	theXAI          = "xai"
	theZAI          = "zai"
	theZen          = "opencode-zen"
)

// place is where a provider serves: a host (or, with a leading dot, all hosts
// that end in it) and a path below which it does.
type place struct {
	provider   string
	host, path string
}

// hosts are the places that the list leaves to the environment.
var hosts = map[string][]string{
	theOpenAI:    {"api.openai.com", ".api.openai.com"},
	theAnthropic: {"api.anthropic.com"},
	theGemini:    {"generativelanguage.googleapis.com"},
	theAzure:     {".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"},
	theVertexAI:  {"aiplatform.googleapis.com", "-aiplatform.googleapis.com"},
	theBedrock:   {".amazonaws.com"},
}

// placesOf lists where a provider serves.
func placesOf(provider, endpoint string) []place {
	var out []place
	for _, host := range hosts[provider] {
		out = append(out, place{provider: provider, host: host})
	}
	if u, err := url.Parse(endpoint); err == nil && u.Hostname() != "" {
		out = append(out, place{
			provider: provider,
			host:     u.Hostname(),
			path:     u.Path,
		})
	}
	return out
}

// places lists where all providers serve.
func (x index) places() []place {
	var out []place
	for _, s := range x {
		out = append(out, placesOf(s.provider, s.endpoint)...)
	}
	for _, p := range ours {
		if _, listed := x.seller(p.Name); !listed {
			out = append(out, placesOf(p.Name, p.BaseURL)...)
		}
	}
	return out
}

// location is what a base URL says about who serves there.
type location struct {
	provider string // "" if it is not known
	local    bool   // on this machine or a private network
}

// locate reads a base URL. Where providers share a host, the one whose path
// goes furthest along with the URL's serves there.
func (x index) locate(baseURL string) location {
	if baseURL == "" {
		return location{provider: theOpenAI}
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
	for _, p := range x.places() {
		if host != p.host && (p.host[0] != '.' && p.host[0] != '-' || !strings.HasSuffix(host, p.host)) {
			continue
		}
		if n := common(u.Path, p.path); n > most {
			best, most = location{provider: p.provider}, n
		}
	}
	return best
}

// locateNamed is the location of a base URL where the provider has this
// name. The host says who serves there, and the name only where the host is no
// known provider's, or none is given.
func (x index) locateNamed(provider, baseURL string) location {
	if provider == "" {
		return x.locate(baseURL)
	}
	var where location
	if baseURL != "" {
		where = x.locate(baseURL)
	}
	if _, known := x.provider(provider); known && where == (location{}) {
		where.provider = canonical(provider)
	}
	return where
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
	maker  string
}{
	{"gpt-", theOpenAI},
	{"chatgpt-", theOpenAI},
	{"codex-", theOpenAI},
	{"o1", theOpenAI},
	{"o3", theOpenAI},
	{"o4", theOpenAI},
	{"claude-", theAnthropic},
	{"gemini-", theGemini},
	{"grok-", theXAI},
	{"deepseek-", theDeepSeek},
	{"glm-", theZAI},
	{"minimax-", theMiniMax},
}

// makerOf returns the provider that makes a model, "" if it is not known.
func makerOf(id string) string {
	bare := vendors().ReplaceAllString(id, "")
	for _, m := range makers {
		if strings.HasPrefix(bare, m.prefix) {
			return m.maker
		}
	}
	return ""
}

// structured reports whether a provider's model takes a strict json_schema.
// The list says nothing about it, so only what its maker promises counts.
func structured(provider string, id string) bool {
	if provider != theOpenAI && provider != theAzure {
		return false
	}
	for _, prefix := range []string{"gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "o1", "o3", "o4"} {
		if strings.HasPrefix(id, prefix) {
			return true
		}
	}
	return false
}

// takesFound reports whether a provider's server is known to take the tools that a search
// finds in the middle of a conversation. Source: OpenAI's page on tool search (from gpt-5.4
// on) and Anthropic's (from the models of version 4.5 on).
func takesFound(provider, id string) bool {
	switch provider {
	case theOpenAI:
		version, _, _ := strings.Cut(strings.TrimPrefix(id, "gpt-"), "-")
		n, err := strconv.ParseFloat(version, 64)
		return strings.HasPrefix(id, "gpt-") && err == nil && n >= 5.4
	case theAnthropic:
		for _, family := range []string{"claude-opus-", "claude-sonnet-", "claude-haiku-"} {
			version, ok := strings.CutPrefix(id, family)
			if !ok {
				continue
			}
			parts := strings.Split(version, "-")
			if len(parts) > 1 && len(parts[1]) < 3 { // what is longer is a date
				parts[0] += "." + parts[1]
			}
			n, err := strconv.ParseFloat(parts[0], 64)
			return err == nil && n >= 4.5
		}
	}
	return false
}
