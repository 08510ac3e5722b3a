package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/host/connect"
	"github.com/plan-engine/plan/model/wires"
	"github.com/plan-engine/plan/worktree"
)

// Settings are those that hold for a repository, "" for none: the home's, the
// repository's as far as it may, the environment's, and over them those given.
// What is odd about the files is told as notes.
func (h *Host) Settings(repo string, over config.Config) (config.Config, error) {
	paths, err := h.Paths()
	if err != nil {
		return config.Config{}, err
	}
	cfg, warnings, err := config.Load(h.source(paths, repo, over))
	if err != nil {
		return config.Config{}, err
	}
	for _, w := range warnings {
		h.note(w.String())
	}
	return cfg, nil
}

func (h *Host) source(paths config.Paths, repo string, over config.Config) config.Source {
	return config.Source{
		Home:    paths.Home,
		Repo:    repo,
		Getenv:  h.Getenv,
		Flags:   over,
		Wires:   wires.All(),
		Trusted: h.trustedItems(paths, repo),
	}
}

// SettingsLayers are the settings for a repository, "" for none, source by source:
// the defaults, the files, and the environment. The last ones hold.
func (h *Host) SettingsLayers(repo string) ([]config.Layer, error) {
	paths, err := h.Paths()
	if err != nil {
		return nil, err
	}
	layers := []config.Layer{{Name: "default", Config: config.Default()}}
	src := h.source(paths, repo, config.Config{})
	src.Repo = ""
	src.Getenv = nil
	for i, file := range config.Files(paths.Home, repo) {
		if i > 0 {
			src.Repo = repo
		}
		cfg, _, err := config.Load(src)
		if err != nil { // what it needs may come from a later source
			continue
		}
		layers = append(layers, config.Layer{Name: file, Config: cfg})
	}
	src.Getenv = h.Getenv
	cfg, _, err := config.Load(src)
	return append(layers, config.Layer{Name: "environment", Config: cfg}), err
}

// SettingsAt are those that hold in a directory, and the root of the repository that
// it is in, "" for none.
func (h *Host) SettingsAt(ctx context.Context, dir string) (cfg config.Config, root string, err error) {
	if repo, err := worktree.Open(ctx, dir, h.Avoid(ctx)); err == nil {
		root = repo.Root()
	}
	cfg, err = h.Settings(root, config.Config{})
	return cfg, root, err
}

// SettingsFile is a file that settings are read from, if it is there.
type SettingsFile struct {
	Path    string
	Missing bool
}

// SettingsFiles are the home, and the files that the settings of a repository, ""
// for none, are read from.
func (h *Host) SettingsFiles(repo string) (home string, files []SettingsFile, err error) {
	paths, err := h.Paths()
	if err != nil {
		return "", nil, err
	}
	for _, path := range config.Files(paths.Home, repo) {
		_, err := os.Stat(path)
		files = append(files, SettingsFile{Path: path, Missing: errors.Is(err, fs.ErrNotExist)})
	}
	return paths.Home, files, nil
}

// Redactor replaces the secrets that the settings of a repository know.
func (h *Host) Redactor(cfg config.Config) func(string) string {
	return config.Redactor(cfg.Secrets(h.environ))
}

// Outward is what text goes through on its way out of the home: known secrets by
// name, then what looks like one by the built-in rules and those of the settings.
func (h *Host) Outward() (func(string) string, error) {
	cfg, err := h.Settings("", config.Config{})
	if err != nil {
		return nil, err
	}
	known := h.Redactor(cfg)
	rules, err := config.Rules(cfg.Redact.Patterns)
	if err != nil {
		return nil, err
	}
	return func(s string) string { return rules(known(s)) }, nil
}

// UserRedactor replaces the secrets that the user's own settings know.
func (h *Host) UserRedactor() func(string) string {
	return config.Redactor(h.userSettings().Secrets(h.environ))
}

// UserEnv is the host's environment for a command of the user's own, without the
// keys of model servers.
func (h *Host) UserEnv() []string { return h.userSettings().ForChildren(h.environ) }

// userSettings are the user's own alone, which say what holds keys. Where they
// cannot be read they say nothing: what needs them says why.
func (h *Host) userSettings() config.Config {
	paths, err := h.Paths()
	if err != nil {
		return config.Config{}
	}
	cfg, _, err := config.Load(config.Source{Home: paths.Home, Getenv: h.Getenv})
	if err != nil {
		return config.Config{}
	}
	return cfg
}

// Connector reaches model servers with the keys of the host's environment, for what is done
// about dir, "" for no place: a command that prints a key comes from no tree, as in [Host.Clear].
func (h *Host) Connector(ctx context.Context, dir string) connect.Connector {
	return h.connector(aroundDir(dir), h.Avoid(ctx))
}

func (h *Host) connector(tree string, avoid func(path string) bool) connect.Connector {
	return connect.Connector{
		Environ: h.environ,
		Note:    h.note,
		Now:     h.now,
		Tree:    tree,
		Avoid:   avoid,
	}
}

// TrustStore is what the user has trusted of repositories.
func (h *Host) TrustStore() (*trust.Store, error) {
	paths, err := h.Paths()
	if err != nil {
		return nil, err
	}
	return h.trustStore(paths), nil
}

func (h *Host) trustStore(paths config.Paths) *trust.Store {
	return trust.Open(filepath.Join(paths.Home, "trust.json"), h.now)
}

// trustedItems asks what the user has trusted of a repository. A store that cannot
// be read trusts nothing, and a note says so once.
func (h *Host) trustedItems(paths config.Paths, root string) func(trust.Item) bool {
	store := h.trustStore(paths)
	noted := false
	return func(item trust.Item) bool {
		ok, err := store.Trusted(root, item.Kind, item.Path, item.Digest)
		if err != nil && !noted {
			noted = true
			h.note(fmt.Sprintf("nothing of the repository is trusted: %v", err))
		}
		return ok
	}
}
