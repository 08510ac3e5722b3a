package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/cmd/plan/build"
	"github.com/plan-engine/plan/cmd/plan/runflags"
	"github.com/plan-engine/plan/face/mcp"
)

func (a *app) mcpCommand() *cobra.Command {
	var flags runflags.Flags
	var listen string
	options := mcp.Options{Version: build.Version()}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Let other agents drive runs, over the Model Context Protocol",
		Long: `Mcp is a server of the Model Context Protocol, on standard input and output or, with
--listen, over HTTP on this machine. Its tools begin runs and reviews, wait for them,
speak to them and bring changes over. What waits for a person is asked of the person
behind the client, where the client can show a form, and is left alone otherwise,
unless --allow-decisions lets the agent decide. When the client leaves, its runs
park, unless --stay is given. How agents are set up stands in docs/agents.md.`,
		Example: `  plan mcp
  plan mcp --check "go test ./..." --max-cost 5
  plan mcp --listen 127.0.0.1:0 --json       prints the address and the token`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if options.Run, err = flags.Options(cmd); err != nil {
				return err
			}
			options.Dir = a.dir
			ctx, release := a.interruptible(cmd.Context())
			defer release()
			if listen == "" {
				return mcp.ServeStdio(ctx, a.host, io.NopCloser(a.in), noClose{a.out}, options)
			}
			return mcp.ServeHTTP(ctx, a.host, listen, options, a.tellListening)
		},
	}
	flags.Register(cmd)
	fl := cmd.Flags()
	fl.StringVar(&listen, "listen", "", "serve over HTTP at this loopback `ADDRESS`, such as 127.0.0.1:7654")
	fl.StringArrayVar(&options.Repos, "repo", nil,
		"`DIR` that calls may name as their repository (repeatable; default: any)")
	fl.BoolVar(&options.AllowDecisions, "allow-decisions", false,
		"let the agent approve and refuse what runs wait with")
	fl.BoolVar(&options.Stay, "stay", false, "go on with runs when the client has left, until they end or park")
	return cmd
}

// noClose is standard output, which outlives a connection.
type noClose struct{ io.Writer }

func (noClose) Close() error { return nil }

// tellListening says where a server can be reached.
func (a *app) tellListening(s mcp.Served) error {
	return a.answer(s, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s\nAuthorization: Bearer %s\n", s.URL, s.Token)
		return err
	})
}
