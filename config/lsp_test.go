package config_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
)

// TestLanguageServers: the user names them by language; those of a repository are
// programs, and wait until it is trusted.
func TestLanguageServers(t *testing.T) {
	t.Parallel()
	src := place(t, "[lsp.go]\ncommand = 'gopls'\n[lsp.rust]\ncommand = ' '\n", "[lsp.go]\ncommand = './evil'\n[lsp.c]\ncommand = 'clangd'\n")
	for trusted, want := range map[bool]map[string]string{
		false: {"go": "gopls"},
		true:  {"go": "./evil", "c": "clangd"},
	} {
		src.Trusted = func(trust.Item) bool { return trusted }
		cfg, warnings, err := config.Load(src)
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Servers(); !maps.Equal(got, want) {
			t.Errorf("trusted %v: %v; want %v", trusted, got, want)
		}
		if !trusted && len(warnings) != 2 {
			t.Errorf("it says %v", warnings)
		}
	}
	_, _, err := config.Load(place(t, "[lsp.golang]\ncommand = 'gopls'\n", ""))
	if err == nil || !strings.Contains(err.Error(), "lsp.golang") || !strings.Contains(err.Error(), "go, python") {
		t.Errorf("an unknown language: %v", err)
	}
}
