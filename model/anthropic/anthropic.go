package anthropic

import (
	"cmp"
	"maps"
	"net/url"
	"strings"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
)

// Name is the wire's name. It marks what only a server of this wire may see.
const Name = wire.Anthropic

// DefaultBaseURL is Anthropic's own server.
const DefaultBaseURL = "https://api.anthropic.com/v1"

// DefaultMaxOutput is the output limit of a request, in tokens, where neither the
// settings nor [Config.MaxOutput] know one, beside what is thought. The wire
// demands a limit. A server that gives less says so, and is then asked for that.
const DefaultMaxOutput = 16384

// The ways in which models are told to think (see [Caps.Thinking]).
const (
	ThinkingAdaptive = "adaptive" // thinking.type adaptive, with output_config.effort
	ThinkingBudget   = "enabled"  // thinking.type enabled, with budget_tokens
	ThinkingNone     = "none"     // not at all
)

// Config describes a server.
type Config struct {
	// Config is the server itself. BaseURL is by default [DefaultBaseURL]; "/v1"
	// is added to one that does not end in it. Auth is by default
	// [wire.AuthXAPIKey].
	wire.Config
	// Caps says what a model can do; nil means that only its name is known.
	Caps func(model string) Caps
	// MaxOutput is the longest answer that a model gives, in tokens; nil, or 0 for
	// a model, where that is not known.
	MaxOutput func(model string) int64
}

// Caps are abilities that not every server or model has.
type Caps struct {
	// Thinking is one of the Thinking constants. "" is guessed from the model's
	// name, and corrected by what the server refuses.
	Thinking string
	// StructuredOutput says that output_config.format works.
	StructuredOutput bool
	// TakesFound says that a result can lead to tools (tool_reference) that are not told of
	// at the beginning (defer_loading).
	TakesFound bool
}

// version is the version of the wire that is spoken.
const version = "2023-06-01"

// The headers of the wire.
const (
	headerVersion = "anthropic-version"
	headerBeta    = "anthropic-beta"
)

// protocol writes and reads the wire for one server.
type protocol struct {
	cfg      Config
	provider string
	beta     string // what the settings switch on, with commas between
	history  wire.History
	kept     wire.Kept
}

var _ wire.Protocol = (*protocol)(nil)

// New makes a client, or says what is wrong with cfg. It sends nothing.
func New(cfg Config) (*wire.Client, error) {
	p, err := newProtocol(cfg)
	if err != nil {
		return nil, err
	}
	return wire.New(p.cfg.Config, p, "/messages")
}

// Open is a [wire.Opener].
func Open(cfg wire.Config, about func(model string) wire.Model) (*wire.Client, error) {
	return New(Config{
		Config:    cfg,
		Caps:      func(model string) Caps { return Caps{TakesFound: about(model).TakesFound} },
		MaxOutput: func(model string) int64 { return about(model).MaxOutput },
	})
}

func newProtocol(cfg Config) (*protocol, error) {
	cfg.Structured = cmp.Or(cfg.Structured, wire.StructuredAuto)
	cfg.BaseURL = withVersion(cmp.Or(cfg.BaseURL, DefaultBaseURL))
	cfg.Auth = cmp.Or(cfg.Auth, wire.AuthXAPIKey)
	p := &protocol{provider: cmp.Or(cfg.Provider, "default")}
	// A request may switch on a beta of its own, beside those of the settings,
	// which would replace it as they are laid over every request.
	cfg.Headers = maps.Clone(cfg.Headers)
	for name, value := range cfg.Headers {
		if strings.EqualFold(name, headerBeta) {
			p.beta = value
			delete(cfg.Headers, name)
		}
	}
	cfg.Body = maps.Clone(cfg.Body)
	delete(cfg.Body, "messages")
	delete(cfg.Body, "stream")
	p.cfg = cfg
	return p, nil
}

// withVersion adds the version to the path of a base URL that has none, so that
// messages and models are right below it. What is not a URL stays as it is, for
// [wire.New] to complain about.
func withVersion(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return base
	}
	path := strings.TrimRight(u.Path, "/")
	if strings.HasSuffix(path, "/v1") || strings.HasSuffix(path, "/messages") {
		return base
	}
	u.Path = path + "/v1"
	return u.String()
}

// Headers go with every request, also with those that [wire.Client] makes itself.
func (p *protocol) Headers() map[string]string { return p.headers("") }

// headers are those of the wire, with a beta switched on beside the settings' own.
func (p *protocol) headers(beta string) map[string]string {
	out := map[string]string{headerVersion: version}
	switch {
	case p.beta == "" && beta == "":
	case p.beta == "" || strings.Contains(beta, p.beta):
		out[headerBeta] = beta
	case beta == "" || strings.Contains(p.beta, beta):
		out[headerBeta] = p.beta
	default:
		out[headerBeta] = p.beta + "," + beta
	}
	return out
}

// caps says what a model can do.
func (p *protocol) caps(model string) Caps {
	caps := Caps{}
	if p.cfg.Caps != nil {
		caps = p.cfg.Caps(model)
	}
	if caps.Thinking == "" {
		caps.Thinking = thinkingOf(model)
	}
	return caps
}

// Begin implements [wire.Protocol].
func (p *protocol) Begin(call loop.Call, sent wire.Request, live func(loop.Delta)) wire.Assembly {
	return &assembly{
		provider:   p.provider,
		formatTool: sent.Tool,
		live:       live,
		ids:        wire.IDs{Messages: call.Messages},
	}
}
