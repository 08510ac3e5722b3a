package main

import (
	"context"
	"fmt"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/model/openai"
	"github.com/plan-engine/plan/model/record"
)

// openModel connects to a model, or to the recording of one.
func (a *app) openModel(ctx context.Context, w *workshop, cfg *config.Config, flags said) error {
	if flags.replay != "" {
		if cfg.Model == "" {
			return errNoModelName
		}
		player, err := record.Open(flags.replay, w.redact)
		w.model = player
		return err
	}
	client, err := a.connect(ctx, cfg)
	if err != nil {
		return err
	}
	w.model = a.job.gate(client)
	if flags.record == "" {
		return nil
	}
	recorder, err := record.New(client, flags.record, w.redact)
	if err != nil {
		return err
	}
	w.model, w.close = recorder, recorder.Close
	return nil
}

// connect makes the model client. A configuration that names no server gets
// what is listening on this machine.
func (a *app) connect(ctx context.Context, cfg *config.Config) (*openai.Client, error) {
	key := config.APIKey(a.getenv)
	if cfg.BaseURL == "" && key == "" {
		server, ok := openai.Discover(ctx, nil)
		if !ok {
			return nil, failed(errNoModel)
		}
		cfg.BaseURL = server.BaseURL
		if cfg.Model == "" && len(server.Models) > 0 {
			cfg.Model = server.Models[0]
		}
		fmt.Fprintf(a.err, "plan: no key and no base URL are set; using %s at %s with model %s\n", server.Name, server.BaseURL, cfg.Model)
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = openai.DefaultBaseURL
	}
	if cfg.Model == "" {
		return nil, failed(errNoModelName)
	}
	client, err := openai.New(openai.Config{
		BaseURL:    cfg.BaseURL,
		HTTP:       a.job.client(),
		Key:        func(context.Context) (string, error) { return key, nil },
		Idle:       cfg.Timeouts.Idle.Duration,
		Structured: cfg.Structured,
		Caps:       capabilities(*cfg),
	})
	return client, failed(err)
}

// advice is an error with a hint.
type advice struct{ text, hint string }

func (e *advice) Error() string { return e.text }
func (e *advice) Hint() string  { return e.hint }

// hinted gives an error a hint.
type hinted struct {
	error
	hint string
}

func (e *hinted) Hint() string  { return e.hint }
func (e *hinted) Unwrap() error { return e.error }

var (
	errNoModel = &advice{
		"there is no model to talk to",
		"Set OPENAI_API_KEY for api.openai.com; or OPENAI_BASE_URL for a gateway or any other compatible server; or start a local server (Ollama, LM Studio, llama.cpp, vLLM). `plan demo` needs none.",
	}
	errNoModelName = &advice{
		"no model is named",
		"Name one with --model, PLAN_MODEL, or `model = \"…\"` in config.toml; `plan doctor` lists what the server offers.",
	}
)
