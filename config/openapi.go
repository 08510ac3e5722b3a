package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/bmatcuk/doublestar/v4"
)

// OpenAPIConfig is a service that an OpenAPI document describes: each operation of it is a
// tool. Only the user's own file names one.
type OpenAPIConfig struct {
	// Spec is the document, a file (relative to the repository) or an address.
	Spec string `toml:"spec,omitempty" json:"spec,omitempty"`
	// BaseURL is where the service is. Unset: the first server of the document.
	BaseURL string `toml:"base_url,omitempty" json:"base_url,omitempty"`
	// Headers are sent with each request; a value "$NAME" is that variable's.
	Headers map[string]string `toml:"headers,omitempty" json:"headers,omitempty"`
	// KeyEnv is the name of the variable that holds the key, and KeyCommand a command that
	// prints it. It is sent as a bearer token, or as it is in KeyHeader.
	KeyEnv     string `toml:"key_env,omitempty" json:"key_env,omitempty"`
	KeyCommand string `toml:"key_command,omitempty" json:"key_command,omitempty"`
	KeyHeader  string `toml:"key_header,omitempty" json:"key_header,omitempty"`
	// Operations are patterns for the names of operations that are tools, Deny for those
	// that are not. Unset: all are.
	Operations []string `toml:"operations,omitempty" json:"operations,omitempty"`
	Deny       []string `toml:"deny,omitempty" json:"deny,omitempty"`
	// Trim says by patterns for operations which part of an answer a model reads: a JSON
	// path (RFC 9535).
	Trim map[string]string `toml:"trim,omitempty" json:"trim,omitempty"`
	// Outside reaches the service from phases that have no network.
	Outside bool `toml:"outside,omitempty" json:"outside,omitempty"`
	// Timeout bounds a call. Unset: that of [timeouts] mcp.
	Timeout Duration `toml:"timeout,omitempty" json:"timeout,omitzero"`
	Off     bool     `toml:"off,omitempty" json:"off,omitempty"` // do without it
}

// OpenAPIServices are the services that are used, by name.
func (c Config) OpenAPIServices() map[string]OpenAPIConfig {
	out := maps.Clone(c.OpenAPI)
	maps.DeleteFunc(out, func(_ string, s OpenAPIConfig) bool { return s.Off })
	return out
}

// asServer is what a service has in common with a server of tools.
func (c OpenAPIConfig) asServer() MCPConfig {
	return MCPConfig{
		URL:        c.BaseURL,
		Headers:    c.Headers,
		KeyEnv:     c.KeyEnv,
		KeyCommand: c.KeyCommand,
		Allow:      c.Operations,
		Deny:       c.Deny,
	}
}

// public leaves out what may be a key.
func (c OpenAPIConfig) public() OpenAPIConfig {
	server := c.asServer().public()
	c.Spec = publicURL(c.Spec)
	c.BaseURL, c.Headers, c.KeyCommand = server.URL, server.Headers, server.KeyCommand
	return c
}

// openAPIFaults checks what is said of services.
func openAPIFaults(services map[string]OpenAPIConfig) []fault {
	var out []fault
	for _, name := range slices.Sorted(maps.Keys(services)) {
		if !isServer(name) {
			out = append(out, fault{key: "openapi." + name, text: fmt.Sprintf(
				"= %q is not a service's name: write lower-case letters, digits, - and single _, at most %d",
				name, longestServer,
			)})
		}
		for _, f := range services[name].faults() {
			out = append(out, fault{key: "openapi." + name + f.key, text: f.text})
		}
	}
	return out
}

// faults are those of one entry, by their keys behind its own.
func (c OpenAPIConfig) faults() []fault {
	var out []fault
	if isBlank(c.Spec) {
		out = append(out, fault{key: ".spec", text: "must name the OpenAPI document, a file or an address"})
	}
	if c.KeyHeader != "" {
		if text := wrongHeader(c.KeyHeader, "x"); text != "" {
			out = append(out, fault{key: ".key_header", text: text})
		}
	}
	ours := map[string]string{".url": ".base_url", ".allow": ".operations"}
	for _, f := range c.asServer().faults() {
		f.key = cmp.Or(ours[f.key], f.key)
		out = append(out, f)
	}
	for _, pattern := range slices.Sorted(maps.Keys(c.Trim)) {
		if pattern == "" || !doublestar.ValidatePattern(pattern) || isBlank(c.Trim[pattern]) {
			out = append(out, fault{
				key: ".trim",
				text: fmt.Sprintf(
					"= %q must be a pattern such as \"list*\" with a JSON path such as \"$.items\"",
					pattern,
				),
			})
		}
	}
	return out
}
