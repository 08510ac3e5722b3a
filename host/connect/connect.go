// Package connect finds the model servers of settings: where each model is, which
// key it needs, and what is listening on this machine where nothing is named. It
// opens no run, and does not know what its caller is.
package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/model/catalog"
	"github.com/plan-engine/plan/model/provider"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree/git"

	"github.com/plan-engine/plan"
)

// Connector reaches model servers for one environment.
type Connector struct {
	Environ []string          // that keys are read from, as "NAME=value"
	HTTP    *http.Client      // connections that several runs share; nil for some of its own
	Note    func(text string) // what people should know: which local server is used, and why
	Now     func() time.Time
	// Tree is the work tree that models may have written, "" for none: commands that print
	// keys find no program in it.
	Tree string
	// Avoid reports whether an absolute path leads into a further one. Nil: none does.
	Avoid func(path string) bool
}

// getenv is the value of a variable, "" for none. The last one of a name counts.
func (c Connector) getenv(name string) string { return config.Lookup(c.Environ, name) }

// Open finds the servers of settings. Settings that name none get what is
// listening on this machine, and are changed to say so. Nothing is sent to any
// other. Known are the mends of refusals that an earlier process of the run found.
func (c Connector) Open(
	ctx context.Context,
	cfg *config.Config,
	secrets *config.KnownSecrets,
	known []plan.Adjusted,
) (*provider.Set, error) {
	servers := c.Servers(*cfg, secrets, known)
	if err := c.requireServers(ctx, cfg, servers); err != nil {
		servers.Close()
		return nil, err
	}
	if cfg.BaseURL != servers.BaseURL() { // one was found on this machine
		servers.Close()
		servers = c.Servers(*cfg, secrets, known)
	}
	return servers, nil
}

// Servers are the model servers of settings. Nothing is opened yet. Secrets, which
// may be nil, learns the keys that commands print.
func (c Connector) Servers(cfg config.Config, secrets *config.KnownSecrets, known []plan.Adjusted) *provider.Set {
	return provider.New(provider.Config{
		Settings: cfg,
		Catalog:  Catalog(cfg),
		Getenv:   c.getenv,
		Command:  c.keyCommand,
		Secret: func(key string) {
			if secrets != nil {
				secrets.Add(config.Secret{Name: "KEY", Value: key})
			}
		},
		HTTP:  c.HTTP,
		Known: known,
		Now:   c.Now,
	})
}

// requireServers makes sure that there is a server for the model of each phase.
func (c Connector) requireServers(ctx context.Context, cfg *config.Config, servers *provider.Set) error {
	if c.NeedsDiscovery(*cfg, servers) {
		if err := c.Discover(ctx, cfg); err != nil {
			return err
		}
	}
	if cfg.Model == "" {
		return ErrNoModelName
	}
	return requireKeys(*cfg, servers)
}

// requireKeys makes sure that every model that a run can use has a server and a key.
func requireKeys(cfg config.Config, servers *provider.Set) error {
	used, err := usedModels(cfg)
	if err != nil {
		return err
	}
	for name, use := range used {
		place, err := servers.Place(name)
		if err != nil {
			return err
		}
		if place.NoKey || servers.KeySet(place) {
			continue
		}
		text := fmt.Sprintf("there is no key for the provider %s, which has the model %s (%s)",
			place.Provider, place.Model, use)
		advice := fmt.Sprintf("Set %s, or key_env or key_command in [providers.%s] of config.toml.",
			place.KeyFrom, place.Provider)
		return hint.New(text, advice)
	}
	return nil
}

// NeedsDiscovery reports whether the default provider is needed and nothing says
// where it is.
func (c Connector) NeedsDiscovery(cfg config.Config, servers *provider.Set) bool {
	if cfg.BaseURL != "" || cfg.Provider != "" || config.APIKey(c.getenv) != "" || servers.HasKey("openai") {
		return false
	}
	for _, name := range PhaseModels(cfg) {
		if place, err := servers.Place(name); name == "" || err == nil && place.Usual {
			return true
		}
	}
	return false
}

