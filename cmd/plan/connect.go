package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/model/provider"
	"github.com/plan-engine/plan/model/record"
)

// openModel connects to the models, or to the recording of one.
func (a *app) openModel(
	ctx context.Context,
	w *workshop,
	cfg *config.Config,
	flags said,
	known []plan.Adjusted,
) error {
	if flags.replay != "" {
		if cfg.Model == "" {
			return errNoModelName
		}
		w.servers = a.servers(*cfg, w.secrets, known)
		w.close = a.closing(w.servers, nil)
		player, err := record.Open(flags.replay, w.redact)
		w.model = player
		return err
	}
	servers, err := a.connect(ctx, cfg, w.secrets, known)
	if err != nil {
		return err
	}
	w.servers, w.model = servers, a.job.gate(servers)
	w.close = a.closing(servers, nil)
	if flags.record == "" {
		return nil
	}
	recorder, err := record.New(servers, flags.record, w.redact)
	if err != nil {
		return err
	}
	w.model, w.close = recorder, a.closing(servers, recorder.Close)
	return nil
}

// closing closes the recording of a model, if there is one, and then its servers.
func (a *app) closing(servers *provider.Set, recording func() error) func() error {
	return func() (err error) {
		if recording != nil {
			err = recording()
		}
		servers.Close()
		return err
	}
}

// connect finds the servers of the settings. Settings that name none get what is
// listening on this machine. Nothing is sent to any other.
func (a *app) connect(
	ctx context.Context,
	cfg *config.Config,
	secrets *config.KnownSecrets,
	known []plan.Adjusted,
) (*provider.Set, error) {
	servers := a.servers(*cfg, secrets, known)
	if err := a.place(ctx, cfg, servers); err != nil {
		servers.Close()
		return nil, err
	}
	if cfg.BaseURL != servers.BaseURL() { // one was found on this machine
		servers.Close()
		servers = a.servers(*cfg, secrets, known)
	}
	return servers, nil
}

// place makes sure that there is a server for the model of each phase.
func (a *app) place(ctx context.Context, cfg *config.Config, servers *provider.Set) error {
	if a.nowhere(*cfg, servers) {
		if err := a.discover(ctx, cfg); err != nil {
			return err
		}
	}
	if cfg.Model == "" {
		return failed(errNoModelName)
	}
	return reachable(*cfg, servers)
}

// reachable makes sure that every model that a run can use has a server and a key.
func reachable(cfg config.Config, servers *provider.Set) error {
	used, err := usedNames(cfg)
	if err != nil {
		return err
	}
	for name, what := range used {
		place, err := servers.Place(name)
		if err != nil {
			return failed(err)
		}
		if !place.NoKey && !servers.KeySet(place) {
			return failed(&advice{
				fmt.Sprintf(
					"there is no key for the provider %s, which has the model %s (%s)",
					place.Provider,
					place.Model,
					what,
				),
				fmt.Sprintf(
					"Set %s, or key_env or key_command in [providers.%s] of config.toml.",
					place.KeyFrom,
					place.Provider,
				),
			})
		}
	}
	return nil
}

// nowhere reports whether the default provider is needed and nothing says where
// it is.
func (a *app) nowhere(cfg config.Config, servers *provider.Set) bool {
	if cfg.BaseURL != "" || cfg.Provider != "" || config.APIKey(a.getenv) != "" || servers.HasKey("openai") {
		return false
	}
	for _, name := range modelsOf(cfg) {
		if place, err := servers.Place(name); name == "" || err == nil && place.Usual {
			return true
		}
	}
	return false
}

// discover takes what is listening on this machine, and says what and why.
func (a *app) discover(ctx context.Context, cfg *config.Config) error {
	found, ok, passed := provider.Discover(ctx, nil)
	a.notePassed(passed)
	switch {
	case !ok && len(passed) > 0:
		return failed(errNoWorker)
	case !ok:
		return failed(errNoModel)
	}
	cfg.BaseURL = found.BaseURL
	why := ""
	if cfg.Model == "" {
		cfg.Model = found.Model
		why = " (" + found.Why + ")"
	}
	fmt.Fprintf(a.err, "plan: no key and no base URL are set; using %s at %s with model %s%s\n",
		found.Name, found.BaseURL, render.SafeLine(cfg.Model), why)
	return nil
}

// mostPassed bounds how many models that were passed over are named.
const mostPassed = 6

// notePassed says which local models were passed over, and why, in one line.
func (a *app) notePassed(passed []string) {
	if len(passed) == 0 {
		return
	}
	more := ""
	if extra := len(passed) - mostPassed; extra > 0 {
		passed, more = passed[:mostPassed], fmt.Sprintf("; and %d more", extra)
	}
	fmt.Fprintf(a.err, "plan: note: not used: %s%s\n", render.SafeLine(strings.Join(passed, "; ")), more)
}

// servers are the model servers of settings. Nothing is opened yet.
func (a *app) servers(cfg config.Config, secrets *config.KnownSecrets, known []plan.Adjusted) *provider.Set {
	return provider.New(provider.Config{
		Settings: cfg,
		Catalog:  catalogue(cfg),
		Getenv:   a.getenv,
		Command:  a.keyCommand,
		Secret: func(key string) {
			if secrets != nil {
				secrets.Add(config.Secret{Name: "KEY", Value: key})
			}
		},
		HTTP:  a.job.client(),
		Known: known,
		Now:   a.now,
	})
}

// keyTime bounds a command that prints a key.
const keyTime = 30 * time.Second

// keyCommand runs a command of the user's own settings that prints a key.
func (a *app) keyCommand(ctx context.Context, line string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, keyTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Env = a.environ
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", err //nolint:wrapcheck // the provider is named around it
	}
	return string(out), nil
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
		"Set OPENAI_API_KEY for api.openai.com; or name a model of another provider, such as anthropic/claude-sonnet-4-5, and set its key; " +
			"or OPENAI_BASE_URL for a gateway or any other compatible server; or start a local server (Ollama, LM Studio, llama.cpp, vLLM) " +
			"with a model that can call tools. `plan demo` needs none.",
	}
	errNoWorker = &advice{
		"no model on this machine can do the work",
		"Load one that can chat and call tools into the local server; or set OPENAI_API_KEY, OPENAI_BASE_URL, or the key of another provider " +
			"(`plan models --providers` lists them) and name a model.",
	}
	errNoModelName = &advice{
		"no model is named",
		"Name one with --model, PLAN_MODEL, or `model = \"…\"` in config.toml; `plan models` lists what the server offers.",
	}
)

// providerKeys says in a few words what to set for models of a provider.
func providerKeys(place provider.Place) string {
	switch {
	case place.KeyFrom == "command":
		return fmt.Sprintf("Check the key_command of [providers.%s].", place.Provider)
	case place.KeyFrom != "":
		return fmt.Sprintf(
			"Check %s, the base URL %s and the model's name.",
			place.KeyFrom,
			strings.TrimSuffix(place.BaseURL, "/"),
		)
	}
	return fmt.Sprintf("Check the base URL %s and the model's name.", strings.TrimSuffix(place.BaseURL, "/"))
}
