package places_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/sandbox/places"
)

const canary = "CANARY-2f9d"

// fill writes files below a folder; a text that begins with "-> " is a link.
func fill(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			err = errors.Join(err, os.Symlink(to, path))
		} else {
			err = errors.Join(err, os.WriteFile(path, []byte(text), 0o755))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Shown is what managers and the environment name, and never the home, a folder of many
// tools or what holds the tree.
func TestShown(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	fill(t, home, map[string]string{
		".nvm/versions/bin/node": "", ".pyenv/shims/python": "", ".config/foo/token": "", ".env": "", "src/other/.env": "",
		".bashrc": "", "src/repo/file": "", ".tool-versions": "", "src/.nvmrc": "", "opt/java/bin/java": "", "venv/bin/python": "",
		".local/bin/tool": "-> ../share/tool/bin/tool", ".local/share/tool/bin/tool": "", ".local/share/tool/lib/x": "",
		".local/share/secret/x": "", "apps/x/bin/x": "", "apps/x/lib/y": "", "apps/x/config": "", "gp/pkg/mod/x": "", "gp/src/y": "",
		"script.sh": "", ".local/bin/script": "-> " + home + "/script.sh", "linked": "-> /usr", "data/share/uv/x": "",
	})
	in := func(name string) string { return filepath.Join(home, name) }
	env := []string{
		"HOME=" + home, "PATH=" + strings.Join([]string{home, in("src"), in("apps/x/bin"), in(".local/bin"), "/usr/bin", "bin"}, ":"),
		"JAVA_HOME=" + in("opt/java"), "VIRTUAL_ENV=" + in("venv"), "GOPATH=" + in("gp"), "WORK_ROOT=" + in("src"),
		"FOO_HOME=" + home, "BAR_HOME=" + filepath.Dir(home), "BAZ_ROOT=/", "XDG_CONFIG_HOME=" + in(".config"), "QUX_HOME=" + in(".config"),
		"XDG_DATA_HOME=" + in("data/share"), "PYTHONPATH=" + in(".local") + ":" + in("gone"), "OTHER=" + in("src/other"),
		"A_PREFIX=relative", "LINK_ROOT=" + in("linked"),
	}
	var got []string
	for _, path := range places.Of(env, in("src/repo")).Shown() {
		rel, err := filepath.Rel(home, path)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, rel)
	}
	want := []string{
		".local/bin", ".local/share/tool/bin", ".local/share/tool/bin/tool", ".local/share/tool/lib", ".nvm", ".pyenv", ".tool-versions",
		"apps/x/bin", "apps/x/lib", "data/share/uv", "gp", "gp/pkg", "linked", "opt/java", "script.sh", "src/.nvmrc", "venv",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, env := range [][]string{nil, {"HOME=/"}, {"HOME=relative"}, {"HOME=/not/there"}} {
		if h := places.Of(env, "/tree"); h.Dir() != "" || h.Shown() != nil || h.Settings() != nil {
			t.Errorf("%v has a home", env)
		}
	}
	show, refused := places.Of(env, in("src/repo")).Ask([]string{"~/.env", "~", in("src/other"), "/", "~/gone", "~/.", "~/../" + filepath.Base(home)})
	if diff := cmp.Diff([]string{in(".env"), in("src/other")}, show); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"~", "/", "~/.", "~/../" + filepath.Base(home)}, refused); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Settings keep what tools need and lose every credential, of whatever kind.
