package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
)

// What commands see is the user's to say: a repository's claim counts when it is
// trusted, and never for variables.
func TestARepositoryShowsNothingByItself(t *testing.T) {
	t.Parallel()
	src := place(t, "[walls]\nshow = ['~/mine']\nallow_env = ['MINE']\n", "[walls]\nshow = ['~/theirs']\nallow_env = ['AWS_KEY']\n"+
		"environment = 'inherit'\n")
	for _, trusted := range []bool{false, true} {
		src.Trusted = func(trust.Item) bool { return trusted }
		cfg, warnings, err := config.Load(src)
		if err != nil {
			t.Fatal(err)
		}
		want := config.WallsConfig{Show: []string{"~/mine"}, AllowEnv: []string{"MINE"}}
		if trusted {
			want.Show, want.Environment = append(want.Show, "~/theirs"), "inherit"
		}
		if diff := cmp.Diff(want, cfg.Walls); diff != "" {
			t.Errorf("trusted %v (-want +got):\n%s", trusted, diff)
		}
		if noted := slices.ContainsFunc(warnings, func(w config.Warning) bool { return strings.HasPrefix(w.Key, "walls") }); noted == trusted {
			t.Errorf("trusted %v: %v", trusted, warnings)
		}
	}
	items, err := config.Claims(src.Repo)
	if err != nil || len(items) != 1 || !strings.Contains(items[0].Detail, "walls.show ~/theirs") {
		t.Errorf("%+v, %v", items, err)
	}
}

func TestWallsThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	for own, want := range map[string]string{
		"[walls]\nshow = ['~/.a', 'b']":    `walls.show entry 2 = "b" must be absolute or begin with ~/`,
		"[walls]\nallow_env = ['*']":       `walls.allow_env entry 1 = "*" must be the name of a variable`,
		"[walls]\nenvironment = 'all'":     "must be one of minimal, inherit",
		"[walls]\nallow_env = ['A=b', '']": `walls.allow_env entry 1 = "A=b" must be`,
	} {
		if _, _, err := config.Load(place(t, own, "")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", own, err, want)
		}
	}
}

// Keys of the user are handed out by the user's own file alone.
func TestARepositoryHandsOutNoKeys(t *testing.T) {
	t.Parallel()
	src := place(t, "[setup]\nkeys = ['npm']\n", "model = 'theirs'\n[setup]\nkeys = ['netrc', 'git-credential']\n")
	for _, trusted := range []bool{false, true} {
		src.Trusted = func(trust.Item) bool { return trusted }
		cfg, warnings, err := config.Load(src)
		if err != nil || !slices.Equal(cfg.Setup.Keys, []string{"npm"}) || trusted != (cfg.Model == "theirs") {
			t.Errorf("trusted %v: %v, %v, %v", trusted, cfg.Setup.Keys, cfg.Model, err)
		}
		if !slices.ContainsFunc(warnings, func(w config.Warning) bool { return strings.HasPrefix(w.Key, "setup") }) {
			t.Errorf("trusted %v: %v", trusted, warnings)
		}
	}
	if _, _, err := config.Load(place(t, "[setup]\nkeys = ['npm', 'pip']\n", "")); err == nil ||
		!strings.Contains(err.Error(), `setup.keys entry "pip" must be one of npm, netrc, git-credential, ssh-agent`) {
		t.Errorf("%v", err)
	}
}
