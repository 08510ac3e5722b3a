package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"mvdan.cc/sh/v3/syntax"
)

// MCPConfig is a server of tools, which speaks the Model Context Protocol. It is
// started with a command, or reached at an address.
type MCPConfig struct {
	// Command starts it: it speaks over its standard input and output. Args are further
	// words, which the shell takes as they are.
	Command string   `toml:"command,omitempty" json:"command,omitempty"`
	Args    []string `toml:"args,omitempty" json:"args,omitempty"`
	// Env are variables for it. A value "$NAME" is that variable's.
	Env map[string]string `toml:"env,omitempty" json:"env,omitempty"`
	// URL is where it is reached over HTTP. Headers are sent with each request; a value
	// "$NAME" is that variable's.
	URL     string            `toml:"url,omitempty" json:"url,omitempty"`
	Headers map[string]string `toml:"headers,omitempty" json:"headers,omitempty"`
	// KeyEnv is the name of the variable that holds its key, and KeyCommand a command
	// that prints it.
	KeyEnv     string `toml:"key_env,omitempty" json:"key_env,omitempty"`
	KeyCommand string `toml:"key_command,omitempty" json:"key_command,omitempty"`
	// ReadOnly are patterns for the names of tools that only read. The server has to say
	// so too; phases that only look are offered these, and no others.
	ReadOnly []string `toml:"read_only,omitempty" json:"read_only,omitempty"`
	// Allow are patterns for the names of tools that are there at all, Deny for those that
	// are not. Unset: all are.
	Allow []string `toml:"allow,omitempty" json:"allow,omitempty"`
	Deny  []string `toml:"deny,omitempty" json:"deny,omitempty"`
	// Outside starts it without walls, with the user's own environment, in the user's home,
	// or reaches its address from phases that have no network. Only the user's own
	// file can say it.
	Outside bool `toml:"outside,omitempty" json:"outside,omitempty"`
	// Timeout bounds a call. Unset: that of [timeouts] mcp.
	Timeout Duration `toml:"timeout,omitempty" json:"timeout,omitzero"`
	Off     bool     `toml:"off,omitempty" json:"off,omitempty"` // do without it

	From Origin `toml:"-" json:"from,omitempty"`
	// Digest is what a repository's server was trusted as: the entry, and the files that
	// its command runs.
	Digest string `toml:"-" json:"digest,omitempty"`
	// Entry is what was digested of it: what the user adds is none of it.
	Entry string `toml:"-" json:"-"`
}

// longestServer bounds the names of servers, in bytes: names of tools begin with them.
const longestServer = 24

// Line is the command line that starts the server.
func (c MCPConfig) Line() string {
	words := []string{c.Command}
	for _, arg := range c.Args {
		words = append(words, shellWord(arg))
	}
	return strings.Join(words, " ")
}

// shellWord is a text as a word that a shell takes as it is.
func shellWord(text string) string {
	quoted, err := syntax.Quote(text, syntax.LangBash)
	if err != nil { // a NUL byte, which no command can hold
		return "''"
	}
	return quoted
}

// supplements says that an entry is no server by itself: it says more of one that a
// repository brings.
func (c MCPConfig) supplements() bool { return isBlank(c.Command) && c.URL == "" }

// MCPServers are the servers that are used, by name.
func (c Config) MCPServers() map[string]MCPConfig {
	out := map[string]MCPConfig{}
	for name, s := range c.MCP {
		if !s.Off && !s.supplements() {
			out[name] = s
		}
	}
	return out
}

// NamedServer is a server that is named beside the settings.
type NamedServer struct {
	Name string
	MCPConfig
}

// ServersBeside are servers that a program names beside the settings, such as an editor, by
// the names that they have beside those of the settings: one whose name is taken gets a
// prefix. What the settings say of a server that they do not start is laid below it.
func (c Config) ServersBeside(prefix string, servers []NamedServer) (map[string]MCPConfig, error) {
	all := maps.Clone(c.MCP)
	if all == nil {
		all = map[string]MCPConfig{}
	}
	out := map[string]MCPConfig{}
	for _, g := range servers {
		name := serverName(g.Name)
		mine, there := all[name]
		if there && !mine.supplements() {
			name = freeName(all, prefix, name)
		}
		if problems := g.faults(); len(problems) > 0 {
			first := problems[0]
			return nil, fmt.Errorf("server %q: %s %s", g.Name, strings.TrimPrefix(first.key, "."), first.text)
		}
		if g.supplements() {
			return nil, fmt.Errorf("server %q names neither a command nor a url", g.Name)
		}
		out[name], all[name] = g.MCPConfig, g.MCPConfig
	}
	return out, nil
}

