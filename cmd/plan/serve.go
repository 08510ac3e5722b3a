package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/model/scripted"
)

// demoServeCommand serves a scripted model, so that a gateway's ways can be tried
// without the gateway.
func (a *app) demoServeCommand() *cobra.Command {
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
			return a.serve(cmd.Context(), args, a.inputIsPipe(), a.tellProviders)
		},
	}
}

// serveCommand is the same under the name that scripts and tests know, with what
// they read: shell assignments and nothing else.
func (a *app) serveCommand() *cobra.Command {
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
			return a.serve(cmd.Context(), args, true, a.tellServer)
		},
	}
}

// needsScenario refuses a command line without a file.
func needsScenario(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage("%s needs a scenario file", cmd.CommandPath())
	}
	return nil
}

// serve plays the scenario in files until it is told to stop; held says that the
// end of standard input stops it, too. Tell says where.
func (a *app) serve(
	ctx context.Context,
	files []string,
	held bool,
	tell func(*scripted.Server) error,
) (err error) {
	scenario, err := scripted.LoadAll(files)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	server, err := scripted.Start(ctx, scenario, scripted.Config{})
	if err != nil {
		return fmt.Errorf("serve %s: %w", strings.Join(files, " "), err)
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if err := tell(server); err != nil {
		return err
	}
	if held {
		go func() { // it ends with the process at the latest
			_, _ = io.Copy(io.Discard, a.in)
			stop()
		}()
	}
	<-ctx.Done()
	return nil
}

// inputIsPipe reports whether another program holds the other end of standard
// input. A terminal would stop a process in the background that reads from it, and
// /dev/null, which is what such a process gets from a shell, ends at once.
func (a *app) inputIsPipe() bool {
	f, ok := a.in.(*os.File)
	if !ok {
		return true
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
}

// tellServer prints how to reach a server, as shell assignments.
func (a *app) tellServer(server *scripted.Server) error {
	where := map[string]string{"OPENAI_BASE_URL": server.URL(), scripted.KeyEnv: server.Key()}
	return a.answer(where, func(w io.Writer) error { return tell(w, server.Assignments()) })
}

// tellProviders prints how to reach a server over each of its wires.
func (a *app) tellProviders(server *scripted.Server) error {
	served := servedDocument{
		BaseURL: server.URL(),
		Key:     server.Key(),
		KeyEnv:  scripted.KeyEnv,
		Wires:   server.Wires(),
		Config:  server.ProviderTables(),
	}
	return a.answer(served, func(w io.Writer) error {
		return tell(w, server.Assignments()+
			"\n# For config.toml: a provider for each wire. Use one as --model NAME/any.\n"+served.Config)
	})
}

// servedDocument is what `plan demo serve --json` prints.
type servedDocument struct {
	BaseURL string          `json:"base_url"`
	Key     string          `json:"key"`
	KeyEnv  string          `json:"key_env"` // the variable that the tables take it from
	Wires   []scripted.Wire `json:"wires"`
	Config  string          `json:"config"` // tables for config.toml
}

func tell(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("say where the scripted model is: %w", err)
	}
	return nil
}
