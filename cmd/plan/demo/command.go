package demo

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/model/scripted"
)

// Server has the commands that serve a scripted model.
type Server struct {
	In     io.Reader // whose end ends them
	Answer func(document any, text func(io.Writer) error) error
}

// Command makes `plan demo serve`, with which a gateway's ways can be tried without the
// gateway.
func (s Server) Command() *cobra.Command {
	return &cobra.Command{
		Use:   "serve SCENARIO.toml…",
		Short: "Serve a model that says what scenario files tell it to",
		Long: `Serve starts a model server on this machine that says what the scenario files
tell it to, as if they were one file: their replies are tried in order. It speaks
Chat Completions, Responses and Messages below one base URL. It prints the base
URL, the key, and tables for config.toml with a provider for each wire.

A scenario's [server] table has it play the ways of a gateway: parameters that it
refuses, a window, reasoning that must come back, costs, silence. How a scenario
is written stands in docs/models.md.

It serves until it is told to stop (Ctrl-C, SIGTERM). Where standard input is a
pipe, it also ends when that is closed, so that it does not outlive the script
that holds the other end.`,
		Example: `  plan demo serve scenario.toml
  plan demo serve deepseek.toml replies.toml
  plan demo serve scenario.toml --json | jq -r .config`,
		Args: needsScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			return serve(cmd.Context(), args, heldInput(s.In), s.tellProviders)
		},
	}
}

// ScriptCommand is the same under the name that scripts and tests know, with what
// they read: shell assignments and nothing else.
func (s Server) ScriptCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "__serve SCENARIO.toml…",
		Short:  "Serve a scripted model, for scripts and tests",
		Hidden: true,
		Long: `Serve is "plan demo serve" for scripts. It prints how to reach the server,

  OPENAI_BASE_URL=…
  OPENAI_API_KEY=…

and serves until it is told to stop (SIGINT, SIGTERM) or standard input is
closed.`,
		Args: needsScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			return serve(cmd.Context(), args, s.In, s.tellServer)
		},
	}
}

// needsScenario refuses a command line without a file.
func needsScenario(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return hint.Usage("%s needs a scenario file", cmd.CommandPath())
	}
	return nil
}

// tellServer prints how to reach a server, as shell assignments.
func (s Server) tellServer(server *scripted.Server) error {
	where := map[string]string{"OPENAI_BASE_URL": server.URL(), scripted.KeyEnv: server.Key()}
	return s.Answer(where, func(w io.Writer) error { return tell(w, server.Assignments()) })
}

// tellProviders prints how to reach a server over each of its wires.
func (s Server) tellProviders(server *scripted.Server) error {
	served := reachedAt(server)
	return s.Answer(served, func(w io.Writer) error {
		return tell(w, server.Assignments()+
			"\n# For config.toml: a provider for each wire. Use one as --model NAME/any.\n"+served.Config)
	})
}
