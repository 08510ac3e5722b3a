package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"reflect"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/model/scripted"
)

// serveCommand is for scripts and tests: it stands in for a model, so that
// other commands can be tried from a shell without a provider. It is hidden
// because it is no part of working with runs, and its form may change.
func (a *app) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "__serve SCENARIO.toml…",
		Short:  "Serve a scripted model, for scripts and tests",
		Hidden: true,
		Long: `Serve starts a model server on this machine that says what the scenario files
tell it to, as if they were one file: their replies are tried in order. It
prints how to reach it,

  OPENAI_BASE_URL=…
  OPENAI_API_KEY=…

and serves until it is told to stop (SIGINT, SIGTERM) or standard input is
closed, so that it never outlives the script that holds the other end.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("plan __serve needs a scenario file")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return failed(a.serve(cmd.Context(), args)) },
	}
}

// serve plays the scenario in files until it is told to stop.
func (a *app) serve(ctx context.Context, files []string) (err error) {
	scenario, err := joinScenarios(files)
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
	if err := a.tellServer(server); err != nil {
		return err
	}
	go func() { // it ends with the process at the latest
		_, _ = io.Copy(io.Discard, a.in)
		stop()
	}()
	<-ctx.Done()
	return nil
}

// tellServer prints how to reach a server, as shell assignments.
func (a *app) tellServer(server *scripted.Server) error {
	where := map[string]string{"OPENAI_BASE_URL": server.URL(), "OPENAI_API_KEY": server.Key()}
	if a.json {
		return a.document(where)
	}
	_, err := fmt.Fprintf(a.out, "OPENAI_BASE_URL=%s\nOPENAI_API_KEY=%s\n", server.URL(), server.Key())
	if err != nil {
		return fmt.Errorf("say where the scripted model is: %w", err)
	}
	return nil
}

// joinScenarios reads scenario files as one: the replies of all, in order,
// the longest delay, and the ways of the server from the file that says them.
func joinScenarios(files []string) (*scripted.Scenario, error) {
	var names []string
	joined := &scripted.Scenario{}
	for _, file := range files {
		s, err := scripted.Load(file)
		if err != nil {
			return nil, err
		}
		if s.Name != "" {
			names = append(names, s.Name)
		}
		if !reflect.ValueOf(s.Server).IsZero() {
			if !reflect.ValueOf(joined.Server).IsZero() {
				return nil, fmt.Errorf("%s has a [server] table, as a file before it has: one server has one; take the other out", file)
			}
			joined.Server = s.Server
		}
		joined.Delay = max(joined.Delay, s.Delay)
		joined.Replies = append(joined.Replies, s.Replies...)
	}
	joined.Name = strings.Join(names, ", ")
	return joined, nil
}
