package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/model/scripted"
)

// keyEnv is the variable that the demo's key is in.
const keyEnv = "PLAN_DEMO_KEY"

// Stage is a demo that can be played: a repository and a home in a temporary folder,
// which stay for a look around, and a server that plays the model's part.
type Stage struct {
	Repo, Home string

	server *scripted.Server
	wire   string
}

// Open unpacks the repository and starts the server, over a wire.
func Open(ctx context.Context, wire string) (_ *Stage, err error) {
	scenario, err := Scenario()
	if err != nil {
		return nil, err
	}
	server, err := scripted.Start(ctx, scenario, scripted.Config{})
	if err != nil {
		return nil, fmt.Errorf("start the scripted model: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, server.Close())
		}
	}()
	dir, err := os.MkdirTemp("", "plan-demo-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the demo: %w", err)
	}
	s := &Stage{
		Repo:   filepath.Join(dir, "repo"),
		Home:   filepath.Join(dir, "home"),
		server: server,
		wire:   wire,
	}
	return s, Unpack(ctx, s.Repo)
}

// Close ends the server.
func (s *Stage) Close() error { return s.server.Close() }

// Environ are the variables under which the run is the demo's alone.
func (s *Stage) Environ() []string {
	return []string{"PLAN_HOME=" + s.Home, keyEnv + "=" + s.server.Key(), "OPENAI_BASE_URL=", "PLAN_MODEL="}
}

// Settings are those of a run with the server.
func (s *Stage) Settings() config.Config { return Settings(s.server, s.wire, keyEnv) }

// Settings are those of a run with a scripted server, over a wire, with the variable
// that its key is in.
func Settings(server *scripted.Server, wire, keyEnv string) config.Config {
	return config.Config{
		Model: scripted.ProviderName + "/" + scripted.Model,
		Providers: map[string]config.ProviderConfig{scripted.ProviderName: {
			Wire:    wire,
			BaseURL: server.URL(),
			KeyEnv:  keyEnv,
		}},
	}
}
