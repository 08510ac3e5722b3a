package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"

	"github.com/plan-engine/plan/model/scripted"
)

// serve plays the scenario in files until it is told to stop. The end of held stops
// it too; nil for nothing that does. Tell says where it is.
func serve(ctx context.Context, files []string, held io.Reader, tell func(*scripted.Server) error) (err error) {
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
	if held != nil {
		go func() { // it ends with the process at the latest
			_, _ = io.Copy(io.Discard, held)
			stop()
		}()
	}
	<-ctx.Done()
	return nil
}

// Served says how to reach a server over each of its wires.
type Served struct {
	BaseURL string          `json:"base_url"`
	Key     string          `json:"key"`
	KeyEnv  string          `json:"key_env"` // the variable that the tables take it from
	Wires   []scripted.Wire `json:"wires"`
	Config  string          `json:"config"` // tables for config.toml
}

// reachedAt is how to reach a server.
func reachedAt(server *scripted.Server) Served {
	return Served{
		BaseURL: server.URL(),
		Key:     server.Key(),
		KeyEnv:  scripted.KeyEnv,
		Wires:   server.Wires(),
		Config:  server.ProviderTables(),
	}
}

// tell writes a text that says so.
func tell(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("say where the scripted model is: %w", err)
	}
	return nil
}
