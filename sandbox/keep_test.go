package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/sandbox"
)

// Where a level cannot keep what decides what others run, it is put back.
func TestCodeIsPutBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		line          string
		putBack, lost string // the beginning of each, "" if there is none
	}{
		"nothing":             {line: "echo x >file; cat git/config"},
		"settings":            {line: "echo evil >>git/config", putBack: "git/config"},
		"settings, replaced":  {line: "rm git/config; ln -s /etc/passwd git/config", putBack: "git/config"},
		"settings, a folder":  {line: "rm git/config; mkdir -p git/config/deep", putBack: "git/config"},
		"a hook":              {line: "echo evil >git/hooks/evil; chmod +x git/hooks/evil", putBack: "git/hooks"},
		"a hook's mode":       {line: "chmod +x git/hooks/sample", putBack: "git/hooks"},
		"no hooks":            {line: "rm -r git/hooks", putBack: "git/hooks"},
		"what was not there":  {line: "echo evil >git/config.worktree", putBack: "git/config.worktree"},
		"the whole, away":     {line: "mv git git2; mkdir git; echo evil >git/config", putBack: "git/config"},
		"a link out":          {line: `mv git git2; ln -s "$HOME" git`, lost: "git/config"},
		"a file in its place": {line: "mv git git2; echo gitdir: /tmp >git", lost: "git/config"},
		"from the background": {line: "setsid sh -c 'while :; do echo evil >>git/config; done' >/dev/null 2>&1 & sleep 0.1", putBack: "git/config"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tried(sandbox.LevelLandlock); err != nil {
				t.Logf("no landlock here: %v", err)
				return
			}
			y := newYard(t)
			in := func(name string) string { return filepath.Join(y.tree, name) }
			if err := os.MkdirAll(in("git/hooks"), 0o755); err != nil {
				t.Fatal(err)
			}
			for path, text := range map[string]string{"git/config": "before\n", "git/hooks/sample": "hook\n"} {
				if err := os.WriteFile(in(path), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			w, run := y.wall(t, sandbox.LevelLandlock, sandbox.Policy{
				Fixed: []string{in("git")}, Code: []string{in("git/config"), in("git/config.worktree"), in("git/hooks")},
			})
			run(test.line)
			err := w.Close()
			var breach *sandbox.Breach
			if errors.As(err, &breach); breach == nil {
				breach = &sandbox.Breach{}
			}
			for _, part := range []struct {
				got  []string
				want string
			}{{breach.PutBack, test.putBack}, {breach.Lost, test.lost}} {
				if got := strings.Join(part.got, " "); (got == "") != (part.want == "") || !strings.HasPrefix(got, in(part.want)) && got != "" {
					t.Errorf("told of %q, want %q: %v", got, part.want, err)
				}
			}
			if test.lost != "" {
				if _, err := os.Lstat(filepath.Join(y.home, "config")); err == nil {
					t.Error("it was put where a link led")
				}
				return
			}
			info, err := os.Lstat(in("git/hooks/sample"))
			if err != nil || info.Mode() != 0o644 || text(t, in("git/hooks/sample")) != "hook\n" {
				t.Errorf("the hook: %v, %v", info, err)
			}
			if _, err := os.Lstat(in("git/config.worktree")); err == nil || text(t, in("git/config")) != "before\n" {
				t.Error("the settings are not as they were")
			}
			if _, err := os.Lstat(in("git/hooks/evil")); err == nil {
				t.Error("the new hook is still there")
			}
		})
	}
}

// What is fixed and cannot be kept is named.
func TestUnkept(t *testing.T) {
	t.Parallel()
	p := sandbox.Policy{Tree: "/tree", ExtraDirs: []string{"/git"}, Fixed: []string{"/tree/.git", "/git/hooks", "/elsewhere/git"}}
	if got := strings.Join(p.Unenforced(sandbox.LevelLandlock), " "); got != "/tree/.git /git/hooks" {
		t.Errorf("landlock: %s", got)
	}
	for _, level := range []sandbox.Level{sandbox.LevelNamespaces, sandbox.LevelBubblewrap, sandbox.LevelSeatbelt} {
		if got := p.Unenforced(level); got != nil {
			t.Errorf("%s: %s", level, got)
		}
	}
	p.Discard = true
	if got := p.Unenforced(sandbox.LevelLandlock); got != nil {
		t.Errorf("a review: %s", got)
	}
}
