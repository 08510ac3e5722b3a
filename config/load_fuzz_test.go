package config_test

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
)

func FuzzLoad(f *testing.F) {
	for _, text := range []string{everything, "", "max_turns = -1", "[checks", "a.b = {c = 1}", "timeout " +
		"= 1979-05-27", "[[phase]]", "retry = {base = 10}", "phase.'' = {}", providers, theirProviders, "providers.a.headers.X " +
		"= '$'", "providers.'' = {body = {x = inf}}"} {
		f.Add(text)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		src := config.Source{Home: filepath.Join(dir, t.Name()), Repo: filepath.Join(dir, t.Name())}
		write(t, filepath.Join(src.Home, "config.toml"), text)
		write(t, filepath.Join(src.Repo, ".plan", "config.toml"), text)
		trusts := func(trust.Item) bool { return true }
		for _, src := range []config.Source{{Home: src.Home}, {Repo: src.Repo}, {Repo: src.Repo, Trusted: trusts}} {
			cfg, warnings, err := config.Load(src)
			if err != nil {
				if !strings.Contains(err.Error(), "config.toml") {
					t.Fatalf("the error does not name the file: %v", err)
				}
				continue
			}
			for _, w := range warnings {
				if w.Line < 1 || w.Key == "" || w.Why == "" {
					t.Fatalf("warning %+v", w)
				}
			}
			if cfg.MaxTurns < 0 || cfg.MaxReviewCycles == nil || *cfg.MaxReviewCycles < 0 || math.IsNaN(cfg.MaxCost) {
				t.Fatalf("accepted %s", cfg.JSON())
			}
			for _, p := range cfg.Providers {
				if src.Repo != "" && (src.Trusted == nil || p.KeyEnv != "" || p.KeyCommand != "" || len(p.Headers) > 0) {
					t.Fatalf("a repository brought %+v", p)
				}
			}
			if src.Repo != "" && src.Trusted == nil &&
				(cfg.MaxTurns > 100 || *cfg.MaxReviewCycles > 2 || cfg.Model != "" || cfg.Checks.Setup != "") {
				t.Fatalf("a repository loosened the settings to %s", cfg.JSON())
			}
			var again config.Config
			if err := json.Unmarshal(cfg.JSON(), &again); err != nil {
				t.Fatalf("%s: %v", cfg.JSON(), err)
			}
		}
	})
}
