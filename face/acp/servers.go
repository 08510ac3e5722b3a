package acp

import (
	"strings"

	sdk "github.com/coder/acp-go-sdk"
	"mvdan.cc/sh/v3/syntax"

	"github.com/plan-engine/plan/config"
)

// serversOf are the servers of tools that an editor names for a session.
func serversOf(servers []sdk.McpServer) ([]config.NamedServer, error) {
	var out []config.NamedServer
	for _, g := range servers {
		switch {
		case g.Stdio != nil:
			command, err := syntax.Quote(g.Stdio.Command, syntax.LangBash)
			if err != nil || strings.TrimSpace(g.Stdio.Command) == "" {
				return nil, invalid("server %q has a command that cannot be run", g.Stdio.Name)
			}
			server := config.MCPConfig{
				Command: command,
				Args:    g.Stdio.Args,
				Env:     map[string]string{},
			}
			for _, v := range g.Stdio.Env {
				server.Env[v.Name] = v.Value
			}
			out = append(out, config.NamedServer{Name: g.Stdio.Name, MCPConfig: server})
		case g.Http != nil:
			server := config.MCPConfig{
				URL:     g.Http.Url,
				Headers: map[string]string{},
			}
			for _, header := range g.Http.Headers {
				server.Headers[header.Name] = header.Value
			}
			out = append(out, config.NamedServer{Name: g.Http.Name, MCPConfig: server})
		default:
			return nil, invalid(
				"servers are reached over standard input and output, or streamable HTTP, and no otherwise",
			)
		}
	}
	return out, nil
}
