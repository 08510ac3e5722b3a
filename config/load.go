package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/model/wire"
)

// Source says where settings are read from.
type Source struct {
	Home   string              // holds config.toml; "" for none
	Repo   string              // holds .plan/config.toml; "" for none
	Getenv func(string) string // nil for no environment
	Flags  Config              // only what was given on the command line
	// Wires are those that there are; nil takes any name for one.
	Wires []wire.Kind
	// Trusted reports whether the user has trusted something of the repository;
	// nil trusts nothing.
	Trusted func(trust.Item) bool
}

// Warning is a setting that was found and not used.
type Warning struct {
	File string
	Line int
	Key  string
	Why  string // a clause without a full stop
}

// String is the warning in one line.
func (w Warning) String() string {
	return fmt.Sprintf("%s:%d: %s is ignored: %s", w.File, w.Line, w.Key, w.Why)
}

// Load reads the settings in layers: defaults, home, repository, environment
// (PLAN_MODEL, OPENAI_BASE_URL), flags. A file that is not there says nothing.
// Every value of every layer is checked, and an error names the layer and the
// key.
//
// The repository's file can only tighten: of max_turns, max_tokens, max_cost,
// timeout, max_review_cycles, max_memory and max_processes the smaller value counts,
// checks.required and checks.run add checks to those that run without the file
// (and replace none, also none that are found), approve_plan can be switched on,
// and checks.evidence made stricter. Its permission rules count where they are
// tighter than the user's. Every other key in it is ignored with a warning, unless src.Trusted
// says that the user has trusted the file as it is: then it is a layer like any
// other, but for where keys come from and what is sent with them: key_env,
// key_command and headers of providers never count in it, and it cannot move a
// provider that the user's own file has a key for. Each of its hooks is trusted
// by itself.
func Load(src Source) (Config, []Warning, error) {
	cfg := Default()
	if src.Home != "" {
		own, err := readOwn(filepath.Join(src.Home, "config.toml"), src.Wires)
		if err != nil {
			return Config{}, nil, err
		}
		for i := range own.Permission {
			own.Permission[i].From = FromUser
		}
		for i := range own.Hooks {
			own.Hooks[i].From = FromUser
		}
		for name, s := range own.MCP {
			s.From = FromUser
			own.MCP[name] = s
		}
		cfg = over(cfg, own)
	}
	var warnings []Warning
	if src.Repo != "" {
		theirs, err := readTheirs(src.Repo, src.Wires)
		if err != nil {
			return Config{}, nil, err
		}
		cfg, warnings = theirs.under(cfg, src.Trusted)
	}
	env := Config{}
	if src.Getenv != nil {
		env.Model = strings.TrimSpace(src.Getenv("PLAN_MODEL"))
		env.BaseURL = strings.TrimSpace(src.Getenv("OPENAI_BASE_URL"))
	}
	for _, layer := range []struct {
		name string
		cfg  Config
	}{{"environment", env}, {"command line", src.Flags}} {
		if errs := faults(layer.cfg, src.Wires); len(errs) > 0 {
			return Config{}, nil, fmt.Errorf("read the settings: %s: %w", layer.name, errors.Join(asErrors(errs)...))
		}
		cfg = over(cfg, layer.cfg)
	}
	var errs []error
	for _, f := range unresolved(cfg) {
		errs = append(errs, fmt.Errorf("%s: %w", src.whereModel(f.key, env), f))
	}
	if len(errs) > 0 {
		return Config{}, nil, fmt.Errorf("read the settings: %w", errors.Join(errs...))
	}
	return cfg, warnings, nil
}

// whereModel is the layer that a model's name comes from, with the line where
// that is a file.
func (src Source) whereModel(key string, env Config) string {
	switch {
	case namedModels(src.Flags)[key] != "":
		return "command line"
	case namedModels(env)[key] != "":
		return "environment"
	}
	files := Files(src.Home, src.Repo)
	if src.Home == "" {
		files = files[1:]
	}
	for _, path := range files {
		data, err := readFile(path)
		if n := lineOf(data, key, 0); err == nil && n > 0 {
			return fmt.Sprintf("%s:%d", path, n)
		}
	}
	return "config.toml"
}

// APIKey is the key that model calls are made with, "" for none.
func APIKey(getenv func(string) string) string {
	return strings.TrimSpace(getenv("OPENAI_API_KEY"))
}
