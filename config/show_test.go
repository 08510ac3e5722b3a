package config_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/config"
)

func TestTOMLComesBackTheSame(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]string{"defaults": "", "everything": everything} {
		cfg, _, err := config.Load(place(t, own, ""))
		if err != nil {
			t.Fatal(err)
		}
		text, err := cfg.TOML()
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := config.Load(place(t, text, ""))
		if err != nil {
			t.Fatalf("%s: %v in\n%s", name, err, text)
		}
		if diff := cmp.Diff(string(cfg.JSON()), string(again.JSON())); diff != "" {
			t.Errorf("%s (-first +second):\n%s", name, diff)
		}
	}
}

func TestWithAndFiles(t *testing.T) {
	t.Parallel()
	got := config.Config{Model: "a", MaxTurns: 5}.With(config.Config{Model: "b"})
	if diff := cmp.Diff(config.Config{Model: "b", MaxTurns: 5}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	own, theirs := filepath.Join("h", "config.toml"), filepath.Join("r", ".plan", "config.toml")
	if diff := cmp.Diff([][]string{{own}, {own, theirs}}, [][]string{config.Files("h", ""), config.Files("h", "r")}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
