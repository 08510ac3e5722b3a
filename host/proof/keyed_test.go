package proof_test

import (
	"archive/zip"
	"bytes"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host/keyed"
	"github.com/plan-engine/plan/host/proof"
	"github.com/plan-engine/plan/host/walls"
	"github.com/plan-engine/plan/host/walls/wallstest"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/sandbox"
)

// keyedChange is work that changed lock files.
func keyedChange(t *testing.T, level sandbox.Level, files map[string]string) (c wallstest.Change, home string) {
	t.Helper()
	c = wallstest.NewChange(t, wallstest.Committed(t), level)
	gittest.Write(t, c.Dir, files)
	var err error
	if c.Trees.Work, err = c.Repo.Tree(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c, strings.TrimPrefix(c.Config.Env[1], "HOME=")
}

// check runs a check on such work, with a fetch that may get these kinds of keys.
func check(t *testing.T, c wallstest.Change, path, command string, keys ...string) plan.CheckResult {
	t.Helper()
	c.Config.Settings.Checks = config.ChecksConfig{}
	p := proof.New(proof.Config{
		Settings: c.Config.Settings,
		Walls:    c.Walls,
		Repo:     c.Repo,
		Base:     c.Base,
		View:     plan.ViewSnapshot,
		User:     keyed.User{Keys: keys, Env: c.Config.Env, Path: path},
	})
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	var told strings.Builder
	trial := plan.Trial{Check: plan.Check{Command: command}, Trees: c.Trees}
	res, _, err := p.Checker.Check(t.Context(), trial, func(text string) { told.WriteString(text) })
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(told.String(), "changed: fetching what it names]") {
		t.Errorf("the user was told %q", told.String())
	}
	return res
}

// A fetch that a registry refuses is made again with the user's key, in a place where
// nothing of the tree is seen, and what comes of it is there for the check.
func TestAFetchWithKeys(t *testing.T) {
	t.Parallel()
	wallstest.Levels(t, func(t *testing.T, level sandbox.Level) {
		tools := t.TempDir()
		// It is refused without the key, and with it tries to keep what it must not see.
		fake := `#!/bin/sh
cache=${npm_config_cache:-$HOME/.npm}
if grep -q T0KEN "$NPM_CONFIG_USERCONFIG" 2>/dev/null; then
	cat "$TREE/calc" "$TREE/package.json" ~/.netrc ../../keys/netrc "$cache/poison" >"$cache/stolen" 2>/dev/null
	[ -e scripts.js ] && echo scripts >>"$cache/stolen"
	grep -q EVIL package.json && echo manifest >>"$cache/stolen"
	command -v other >>"$cache/stolen"
	echo fetched >"$cache/fetched"
	echo "the key is T0KEN"
	exit 3
fi
[ -e "$cache/fetched" ] && exit 0
mkdir -p "$cache"; echo evil >"$cache/poison"
echo "npm error 401 Unauthorized"
exit 1
`
		if err := os.WriteFile(filepath.Join(tools, "npm"), []byte(fake), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			name, lock  string
			keys        []string
			noted, seen string
		}{
			{
				name: "without",
				noted: "It ended with exit code 1: npm error 401 Unauthorized. If a source wants keys, this line in the user's own " +
					`config.toml, in the table [setup], gives them to this fetch alone: keys = ["npm"]]`,
			},
			{
				name:  "with",
				keys:  []string{"npm"},
				noted: `with a network and without keys, behind a fetch with those for npm.]`,
				seen:  "fetched\n",
			},
			{
				name:  "another kind",
				keys:  []string{"netrc"},
				noted: `npm gets no keys: the setting has none of its kinds (npm)]`,
			},
			{
				name:  "another host",
				lock:  `"node_modules/a":{"resolved":"https://evil.example/a.tgz"}`,
				keys:  []string{"npm"},
				noted: `npm gets no keys: package-lock.json: it names "https://evil.example/a.tgz", and your settings name no such server]`,
			},
		} {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				c, home := keyedChange(t, level, map[string]string{
					"package-lock.json": `{"lockfileVersion":3,"packages":{` + test.lock + `}}`,
					"package.json":      `{"scripts":{"preinstall":"EVIL"}}`,
					"scripts.js":        "EVIL\n",
					"bin/other":         "#!/bin/sh\n",
				})
				if err := os.Chmod(filepath.Join(c.Dir, "bin/other"), 0o700); err != nil {
					t.Fatal(err)
				}
				gittest.Write(t, home, map[string]string{
					".npmrc":        "//npm.acme.example/:_authToken=${ACME}\n",
					".netrc":        "machine x login y password z\n",
					".npm/existing": "",
				})
				path := tools + ":" + os.Getenv("PATH")
				c = withEnv(t, c, "ACME=T0KEN", "PATH="+path+":"+filepath.Join(c.Dir, "bin"), "TREE="+c.Dir)
				res := check(t, c, path, `cd "${npm_config_cache:-$HOME/.npm}"; cat fetched stolen 2>/dev/null; true`, test.keys...)
				noted, seen := test.noted, test.seen
				if level == sandbox.LevelNone && test.name == "with" {
					noted, seen = "npm gets no keys: there is no wall, so commands have them anyway]", ""
				}
				if !strings.HasPrefix(strings.TrimPrefix(res.Output, "\n"), seen+"[package-lock.json changed") || !strings.Contains(res.Output, noted) {
					t.Errorf("%q", res.Output)
				}
				if strings.Contains(res.Output, "T0KEN") {
					t.Errorf("the key is in %q", res.Output)
				}
				if left, err := filepath.Glob(filepath.Join(c.Config.Home, "caches", "run-*")); len(left) > 0 || err != nil {
					t.Errorf("left: %v, %v", left, err)
				}
			})
		}
	})
}