// public leaves out what may be a key.
func (c MCPConfig) public() MCPConfig {
	c.URL = publicURL(c.URL)
	if c.KeyCommand != "" {
		c.KeyCommand = hidden
	}
	hide := func(values map[string]string) map[string]string {
		values = maps.Clone(values)
		for name, value := range values {
			if _, ok := variableOf(value); !ok {
				values[name] = hidden
			}
		}
		return values
	}
	c.Env, c.Headers = hide(c.Env), hide(c.Headers)
	c.Args = slices.Clone(c.Args)
	for i, arg := range c.Args {
		if looksLikeKey()(arg) {
			c.Args[i] = hidden
		}
	}
	return c
}

// secrets finds the values that public does not show.
func (c MCPConfig) secrets(key string, add func(name, value string)) {
	addURL(c.URL, key+".url", add)
	for table, values := range map[string]map[string]string{".env.": c.Env, ".headers.": c.Headers} {
		for name, value := range values {
			if _, ok := variableOf(value); ok || !isSecret(name, value) {
				continue
			}
			add(key+table+name, value)
			if _, rest, ok := strings.Cut(value, " "); ok { // behind "Bearer"
				add(key+table+name, rest)
			}
		}
	}
	for _, arg := range c.Args {
		if looksLikeKey()(arg) {
			add(key+".args", arg)
		}
	}
}

// variables are the names of those that the entry takes values from.
func (c MCPConfig) variables() []string {
	var out []string
	if c.KeyEnv != "" {
		out = append(out, c.KeyEnv)
	}
	for _, values := range []map[string]string{c.Env, c.Headers} {
		for _, value := range values {
			if name, ok := variableOf(value); ok {
				out = append(out, name)
			}
		}
	}
	return out
}

// mcpFaults checks what is said of servers.
func mcpFaults(servers map[string]MCPConfig) []fault {
	var out []fault
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		key := "mcp." + name
		if !isServer(name) {
			out = append(out, fault{key: key, text: fmt.Sprintf(
				"= %q is not a server's name: write lower-case letters, digits, - and single _, at most %d",
				name, longestServer,
			)})
		}
		for _, f := range servers[name].faults() {
			out = append(out, fault{key: key + f.key, text: f.text})
		}
	}
	return out
}

func isServer(name string) bool {
	return isProvider(name) && len(name) <= longestServer && !strings.Contains(name, "__") &&
		!strings.HasSuffix(name, "_")
}

// faults are those of one entry, by their keys behind its own.
func (c MCPConfig) faults() []fault {
	var out []fault
	add := func(key, text string) { out = append(out, fault{key: key, text: text}) }
	switch {
	case c.Command != "" && c.URL != "":
		add(".url", "and command are both set: keep one")
	case c.URL != "" && !webAddress(c.URL):
		add(".url", `must be an address like "https://host/mcp"`)
	case c.KeyEnv != "" && c.KeyCommand != "":
		add(".key_env", "and key_command are both set: keep one")
	case c.KeyEnv != "" && !isVariable(c.KeyEnv):
		add(".key_env", `must be the name of a variable that holds the key, such as "GITHUB_TOKEN", and not the key`)
	case c.KeyCommand != "" && isBlank(c.KeyCommand):
		add(".key_command", "is blank: name a command that prints the key, or remove it")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if !isVariable(name) || wrongText(c.Env[name]) != "" || strings.ContainsAny(c.Env[name], "\n") {
			add(".env."+name, "must be the name of a variable and a value of one line")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		if text := wrongHeader(name, c.Headers[name]); text != "" {
			add(".headers."+name, text)
		}
	}
	for key, patterns := range map[string][]string{".read_only": c.ReadOnly, ".allow": c.Allow, ".deny": c.Deny} {
		for _, pattern := range patterns {
			if pattern == "" || !doublestar.ValidatePattern(pattern) {
				add(key, fmt.Sprintf("= %q is not a pattern that can be read, such as \"search_*\"", pattern))
			}
		}
	}
	return out
}
