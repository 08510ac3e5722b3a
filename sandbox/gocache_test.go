package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan/sandbox"
)

// What go has built once is not built again behind a wall that only copies, and
// what is built there does not get into go's own cache.
func TestGoBuildsFromItsCache(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Fatal(err) // these tests are built with it
	}
	cache := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GOCACHE=" + cache, "GOPATH=" + t.TempDir(), "GOFLAGS=-trimpath", "GOENV=off", "CGO_ENABLED=0"}
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		if level == sandbox.LevelNone {
			return
		}
		y := newYard(t)
		for name, text := range map[string]string{
			"go.mod":      "module example.com/m\n\ngo 1.24\n",
			"m.go":        "package m\n\n// N is a number.\nconst N = 1\n",
			"sub/more.go": "package sub\n\n// M is another.\nconst M = 2\n",
		} {
			for _, dir := range []string{y.tree, y.stand} {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		fill := exec.CommandContext(t.Context(), "go", "build", ".")
		fill.Dir, fill.Env = y.tree, sandbox.CleanEnv(env)
		if out, err := fill.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		before := listing(t, cache)
		// The user's own program for the cache may write to a place that others build from.
		remote := filepath.Join(t.TempDir(), "remote")
		env := append(env, "GOCACHEPROG=/bin/sh -c 'touch "+remote+"'")
		policy := sandbox.Policy{Tree: y.tree, Discard: true, Copy: y.stand, Caches: sandbox.Caches(env, time.Now())}
		w, err := sandbox.NewWall(level, policy, env)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = w.Close() }()
		shell, err := sandbox.New(sandbox.Config{Env: env})
		if err != nil {
			t.Fatal(err)
		}
		run := func(line string) string {
			t.Helper()
			res, err := w.Shell(shell).Run(t.Context(), sandbox.Command{Line: line, Dir: y.tree})
			if err != nil || res.ExitCode != 0 {
				t.Fatalf("%s: %v, exit status %d\n%s", line, err, res.ExitCode, res.Output)
			}
			return string(res.Output)
		}
		if out := run("go build -x ./... 2>&1"); strings.Count(out, "/compile -o") != 1 {
			t.Errorf("what was there is built again, or what was not is not built:\n%.3000s", out)
		}
		if out := run("go build -x ./... 2>&1"); strings.Contains(out, "/compile -o") {
			t.Errorf("what was built behind the wall is built again:\n%.3000s", out)
		}
		run(`test -s "$GOCACHE/testexpire.txt"`) // tests that passed before the wall stood do not count
		if out := run(`echo "$GOCACHEPROG"`); strings.Contains(out, remote) {
			t.Errorf("the user's program keeps what is built: %s", out)
		}
		if after := listing(t, cache); after != before {
			t.Errorf("go's own cache changed:\n%s\n%s", before, after)
		}
	})
}

// listing is the names of all files in a folder.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b.WriteString(path + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
