package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/internal/oneline"
)

// theirMCPFile is where repositories usually name servers of tools, for any program.
const theirMCPFile = ".mcp.json"

// theirServer is a server that a repository brings.
type theirServer struct {
	name string
	item trust.Item
	cfg  MCPConfig
	// notes are what of the entry never counts.
	notes []Warning
}

// readServers finds the servers that a repository names. What cannot be read of
// .mcp.json, which other programs read too, is a warning.
func (t *repoFile) readServers(root string) error {
	var doc struct {
		MCP map[string]MCPConfig `toml:"mcp"`
	}
	if err := toml.Unmarshal(t.data, &doc); err != nil {
		return fmt.Errorf("read the settings: %s: mcp: %w", t.path, err)
	}
	for _, name := range slices.Sorted(maps.Keys(doc.MCP)) {
		line := max(1, lineOf(t.data, "mcp."+name, 0))
		t.addServer(root, theirFile+"#mcp."+name, t.path, line, name, doc.MCP[name])
	}
	file := filepath.Join(root, theirMCPFile)
	data, err := readFile(file)
	if err != nil {
		t.unreadServers(file, err)
		return nil
	}
	if len(data) == 0 {
		return nil
	}
	servers, err := readMCPFile(data)
	if err != nil {
		t.unreadServers(file, err)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		t.addServer(root, theirMCPFile+"#"+name, file, 1, name, servers[name])
	}
	return nil
}

func (t *repoFile) unreadServers(file string, err error) {
	t.unknown = append(t.unknown, Warning{
		File: file,
		Line: 1,
		Key:  "the list of servers",
		Why:  oneline.Of(err.Error()),
	})
}

