package keyed_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/host/keyed"
)

// tree is one in memory.
type tree map[string]string

func (t tree) IDs() map[string]string { return t }

func (t tree) ReadLocks(_ context.Context, paths ...string) (map[string]string, error) {
	out := map[string]string{}
	for _, path := range paths {
		if text, ok := t[path]; ok {
			out[path] = text
		}
	}
	return out, nil
}

const npmrc = `; mine
registry=https://registry.npmjs.org/
@acme:registry=https://npm.acme.example/npm/
//npm.acme.example/npm/:_authToken=${ACME_TOKEN}
//other.example/:_authToken=${UNSET}
_authToken=UNBOUND
script-shell=/evil
init-module=x
`

// prepare prepares a fetch of one tool for a user whose home has a .npmrc and a .netrc.
func prepare(t *testing.T, tool string, files tree, locks ...string) (f keyed.Fetch, why string) {
	t.Helper()
	home := t.TempDir()
	netrc := "# mine\nmachine git.acme.example\n\tlogin me password P-netrc\ndefault login any password P-default\nmacdef init\nmachine x\n"
	for name, text := range map[string]string{".npmrc": npmrc, ".netrc": netrc} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fetches, without, err := keyed.Prepare(t.Context(), keyed.User{
		Keys: []string{keyed.KeyNPM, keyed.KeyNetrc, keyed.KeyGitCredential},
		Env: []string{
			"HOME=" + home, "ACME_TOKEN=T-npm", "GOPRIVATE=git.acme.example/*,*.corp.example,*,*.com",
			"GOPROXY=https://me:P-proxy@proxy.example,file:///x,direct",
		},
		Path: "/bin",
		Ask: func(_ context.Context, host string) (name, password string, err error) {
			if host != "a.corp.example" {
				t.Errorf("asked for %s", host)
				return "", "", errors.New("none")
			}
			return "me", "P-helper", nil
		},
	}, files, map[string][]string{tool: locks})
	if err != nil {
		t.Fatal(err)
	}
	if len(without) > 0 {
		return f, without[0].String()
	}
	return fetches[0], ""
}

func lock(packages string) string { return `{"lockfileVersion":3,"packages":{` + packages + `}}` }

// Keys go where the user's own settings name all sources, and what is copied says
// nothing but what is fetched.
func TestNPMGetsKeysForNamedHosts(t *testing.T) {
	t.Parallel()
	const manifest = `{"name":"x","version":"1.0.0","scripts":{"install":"EVIL"},"packageManager":"EVIL","config":{"a":"EVIL"},` +
		`"dependencies":{"@acme/a":"^1.2.0","b":"npm:@acme/b@~1 || 2.x"},"workspaces":["w/*"],"overrides":{"c":{"d":"1"}}}`
	f, why := prepare(t, "npm", tree{
		"app/package.json":       manifest,
		"app/w/one/package.json": `{"name":"one","scripts":{"prepare":"EVIL"}}`,
		"app/.npmrc":             "registry=https://EVIL/",
		"app/package-lock.json": lock(`"":{"name":"x","dependencies":{"@acme/a":"^1.2.0"},"bin":"EVIL"},` +
			`"node_modules/@acme/a":{"version":"1.2.3","resolved":"https://npm.acme.example/npm/a.tgz","integrity":"sha512-x"},` +
			`"node_modules/one":{"resolved":"w/one","link":true},"w/one":{"name":"one"},` +
			`"node_modules/c":{"version":"1.0.0","resolved":"https://registry.npmjs.org/c.tgz"}`),
	}, "app/package-lock.json")
	if why != "" {
		t.Fatal(why)
	}
	all := f.Line
	for _, text := range f.Files {
		all += text
	}
	if strings.Contains(all, "EVIL") || strings.Contains(all, "UNBOUND") || strings.Contains(all, "other.example") || strings.Contains(all, "evil") {
		t.Errorf("it has what it must not: %s", all)
	}
	if !strings.Contains(f.Files["keys/npmrc"], "//npm.acme.example/npm/:_authToken=T-npm\n") || len(f.Files) != 4 {
		t.Errorf("%v", f.Files)
	}
	if got := f.Clean("a T-npm b"); got != "a [redacted] b" {
		t.Error(got)
	}
}

