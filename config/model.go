package config

import (
	"net"
	"net/url"
	"strings"
	"time"
)

// TimeoutsConfig bounds single waits.
type TimeoutsConfig struct {
	// FirstByte is the wait for the first byte of a model's answer: local
	// servers read the prompt before it, and others think. Unset: 15m, and an
	// hour for a server on this machine.
	FirstByte Duration `toml:"first_byte,omitempty" json:"first_byte,omitzero"`
	Idle      Duration `toml:"idle" json:"idle,omitzero"` // silence of a stream after its first byte; default 2m
	// Answer bounds a model's whole answer. Unset: 15m more than FirstByte.
	Answer Duration `toml:"answer,omitempty" json:"answer,omitzero"`
	// Request bounds a call of a model with all its tries and waits. Unset: no bound but
	// those of its answers and of [retry].
	Request Duration `toml:"request" json:"request,omitzero"`
	Bash    Duration `toml:"bash" json:"bash,omitzero"` // a command of a model that names no time; default 120s

	// What a call of a tool may take at the most, by what the tool is for.
	Read   Duration `toml:"read" json:"read,omitzero"`     // reads, lists, and what is of no other kind; default 30s
	Search Duration `toml:"search" json:"search,omitzero"` // grep, glob, symbols; default 30s
	Edit   Duration `toml:"edit" json:"edit,omitzero"`     // write, edit, apply_patch; default 30s
	Exec   Duration `toml:"exec" json:"exec,omitzero"`     // bash, whatever time the model names; default 10m10s
	MCP    Duration `toml:"mcp" json:"mcp,omitzero"`       // tools of servers; default 2m
}

// First is how long the server at baseURL may take for the first byte of an
// answer.
func (c TimeoutsConfig) First(baseURL string) time.Duration {
	switch {
	case c.FirstByte.Duration > 0:
		return c.FirstByte.Duration
	case isLoopback(baseURL):
		return time.Hour
	default:
		return 15 * time.Minute
	}
}

// Whole is how long the server at baseURL may take for all of an answer.
func (c TimeoutsConfig) Whole(baseURL string) time.Duration {
	if c.Answer.Duration > 0 {
		return c.Answer.Duration
	}
	return c.First(baseURL) + 15*time.Minute
}

// isLoopback reports whether an address is on this machine.
func isLoopback(baseURL string) bool {
	u, err := url.Parse(baseURL)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback() || ip.IsUnspecified()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// ModelConfig overrides what the catalogue says of a model. It is kept under
// the model's name, or under "provider/model", which counts before it. Prices
// are USD per million tokens, and negative nowhere; those of cache writes, for
// minutes and for an hour, are as input where they are unset.
type ModelConfig struct {
	Window           int     `toml:"window" json:"window,omitempty" max:"1000000000"`         // tokens
	MaxOutput        int     `toml:"max_output" json:"max_output,omitempty" max:"1000000000"` // tokens
	Input            float64 `toml:"input" json:"input,omitempty" max:"1000000"`
	CachedInput      float64 `toml:"cached_input" json:"cached_input,omitempty" max:"1000000"`
	CacheWrite       float64 `toml:"cache_write,omitempty" json:"cache_write,omitempty" max:"1000000"`
	CacheWriteHour   float64 `toml:"cache_write_hour,omitempty" json:"cache_write_hour,omitempty" max:"1000000"`
	Output           float64 `toml:"output" json:"output,omitempty" max:"1000000"`
	Wire             string  `toml:"wire,omitempty" json:"wire,omitempty" known:"wire"` // unset: the provider's
	StructuredOutput string  `toml:"structured_output" json:"structured_output,omitempty" known:"structured"`
	SendReasoning    bool    `toml:"send_reasoning" json:"send_reasoning,omitempty"` // send earlier reasoning back
	ToolSearch       bool    `toml:"tool_search" json:"tool_search,omitempty"`       // the server takes tools that are found later
}
