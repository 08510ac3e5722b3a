package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/sandbox"
)

// fill writes files below a folder.
func fill(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
}

// A home is hidden but for what a policy names, whether or not the tree lies in it, and
// in phases that may write as in those that may not.
func TestAHomeIsHiddenButForWhatIsShown(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		if level == sandbox.LevelNone {
			return
		}
		for _, discard := range []bool{true, false} {
			y := newYard(t)
			elsewhere := t.TempDir()
			fill(t, y.home, map[string]string{
				".bashrc": canary, "other/.env": canary, ".config/foo/token": canary, ".ssh/key": canary, ".tool/key": canary,
				".nvm/versions/bin/node": "#!/bin/sh\necho ran\n", ".tool/bin/x": "#!/bin/sh\necho x\n",
				"bin/y": "#!/bin/sh\necho y\n", ".toolrc": canary, ".tool/config": canary, ".same": "a=1\n", ".cache/c/hit": "hit\n", "dots/rc": canary,
			})
			fill(t, elsewhere, map[string]string{"inside": "linked\n"})
			err := errors.Join(
				os.Symlink(elsewhere, filepath.Join(y.home, ".linked")),
				os.Symlink(".nvm", filepath.Join(y.home, "nvm")),
				os.Symlink("dots/rc", filepath.Join(y.home, ".rc")),
			)
			if err != nil {
				t.Fatal(err)
			}
			in := func(name string) string { return filepath.Join(y.home, name) }
			p := sandbox.Policy{
				Tree:    y.tree,
				Discard: discard,
				Home:    y.home,
				Shown:   []string{in("nvm"), in(".tool"), in(".linked"), in(".ssh/key"), in("gone"), y.home, filepath.Dir(y.home)},
				Hidden:  []string{in(".ssh"), in(".tool/key")},
				Caches:  []sandbox.Cache{{Dir: in(".cache/c")}},
				Settings: []sandbox.Setting{
					{Path: in(".toolrc"), Data: []byte("clean\n"), Changed: true, Var: "TOOLRC"},
					{Path: in(".rc"), Data: []byte("cleaned\n"), Changed: true, Var: "RC"},
					{Path: in(".tool/config"), Data: []byte("b=2\n"), Changed: true},
					{Path: in(".same"), Data: []byte("a=1\n")},
				},
			}
			if discard {
				p.Copy = y.stand
			}
			env := append(y.env(), "PATH="+in("bin")+":"+y.home+":"+os.Getenv("PATH"))
			w, err := sandbox.NewWall(level, p, env)
			if err != nil {
				t.Fatal(err)
			}
			shell, err := sandbox.New(sandbox.Config{Env: env})
			if err != nil {
				t.Fatal(err)
			}
			res, err := w.Shell(shell).Run(t.Context(), sandbox.Command{
				Line: `~/nvm/versions/bin/node; ~/.nvm/versions/bin/node; ~/.tool/bin/x; y; cat ~/.linked/inside file ~/.same ~/.cache/c/hit
cat "${TOOLRC:-$HOME/.toolrc}" "${RC:-$HOME/.rc}"
grep -rh ` + canary + ` ~ 2>/dev/null
cat ~/.bashrc ~/other/.env ~/.config/foo/token ~/.ssh/key ~/.tool/key ~/dots/rc ~/.toolrc ~/.tool/config 2>/dev/null
mkdir -p ~/.config/x ~/.cache/x && echo x >~/.config/x/y && cat ~/.config/x/y; :`,
				Dir: w.Dir(),
			})
			if err != nil {
				t.Fatal(err)
			}
			out := string(res.Output)
			if strings.Contains(out, canary) {
				t.Errorf("discard %v: a secret is read:\n%s", discard, out)
			}
			want := "ran\nran\nx\ny\nlinked\nbefore\na=1\nhit\nclean\ncleaned\n"
			if !strings.HasPrefix(out, want) {
				t.Errorf("discard %v: what is shown does not work:\n%s", discard, out)
			}
			if level == sandbox.LevelNamespaces && !strings.HasSuffix(out, "\nx\n") {
				t.Errorf("discard %v: the home cannot be written:\n%s", discard, out)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(in(".config/x")); err == nil {
				t.Errorf("discard %v: what was written to the home is there", discard)
			}
		}
	})
}

// A tree that is the home, or holds it, is seen as a whole but for what is hidden.
func TestAHomeInTheTree(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		if level == sandbox.LevelNone {
			return
		}
		for _, home := range []string{".", "fixed"} {
			y := newYard(t)
			home = filepath.Join(y.tree, home)
			_, run := y.wall(t, level, sandbox.Policy{Home: home})
			if res := run("echo after >>file && cat file && touch " + home + "/made && ls -d fixed"); res.ExitCode != 0 {
				t.Errorf("%s: %s", home, res.Output)
			}
			if _, err := os.Stat(filepath.Join(home, "made")); err != nil {
				t.Error(err)
			}
		}
	})
}