func TestNPMGetsNoKeysForOthers(t *testing.T) {
	t.Parallel()
	one := func(entry string) string { return lock(`"node_modules/a":{` + entry + `}`) }
	for name, files := range map[string]tree{
		"another host":       {"package-lock.json": one(`"resolved":"https://evil.example/a.tgz"`)},
		"a longer host":      {"package-lock.json": one(`"resolved":"https://npm.acme.example.evil.example/a.tgz"`)},
		"a name in it":       {"package-lock.json": one(`"resolved":"https://npm.acme.example@evil.example/a.tgz"`)},
		"another port":       {"package-lock.json": one(`"resolved":"https://npm.acme.example:8443/a.tgz"`)},
		"no TLS":             {"package-lock.json": one(`"resolved":"http://npm.acme.example/a.tgz"`)},
		"git":                {"package-lock.json": one(`"resolved":"git+ssh://git@npm.acme.example/a.git#1"`)},
		"git as https":       {"package-lock.json": one(`"resolved":"git+https://npm.acme.example/a.git#1"`)},
		"a file":             {"package-lock.json": one(`"resolved":"file:../a.tgz"`)},
		"a link out":         {"package-lock.json": one(`"resolved":"../a","link":true`)},
		"a link to a server": {"package-lock.json": one(`"resolved":"https://evil.example/a","link":true`)},
		"a version":          {"package-lock.json": one(`"version":"https://evil.example/a.tgz"`)},
		"a dependency":       {"package-lock.json": one(`"dependencies":{"b":"evil/repo"}`)},
		"a place":            {"package-lock.json": lock(`"node_modules/../../a":{}`)},
		"an old lock file":   {"package-lock.json": `{"lockfileVersion":1,"dependencies":{}}`},
		"no lock file":       {"package-lock.json": `{`},
		"a manifest's":       {"package-lock.json": lock(``), "package.json": `{"dependencies":{"a":"https://evil.example/a.tgz"}}`},
		"a manifest's git":   {"package-lock.json": lock(``), "package.json": `{"devDependencies":{"a":"github:evil/a"}}`},
		"a manifest's alias": {"package-lock.json": lock(``), "package.json": `{"optionalDependencies":{"a":"npm:b@git+https://evil.example"}}`},
		"an override":        {"package-lock.json": lock(``), "package.json": `{"overrides":{"a":{"b":"https://evil.example/a.tgz"}}}`},
		"a workspace":        {"package-lock.json": lock(``), "package.json": `{"workspaces":["../*"]}`},
		"a folder's name":    {"package-lock.json": lock(``)},
		"nothing but a file": {"package-lock.json": lock(``), "package.json": `{"dependencies":{"a":"./a.tgz"}}`},
	} {
		if files["package.json"] == "" {
			files["package.json"] = "{}"
		}
		at := "package-lock.json"
		if name == "a folder's name" {
			at = "a' ; evil '/package-lock.json"
			files[at], files["a' ; evil '/package.json"] = lock(``), "{}"
		}
		if f, why := prepare(t, "npm", files, at); !strings.HasPrefix(why, "npm gets no keys: ") {
			t.Errorf("%s: %+v, %q", name, f, why)
		}
	}
}

// Go gets keys for hosts that netrc and GOPRIVATE name, and asks no other server than
// those and the proxies.
func TestGoGetsKeysForNamedHosts(t *testing.T) {
	t.Parallel()
	f, why := prepare(t, "go", tree{
		"go.mod": "module git.acme.example/x\nrequire a.corp.example/m v1.0.0\nrequire evil.com/m v1.0.0\n" +
			"require git.acme.example/y v1.0.0\ntoolchain go9\n",
		"go.sum":   "",
		"s/go.mod": "module s\n",
	}, "go.sum")
	if why != "" {
		t.Fatal(why)
	}
	if !strings.Contains(f.Line, "GOPROXY='https://proxy.example' ") || !strings.Contains(f.Line, "cd 'tree' && ") ||
		strings.Contains(f.Line, "tree/s") {
		t.Error(f.Line)
	}
	const want = "machine git.acme.example login me password P-netrc\nmachine a.corp.example login me password P-helper\n"
	if got := f.Files["keys/netrc"]; got != want {
		t.Errorf("%q", got)
	}
	if got := f.Clean(f.Line + f.Files["keys/credentials"]); strings.Contains(got, "P-") {
		t.Error(got)
	}
}

// What cannot be kept from running code with keys gets none.
func TestOtherToolsGetNoKeys(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"pip", "cargo", "yarn", "poetry"} {
		if _, why := prepare(t, tool, tree{}, "x.lock"); !strings.HasPrefix(why, tool+" gets no keys: it cannot be kept from") {
			t.Errorf("%s: %q", tool, why)
		}
	}
}

// A tool gets only the kinds of keys that the user has named.
func TestKindsThatAreNotNamed(t *testing.T) {
	t.Parallel()
	for tool, kinds := range map[string][]string{
		"npm": {keyed.KeyNetrc, keyed.KeyGitCredential},
		"go":  {keyed.KeyNPM},
	} {
		fetches, without, err := keyed.Prepare(t.Context(), keyed.User{
			Keys: kinds,
			Env:  []string{"HOME=" + t.TempDir()},
			Path: "/bin",
		}, tree{}, map[string][]string{tool: {"lock"}})
		if err != nil || len(fetches) > 0 || len(without) != 1 || !strings.Contains(without[0].String(), "none of its kinds") {
			t.Errorf("%s: %v, %v, %v", tool, fetches, without, err)
		}
	}
}