func TestSettings(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	fill(t, home, map[string]string{
		".gitconfig": "[user]\n\tname = Me\n[credential]\n\thelper = !echo " + canary + "\n[http \"https://h/\"]\n\textraheader = Authorization: " +
			canary + "\n\tsslVerify = true\n[url \"https://oauth2:" + canary + "@h/\"]\n\tinsteadOf = git@h:\n[github]\n\ttoken = " + canary +
			"\n[alias]\n\tst = status\n\tx = !curl \\\n  " + canary + "/\\\n  -H Bearer" + "\n# " + canary +
			"\n[sendemail]\n\tsmtpPass = " + canary + "\n[include]\n\tpath = more.inc\n\tpath = gone.inc\n[core]\n\teditor = vi\n",
		"more.inc": "[user]\n\temail = me@h\n[foo]\n\tbar = " + canary + "\n",
		".npmrc": "registry=https://r.example/\n//r.example/:_authToken=" + canary + "\n@a:registry=https://u:" + canary +
			"@r.example/a/\n_auth = " + canary + "\nemail=" + canary + "\nkey=\"" + canary + "\\n\"\ncache=/c\n",
		".config/pip/pip.conf": "[global]\nindex-url = https://u:" + canary + "@i.example/simple\nextra-index-url =\n  https://" +
			canary + "@j.example/simple\n  https://k.example/\npassword = x\n  " + canary + "\ntimeout = 5\nproxy = u:" + canary + "@p:80\n",
		".config/pypoetry/config.toml": "[virtualenvs]\nin-project = true\n[http-basic.foo]\nusername = \"" + canary + "\"\npassword = \"" + canary + "\"\n",
		".cargo/config.toml": "[build]\njobs = 2\n[http]\nproxy = \"u:" + canary + "@p:80\"\n[registries.mine]\nindex = \"sparse+https://i/\"\ntoken = \"" + canary + "\"\n[registries]\nx = { token = \"" +
			canary + "\" }\n[env]\nKEY = \"" + canary + "\"\n[target.x]\nrustflags = [\n  \"-C\",\n]\n",
		".gradle/gradle.properties": "org.gradle.daemon=false\nrepoPassword=" + canary + "\nx=\\\n  " + canary + "\nsystemProp.http.proxyHost=p\n",
		".m2/settings.xml": "<?xml version=\"1.0\"?>\n<settings xmlns=\"http://m\"><!-- " + canary + " --><servers><server><password>" + canary +
			"</password></server></servers><mirrors><mirror><url>https://u:" + canary + "@m/</url></mirror></mirrors><profiles><profile><id>a</id><properties><k>" +
			canary + "</k></properties></profile></profiles><localRepository>/r</localRepository></settings>\n",
		".bundle/config": "---\nBUNDLE_PATH: \"vendor\"\nBUNDLE_GEMS__EXAMPLE__COM: \"u:" + canary + "\"\nBUNDLE_MIRROR__X: \"https://u:" + canary + "@m/\"\n",
		".config/go/env": "GOPROXY=https://u:" + canary + "@p.example,direct\nGOFLAGS=-mod=mod\nSOME=" + canary + "\n",
		".yarnrc.yml":    "nodeLinker: node-modules\nnpmScopes:\n  a:\n    npmAuthToken: " + canary + "\nnpmAuthToken: " + canary + "\n",
		".condarc":       "channels:\n  - https://u:" + canary + "@c/\n  - defaults\nproxy_servers:\n  http: http://u:" + canary + "@p\n",
	})
	got := map[string]string{}
	for _, s := range places.Of([]string{"HOME=" + home}, "/tree").Settings() {
		name, _ := filepath.Rel(home, s.Path)
		got[name] = string(s.Data)
		if strings.Contains(string(s.Data), canary) {
			t.Errorf("%s holds a credential:\n%s", name, s.Data)
		}
		if !s.Changed {
			t.Errorf("%s is said to be as it is", name)
		}
	}
	for name, want := range map[string][]string{
		".gitconfig":                   {"name = Me", "sslVerify = true", `[url "https://h/"]`, "insteadOf = git@h:", "email = me@h", "editor = vi"},
		".npmrc":                       {"registry=https://r.example/\n", "@a:registry=https://r.example/a/", "cache=/c"},
		".config/pip/pip.conf":         {"index-url = https://i.example/simple", "  https://j.example/simple", "  https://k.example/", "timeout = 5"},
		".config/pypoetry/config.toml": {"in-project = true"},
		".cargo/config.toml":           {"jobs = 2", `index = "sparse+https://i/"`, "rustflags = [\n  \"-C\",\n]"},
		".gradle/gradle.properties":    {"org.gradle.daemon=false", "systemProp.http.proxyHost=p"},
		".m2/settings.xml":             {"<url>https://m/</url>", "<id>a</id>", "<localRepository>/r</localRepository>", "</settings>"},
		".bundle/config":               {`BUNDLE_PATH: "vendor"`, `BUNDLE_MIRROR__X: "https://m/"`},
		".config/go/env":               {"GOPROXY=https://p.example,direct", "GOFLAGS=-mod=mod"},
		".yarnrc.yml":                  {"nodeLinker: node-modules"},
		".condarc":                     {"channels:\n  - https://c/\n  - defaults"},
	} {
		if i := slices.IndexFunc(want, func(part string) bool { return !strings.Contains(got[name], part) }); i >= 0 {
			t.Errorf("%s has lost %q:\n%s", name, want[i], got[name])
		}
	}
}

// Settings without credentials are as they are, also where a variable names them.
func TestHarmlessSettings(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	const text = "[user]\n\tname = Me\n\n[core]\n\tautocrlf = input\n"
	fill(t, home, map[string]string{"mine": text, ".gitconfig": "[user]\n\tname = Other\n", ".npmrc": "fund=false\n"})
	for _, s := range places.Of([]string{"HOME=" + home, "GIT_CONFIG_GLOBAL=" + home + "/mine"}, "/tree").Settings() {
		if s.Changed || filepath.Base(s.Path) == ".gitconfig" {
			t.Errorf("%+v", s)
		}
	}
}

// Of further homes only what the environment names and tools are made of is shown, and
// no home as a whole.
func TestFurtherHomes(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"home/me/.nvm", "home/bob/bin", "home/bob/jdk", "home/brew/bin", "home/brew/lib", "passwd/.pyenv", "passwd/.ssh"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(root, name) }
	env := []string{
		"HOME=" + in("home/me"), "PATH=" + in("home/brew/bin"), "JAVA_HOME=" + in("home/bob/jdk"), "BOB_ROOT=" + in("home/bob"),
		"MY_HOME=" + in("home/me"), "NVM_DIR=" + in("home/me/.nvm"),
	}
	homes := places.Homes(env, in("passwd"))
	if !slices.Contains(homes, in("home")) || !slices.Contains(homes, in("passwd")) || slices.Contains(homes, in("home/me")) {
		t.Errorf("the homes are %q", homes)
	}
	h := places.Of(env, in("tree"))
	for other, want := range map[string][]string{
		"home":   {in("home/bob/jdk"), in("home/brew/bin"), in("home/brew/lib")},
		"passwd": {in("passwd/.pyenv")},
	} {
		if diff := cmp.Diff(want, h.ShownOf(in(other))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", other, diff)
		}
	}
}
