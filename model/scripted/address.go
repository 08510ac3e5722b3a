package scripted

import (
	"fmt"
	"strings"
)

// KeyEnv is the variable that clients of a server take its key from, as
// [Server.Assignments] and [Server.ProviderTables] have it.
const KeyEnv = "OPENAI_API_KEY"

// ProviderName is what [Server.ProviderTables] calls the server.
const ProviderName = "scripted"

// Wires are those that the scenario has the server speak: all, where it names
// none.
func (s *Server) Wires() []Wire {
	var out []Wire
	for _, p := range protocols() {
		if s.scenario.Server.speaks(p.wire) {
			out = append(out, p.wire)
		}
	}
	return out
}

// Assignments set the variables that reach the server, for a shell.
func (s *Server) Assignments() string {
	return fmt.Sprintf("OPENAI_BASE_URL=%s\n%s=%s\n", s.URL(), KeyEnv, s.Key())
}

// ProviderTables describe the server as config.toml does, once for each of its
// wires.
func (s *Server) ProviderTables() string {
	var b strings.Builder
	for i, wire := range s.Wires() {
		name := ProviderName
		if i > 0 {
			b.WriteString("\n")
			name += "-" + string(wire)
		}
		fmt.Fprintf(&b, "[providers.%s]\nbase_url = %q\nwire = %q\nkey_env = %q\n", name, s.URL(), wire, KeyEnv)
	}
	return b.String()
}