// readMCPFile reads a .mcp.json.
func readMCPFile(data []byte) (map[string]MCPConfig, error) {
	var doc struct {
		Servers map[string]struct {
			Command string            `json:"command"`
			Args    []string          `json:"args"`
			Env     map[string]string `json:"env"`
			URL     string            `json:"url"`
			Headers map[string]string `json:"headers"`
			Off     bool              `json:"disabled"`
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("it is no JSON with mcpServers: %w", err)
	}
	out := map[string]MCPConfig{}
	for name, s := range doc.Servers {
		c := MCPConfig{
			Args:    s.Args,
			Env:     s.Env,
			URL:     s.URL,
			Headers: s.Headers,
			Off:     s.Off,
		}
		if s.Command != "" {
			c.Command = shellWord(s.Command)
		}
		out[name] = c
	}
	return out, nil
}

// addServer takes up one entry, without what no repository may say.
func (t *repoFile) addServer(root, path, file string, line int, name string, c MCPConfig) {
	s := theirServer{name: serverName(name)}
	refuse := func(key, why string) {
		s.notes = append(s.notes, Warning{
			File: file,
			Line: line,
			Key:  fmt.Sprintf("%s of the MCP server %q", key, name),
			Why:  why,
		})
	}
	const keys = "keys and headers are never taken from a repository; say it in your own config.toml, under [mcp.%s]"
	if c.KeyEnv != "" || c.KeyCommand != "" || len(c.Headers) > 0 {
		refuse("the key or a header", fmt.Sprintf(keys, s.name))
		c.KeyEnv, c.KeyCommand, c.Headers = "", "", nil
	}
	c.Env = maps.Clone(c.Env)
	for _, variable := range slices.Sorted(maps.Keys(c.Env)) {
		if strings.Contains(c.Env[variable], "$") {
			refuse("env."+variable, fmt.Sprintf(keys, s.name))
			delete(c.Env, variable)
		}
	}
	if c.Outside {
		refuse("outside", "a repository's server never runs outside the walls, trusted or not; "+ownFile)
		c.Outside = false
	}
	entry, err := plan.MarshalCompact(c)
	c.From, c.Entry = FromTrusted, string(entry)
	s.item = trust.Item{
		Kind:   "mcp",
		Path:   path,
		Detail: serverDetail(c),
	}
	digest := ""
	if err == nil {
		digest, err = serverDigest(root, c)
	}
	if problems := c.faults(); err == nil && len(problems) > 0 {
		err = problems[0]
	}
	if err == nil && c.supplements() {
		err = errors.New("it names neither a command nor a url")
	}
	if err != nil {
		s.item.Detail += "; it cannot be trusted: " + oneline.Of(err.Error())
	} else {
		s.item.Digest, c.Digest = digest, digest
	}
	s.cfg = c
	t.servers = append(t.servers, s)
}

// serverName makes the name that any program takes for a server one that names of tools
// can begin with.
func serverName(name string) string {
	name = strings.Map(func(r rune) rune {
		if isWord(r) || r == '-' {
			return r
		}
		return '_'
	}, strings.ToLower(name))
	for strings.Contains(name, "__") {
		name = strings.ReplaceAll(name, "__", "_")
	}
	name = strings.Trim(name[:min(len(name), longestServer)], "-_")
	return cmp.Or(name, "server")
}

// serverDigest is what a repository's server would be trusted as now: its entry, and the
// files of the tree that its command runs.
func serverDigest(root string, c MCPConfig) (string, error) {
	if c.URL != "" {
		return trust.Text(c.Entry), nil
	}
	line := c.Line()
	return trust.Command(root, c.Entry, line, trust.Programs(root, line, true))
}

// ServerDigest is what a repository's server is now; see [MCPConfig.Digest].
func ServerDigest(root string, c MCPConfig) (string, error) {
	if c.From != FromTrusted {
		return "", nil
	}
	return serverDigest(root, c)
}

// serverDetail says for a person what a server would do.
func serverDetail(c MCPConfig) string {
	text := "an MCP server"
	switch {
	case c.URL != "":
		text += " at " + publicURL(c.URL)
	case c.Command != "":
		text += " that runs, behind the walls of each phase: " + c.Line()
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		text += fmt.Sprintf("\nwith %s=%s", name, oneline.Of(c.Env[name]))
	}
	if len(c.ReadOnly) > 0 {
		text += "\nof which phases that only look may call " + oneline.Of(strings.Join(c.ReadOnly, ", "))
	}
	return text
}

// withServers adds the servers that are trusted to the settings. One whose name another
// one has gets a prefix; what the user's settings say of a server that they do not start
// is laid over it.
func (t repoFile) withServers(cfg Config, trusted func(trust.Item) bool) (Config, []Warning) {
	if len(t.servers) == 0 {
		return cfg, nil
	}
	var warnings []Warning
	servers := map[string]MCPConfig{}
	maps.Copy(servers, cfg.MCP)
	for _, s := range t.servers {
		if s.cfg.Off && s.item.Digest != "" {
			continue // it asks for nothing
		}
		if s.item.Digest == "" || !trusted(s.item) {
			warnings = append(warnings, Warning{
				File: t.path,
				Line: 1,
				Key:  fmt.Sprintf("the MCP server %q (%s)", s.name, s.item.Path),
				Why:  "the repository's server is not trusted as it is now; see it and allow it with `plan trust`",
			})
			continue
		}
		warnings = append(warnings, s.notes...)
		name, server := s.name, s.cfg
		mine, there := servers[name]
		switch {
		case there && mine.supplements():
			server = over(server, mine)
			server.From, server.Digest, server.Entry = s.cfg.From, s.cfg.Digest, s.cfg.Entry
		case there:
			name = freeName(servers, "repo", name)
		}
		servers[name] = server
	}
	if len(servers) > 0 {
		cfg.MCP = servers
	}
	return cfg, warnings
}

// freeName is a name for a server whose own is taken: with a prefix.
func freeName(used map[string]MCPConfig, prefix, name string) string {
	for n := 1; ; n++ {
		with := prefix + "_"
		if n > 1 {
			with = fmt.Sprintf("%s%d_", prefix, n)
		}
		free := serverName(with + name)
		if _, there := used[free]; !there {
			return free
		}
	}
}