// Go itself gets a module from a server that wants a password.
func TestGoFetchesWithKeys(t *testing.T) {
	t.Parallel()
	const module = "git.acme.example/y"
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	f, err := w.Create(module + "@v1.0.0/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("module " + module + "\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	served := map[string][]byte{
		"/" + module + "/@v/v1.0.0.info": []byte(`{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}`),
		"/" + module + "/@v/v1.0.0.mod":  []byte("module " + module + "\n"),
		"/" + module + "/@v/v1.0.0.zip":  archive.Bytes(),
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, ok := r.BasicAuth(); !ok || name != "me" || password != "P4SS" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		_, _ = w.Write(served[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	wallstest.Levels(t, func(t *testing.T, level sandbox.Level) {
		if level == sandbox.LevelNone {
			return // commands have the keys there
		}
		c, home := keyedChange(t, level, map[string]string{
			"go.mod": "module m\n\ngo 1.21\n\nrequire " + module + " v1.0.0\n",
		})
		gittest.Write(t, home, map[string]string{
			".netrc": "machine " + at.Host + " login me password P4SS\n",
			"ca.pem": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})),
		})
		c = withEnv(t, c, "GOPROXY="+server.URL, "GONOSUMDB=*", "SSL_CERT_FILE="+filepath.Join(home, "ca.pem"), "GOFLAGS=-modcacherw")
		list := `ls "$(go env GOMODCACHE)"/cache/download/` + module + `/@v/v1.0.0.zip`
		res := check(t, c, os.Getenv("PATH"), list)
		if res.ExitCode == 0 || !strings.Contains(res.Output, `keys = ["netrc", "git-credential", "ssh-agent"]`) {
			t.Errorf("without: %q", res.Output)
		}
		c = withEnv(t, c)
		if res := check(t, c, os.Getenv("PATH"), list, "netrc"); res.ExitCode != 0 || !strings.Contains(res.Output, "those for go.]") {
			t.Errorf("with: %q", res.Output)
		}
	})
}

// withEnv has new walls of a change, whose user has more in the environment.
func withEnv(t *testing.T, c wallstest.Change, env ...string) wallstest.Change {
	t.Helper()
	c.Config.Env = append(c.Config.Env, env...)
	minimal, set := walls.Environment(c.Config.Settings, c.Config.Env)
	var err error
	if c.Config.Shell, err = sandbox.New(sandbox.Config{Env: minimal, Set: set}); err != nil {
		t.Fatal(err)
	}
	if c.Walls, err = walls.New(t.Context(), c.Config); err != nil {
		t.Fatal(err)
	}
	return c
}