// The tree, its repository and a home that lie in each other in every way.
func TestATreeInAHome(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		if level == sandbox.LevelNone {
			return
		}
		for _, discard := range []bool{true, false} {
			y := newYard(t)
			home := filepath.Dir(y.tree)
			fill(t, home, map[string]string{".env": canary, "git/HEAD": "ref\n", "src/next/.env": canary})
			git := filepath.Join(home, "git")
			p := sandbox.Policy{Discard: discard, Home: home, ExtraDirs: []string{git}}
			if !discard {
				p.ExtraDirs, p.Fixed = nil, []string{git}
			}
			_, run := y.wall(t, level, p)
			res := run("cat file " + git + "/HEAD && echo x >>file; cat " + home + "/.env " + home + "/src/next/.env; echo x >" + git + "/HEAD")
			if out := string(res.Output); !strings.HasPrefix(out, "before\nref\n") || strings.Contains(out, canary) {
				t.Errorf("discard %v: %q", discard, out)
			}
			if got := text(t, filepath.Join(git, "HEAD")); got != "ref\n" {
				t.Errorf("discard %v: the repository can be written: %q", discard, got)
			}
		}
	})
}

// A command that fails and names what is hidden says what shows it, and only then.
func TestAFailureNamesWhatIsHidden(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		y := newYard(t)
		fill(t, y.home, map[string]string{".foo/bin/run": "", ".ssh/key": "", ".shown/x": ""})
		in := func(name string) string { return filepath.Join(y.home, name) }
		_, run := y.wall(t, level, sandbox.Policy{
			Discard: true,
			Home:    y.home,
			Shown:   []string{in(".shown")},
			Hidden:  []string{in(".ssh")},
		})
		const note = "[Hidden with the home directory, but there: "
		for line, want := range map[string]string{
			"~/.foo/bin/run":                         `show = ["~/.foo/bin/run"]`,
			"echo see $HOME/.foo/bin/run.; exit 3":   `show = ["~/.foo/bin/run"]`,
			"cat ~/.ssh/key":                         "",
			"cat ~/.shown/x; exit 3":                 "",
			"echo $HOME/.shown/x; exit 3":            "",
			"echo $HOME/gone $HOME $HOME/; exit 3":   "",
			"echo $HOME/../home/../../../etc; false": "",
			"echo $HOME/.foo/bin/run; exit 0":        "",
		} {
			out := string(run(line).Output)
			if level == sandbox.LevelNone {
				want = ""
			}
			if strings.Contains(out, note) != (want != "") || !strings.Contains(out, want) {
				t.Errorf("%s: %q, want %q", line, out, want)
			}
		}
	})
}

// Homes of others are hidden like the user's own, which may lie among them, but for what
// is shown of them and what the PATH names.
func TestOtherHomesAreHidden(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		if level == sandbox.LevelNone {
			return
		}
		for _, own := range []string{"homes/me", ""} { // with none of its own, all of it is seen but the others
			y := newYard(t)
			homes := filepath.Join(y.home, "homes")
			fill(t, homes, map[string]string{
				"me/.profile": canary, "me/.nvm/x": "mine\n", "other/.profile": canary, "other/.ssh/key": canary, "other/code/x": canary,
				"other/.tool/lib": "lib\n", "other/.tool/key": canary, "brew/bin/prog": "#!/bin/sh\necho prog\n", "root/.env": canary,
			})
			in := func(name string) string { return filepath.Join(homes, name) }
			p := sandbox.Policy{
				Tree:    y.tree,
				Discard: true,
				Homes:   []string{homes, in("other"), in("gone"), "/"},
				Shown:   []string{in("me/.nvm"), in("other/.tool")},
				Hidden:  []string{in("other/.ssh"), in("other/.tool/key")},
			}
			if own != "" {
				p.Home = filepath.Join(y.home, own)
			}
			p.Copy = y.stand
			env := []string{"PATH=" + in("brew/bin") + ":" + os.Getenv("PATH"), "HOME=" + filepath.Join(y.home, own)}
			w, err := sandbox.NewWall(level, p, env)
			if err != nil {
				t.Fatal(err)
			}
			shell, err := sandbox.New(sandbox.Config{Env: env})
			if err != nil {
				t.Fatal(err)
			}
			res, err := w.Shell(shell).Run(t.Context(), sandbox.Command{
				Line: "prog; cat " + in("me/.nvm/x") + " " + in("other/.tool/lib") + "; grep -rh " + canary + " " + homes + "; cat " + in("root/.env") + " " + in("other/.profile") + "; " +
					"ls " + in("other/code/x") + "; echo 'no " + in("other/code") + ": sorry'; exit 1",
				Dir: w.Dir(),
			})
			if err != nil {
				t.Fatal(err)
			}
			out := string(res.Output)
			if strings.Contains(out, canary) || !strings.HasPrefix(out, "prog\nmine\nlib\n") {
				t.Errorf("own %q: %s", own, out)
			}
			_, note, _ := strings.Cut(out, "[Hidden with the home directory, but there: ")
			if !strings.Contains(note, in("root/.env")) || !strings.Contains(note, "show = [") {
				t.Errorf("own %q: the note is missing: %s", own, out)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
