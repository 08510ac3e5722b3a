package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Source says where settings are read from.
type Source struct {
	Home   string              // holds config.toml; "" for none
	Repo   string              // holds .plan/config.toml; "" for none
	Getenv func(string) string // nil for no environment
	Flags  Config              // only what was given on the command line
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
// timeout and max_review_cycles the smaller value counts, checks.required and
// checks.run are added to, and approve_plan can be switched on. Every other key in it is ignored with a warning.
func Load(src Source) (Config, []Warning, error) {
	cfg := Default()
	if src.Home != "" {
		own, err := readOwn(filepath.Join(src.Home, "config.toml"))
		if err != nil {
			return Config{}, nil, err
		}
		cfg = over(cfg, own)
	}
	var warnings []Warning
	if src.Repo != "" {
		theirs, ignored, err := readTheirs(filepath.Join(src.Repo, ".plan", "config.toml"))
		if err != nil {
			return Config{}, nil, err
		}
		cfg, warnings = tighten(cfg, theirs), ignored
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
		if errs := faults(layer.cfg); len(errs) > 0 {
			return Config{}, nil, fmt.Errorf("read the settings: %s: %w", layer.name, errors.Join(asErrors(errs)...))
		}
		cfg = over(cfg, layer.cfg)
	}
	return cfg, warnings, nil
}

// tightening is what a repository may say.
type tightening struct {
	MaxReviewCycles *int     `toml:"max_review_cycles"`
	MaxTurns        int      `toml:"max_turns"`
	MaxTokens       int64    `toml:"max_tokens"`
	MaxCost         float64  `toml:"max_cost"`
	Timeout         Duration `toml:"timeout"`
	ApprovePlan     *bool    `toml:"approve_plan"`
	Checks          struct {
		Required []string      `toml:"required"`
		Run      []CheckConfig `toml:"run"`
	} `toml:"checks"`
}

// asConfig is the same in the general form, for checking.
func (t tightening) asConfig() Config {
	return Config{
		MaxReviewCycles: t.MaxReviewCycles, MaxTurns: t.MaxTurns, MaxTokens: t.MaxTokens, MaxCost: t.MaxCost,
		Timeout: t.Timeout, Checks: ChecksConfig{Required: t.Checks.Required, Run: t.Checks.Run},
	}
}

func tighten(cfg Config, t tightening) Config {
	if t.MaxReviewCycles != nil && *t.MaxReviewCycles < *cfg.MaxReviewCycles {
		cfg.MaxReviewCycles = t.MaxReviewCycles
	}
	cfg.MaxTurns = smaller(cfg.MaxTurns, t.MaxTurns)
	cfg.MaxTokens = smaller(cfg.MaxTokens, t.MaxTokens)
	cfg.MaxCost = smaller(cfg.MaxCost, t.MaxCost)
	cfg.Timeout = Of(smaller(cfg.Timeout.Duration, t.Timeout.Duration))
	required := slices.Clone(cfg.Checks.Required)
	for _, command := range t.Checks.Required {
		if !slices.Contains(required, command) {
			required = append(required, command)
		}
	}
	cfg.Checks.Required = required
	cfg.Checks.Run = slices.Concat(cfg.Checks.Run, t.Checks.Run)
	if t.ApprovePlan != nil && *t.ApprovePlan {
		cfg.ApprovePlan = t.ApprovePlan
	}
	return cfg
}

// smaller is the tighter of two bounds, where zero is none.
func smaller[T int | float64 | ~int64](a, b T) T {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

// APIKey is the key that model calls are made with, "" for none.
func APIKey(getenv func(string) string) string {
	return strings.TrimSpace(getenv("OPENAI_API_KEY"))
}
