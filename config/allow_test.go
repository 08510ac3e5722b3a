package config_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/plan-engine/plan/config"
)

func TestAddPermission(t *testing.T) {
	t.Parallel()
	const before = "# mine\nmodel = \"a\" # a comment\n\n[[permission]]\ntool = \"write\"\naction = \"ask\"\n" +
		"[checks]\nrequired = [\"x\"]\n\n\n"
	for name, c := range map[string]struct{ before, want string }{
		"no file": {"", "[[permission]]\ntool = 'bash'\ncommand = 'git push \\*'\naction = 'allow'\n"},
		"with comments": {before, strings.TrimRight(before, "\n") + "\n\n[[permission]]\ntool = 'bash'\ncommand " +
			"= 'git push \\*'\naction = 'allow'\n"},
	} {
		src := place(t, c.before, "")
		file := filepath.Join(src.Home, "config.toml")
		rule := config.Permission{Tool: "bash", Command: `git push \*`, Action: "allow"}
		for range 2 { // the second time changes nothing
			path, err := config.AddPermission(context.Background(), src.Home, rule)
			if err != nil || path != file {
				t.Fatalf("%s: %s, %v", name, path, err)
			}
			got, err := os.ReadFile(file)
			if err != nil || string(got) != c.want {
				t.Errorf("%s: %v\n%s", name, err, got)
			}
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestAddPermissionKeepsWhatItCannotExtend(t *testing.T) {
	t.Parallel()
	const inline = "permission = [{tool = 'bash', action = 'deny'}]\n"
	src := place(t, inline, "")
	_, err := config.AddPermission(context.Background(), src.Home, config.Permission{Tool: "write", Action: "allow"})
	if err == nil || !strings.Contains(err.Error(), "add it yourself") {
		t.Errorf("error is %v", err)
	}
	if got, _ := os.ReadFile(filepath.Join(src.Home, "config.toml")); string(got) != inline {
		t.Errorf("the file is now\n%s", got)
	}
}

func TestAddPermissionThroughALinkAndAtOnce(t *testing.T) {
	t.Parallel()
	home, dots := t.TempDir(), filepath.Join(t.TempDir(), "plan.toml")
	write(t, dots, "model = 'a'\n")
	if err := os.Symlink(dots, filepath.Join(home, "config.toml")); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, tool := range []string{"a", "b", "c", "d", "e", "f"} {
		all.Go(func() {
			if _, err := config.AddPermission(context.Background(), home, config.Permission{Tool: tool, Action: "deny"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	cfg, _, err := config.Load(config.Source{Home: home})
	if err != nil || len(cfg.Permission) != 6 || cfg.Model != "a" {
		t.Errorf("%+v, %v", cfg, err)
	}
	if info, err := os.Lstat(filepath.Join(home, "config.toml")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
}