// Discover takes what is listening on this machine into the settings, and says
// what and why.
func (c Connector) Discover(ctx context.Context, cfg *config.Config) error {
	found, ok, passed := provider.Discover(ctx, nil)
	c.noteUnfitModels(passed)
	switch {
	case !ok && len(passed) > 0:
		return errNoCapableModel
	case !ok:
		return errNoModel
	}
	cfg.BaseURL = found.BaseURL
	why := ""
	if cfg.Model == "" {
		cfg.Model = found.Model
		why = " (" + found.Why + ")"
	}
	c.note(fmt.Sprintf("no key and no base URL are set; using %s at %s with model %s%s",
		found.Name, found.BaseURL, cfg.Model, why))
	return nil
}

// maxUnfitNamed bounds how many local models that were not used are named.
const maxUnfitNamed = 6

// noteUnfitModels says in one line which local models were not used, and why.
func (c Connector) noteUnfitModels(models []string) {
	if len(models) == 0 {
		return
	}
	more := ""
	if extra := len(models) - maxUnfitNamed; extra > 0 {
		models = models[:maxUnfitNamed]
		more = fmt.Sprintf("; and %d more", extra)
	}
	c.note("not used: " + strings.Join(models, "; ") + more)
}

func (c Connector) note(text string) {
	if c.Note != nil {
		c.Note(text)
	}
}

// keyCommandTimeout bounds a command that prints a key.
const keyCommandTimeout = 30 * time.Second

// KeyCommand runs a command of the user's own settings that prints a key.
func (c Connector) KeyCommand(ctx context.Context, line string) (string, error) {
	return c.keyCommand(ctx, line)
}

// keyCommand runs a command of the user's own settings that prints a key.
func (c Connector) keyCommand(ctx context.Context, line string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, keyCommandTimeout)
	defer cancel()
	path := git.PathOutside(cmp.Or(c.getenv("PATH"), os.Getenv("PATH")), c.Tree, c.Avoid)
	shell, ok := sandbox.LookPath("sh", path)
	if !ok {
		return "", errors.New("there is no sh on the PATH")
	}
	cmd := exec.CommandContext(ctx, shell, "-c", line) //nolint:gosec // the user's own settings say what it is
	cmd.Env = append(git.Clear(c.Environ, c.Tree, c.Avoid), "PATH="+path)
	cmd.Dir = c.getenv("HOME") // where it stands may be the work tree
	if !filepath.IsAbs(cmd.Dir) {
		cmd.Dir = "/"
	}
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", err //nolint:wrapcheck // the provider is named around it
	}
	return string(out), nil
}

// What is wrong where no model can be reached.
var (
	errNoModel = hint.New("there is no model to talk to",
		"Set OPENAI_API_KEY for api.openai.com; or name a model of another provider, such as "+
			"anthropic/claude-sonnet-4-5, and set its key; or OPENAI_BASE_URL for a gateway or any other compatible "+
			"server; or start a local server (Ollama, LM Studio, llama.cpp, vLLM) with a model that can call tools. "+
			"`plan demo` needs none.")
	errNoCapableModel = hint.New("no model on this machine can do the work",
		"Load one that can chat and call tools into the local server; or set OPENAI_API_KEY, OPENAI_BASE_URL, or "+
			"the key of another provider (`plan models --providers` lists them) and name a model.")
	// ErrNoModelName says that settings name no model.
	ErrNoModelName = hint.New("no model is named",
		"Name one with --model, PLAN_MODEL, or `model = \"…\"` in config.toml; "+
			"`plan models` lists what the server offers.")
)

// Catalog knows windows and prices; the settings override it.
func Catalog(cfg config.Config) *catalog.Catalog {
	over := map[string]catalog.Entry{}
	for name, m := range cfg.Models {
		over[name] = catalog.Entry{
			Window:           m.Window,
			MaxOutput:        m.MaxOutput,
			InputUSD:         m.Input,
			CachedUSD:        m.CachedInput,
			WriteUSD:         m.CacheWrite,
			WriteHourUSD:     m.CacheWriteHour,
			OutputUSD:        m.Output,
			Priced:           m.Input > 0 || m.Output > 0,
			StructuredOutput: m.StructuredOutput == "schema",
			Wire:             m.Wire,
			TakesFound:       m.ToolSearch,
		}
	}
	return catalog.New(over)
}
