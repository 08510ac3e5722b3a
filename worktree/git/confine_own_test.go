package git

import (
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan/internal/gittest"
)

// A setting that the first line let through runs a program of the tree: here the
// settings in its place are left out. It reaches no server, writes nothing outside and
// reads no key. Each attempt works where git is not confined.
func TestWhatSlipsThroughReachesNothing(t *testing.T) {
	t.Parallel()
	if err := Confined(); err != nil {
		t.Logf("it stays as it is here: %v", err)
		return
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	repo, home, outside := filepath.Join(dir, "repo"), filepath.Join(dir, "home"), filepath.Join(dir, "outside")
	gittest.Write(t, home, map[string]string{
		".ssh/id": "KEY", ".env": "KEY", ".gitconfig": "[user]\n\tname = A", ".config/git/credentials": "KEY",
		".local/share/plan/config.toml": "KEY", "other/.env": "KEY", ".cargo/credentials.toml": "KEY",
	})
	gittest.Write(t, outside, map[string]string{"file": "as it was"})
	attempts := map[string]string{
		"server":      fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d", server.Addr().(*net.TCPAddr).Port),
		"key":         "grep -q KEY ~/.ssh/id",
		"env":         "grep -q KEY ~/.env",
		"credentials": "grep -q KEY ~/.config/git/credentials",
		"settings":    "grep -q KEY ~/.local/share/plan/config.toml",
		"repository":  "grep -q KEY ~/other/.env",
		"tool":        "grep -q KEY ~/.cargo/credentials.toml",
		"new":         "echo x >" + outside + "/new",
		"change":      "echo x >" + outside + "/file",
		"remove":      "rm " + outside + "/file",
		"link":        "ln " + outside + "/file " + repo + "/link",
		"move":        "mv " + outside + " " + repo + "/moved",
		"write home":  "echo x >>~/.bashrc",
		"temporary":   "echo x >" + dir + "/tmp/x",
		"linked":      "ln -s " + outside + " l && echo x >l/linked",
		"open key":    "exec 4<~/.ssh/id",
		"list":        "ls ~/other | grep -q . || ls -A ~/other | grep -q .",
	}
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, dir, "init", "-q", repo)
	gittest.Git(t, repo, "config", "filter.evil.clean", "bash evil")
	gittest.Write(t, repo, map[string]string{".gitattributes": "victim filter=evil"})
	path, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + dir + "/tmp", "GIT_CONFIG_NOSYSTEM=1",
	}
	program, err := newProgram(path, environment(env, repo), env).Guard(t.Context(), repo, filepath.Join(repo, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	_, within, err := program.guard.overrides(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range slices.Sorted(maps.Keys(attempts)) {
		try := func(within *confinement, done string) bool {
			gittest.Write(t, repo, map[string]string{
				"evil":   "cd " + repo + "\n" + attempts[name] + " && echo done >" + done + "\ncat",
				"victim": fmt.Sprint(i, done),
			})
			c := Call{Dir: repo, Args: []string{"add", "victim"}}
			if _, err := program.start(t.Context(), c, nil, program.granted(c, within)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			_, err := os.Lstat(filepath.Join(repo, done))
			return err == nil
		}
		if try(within, "in") {
			t.Errorf("%s: it came through", name)
		}
		if text, err := os.ReadFile(filepath.Join(outside, "file")); err != nil || strings.TrimSpace(string(text)) != "as it was" {
			t.Fatalf("%s: the file outside is %q, %v", name, text, err)
		}
		if !try(nil, "out") {
			t.Errorf("%s: it does not work where git is not confined, so it shows nothing", name)
		}
		for _, made := range []string{"out", "in", "link", "l"} {
			_ = os.Remove(filepath.Join(repo, made))
		}
		if moved := filepath.Join(repo, "moved"); isThere(moved) {
			_ = os.Rename(moved, outside)
		}
		gittest.Write(t, outside, map[string]string{"file": "as it was"})
	}
}
