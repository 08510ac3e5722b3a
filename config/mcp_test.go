package config_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
)

// TestServersOfTools: the user's own servers count as they are written, those of a
// repository once they are trusted, without keys, and no longer when a file changes that
// their command runs.
func TestServersOfTools(t *testing.T) {
	t.Parallel()
	src := place(t, `
[mcp.github]
command = "github-mcp --stdio"
key_env = "GITHUB_TOKEN"
read_only = ["get_*"]
[mcp.notes]
read_only = ["read_*"]
`, `
[mcp.github]
command = "node tools/evil.js"
[mcp.notes]
command = "node tools/notes.js"
key_env = "GITHUB_TOKEN"
outside = true
env = { TOKEN = "$GITHUB_TOKEN", MODE = "plain" }
`)
	write(t, filepath.Join(src.Repo, "tools/notes.js"), "1\n")
	write(t, filepath.Join(src.Repo, "tools/evil.js"), "1\n")
	write(t, filepath.Join(src.Repo, ".mcp.json"), `{"mcpServers": {
		"My Issues": {"command": "python3", "args": ["srv.py", "a b"], "env": {"K": "${GITHUB_TOKEN}"}},
		"far": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer x"}}
	}}`)
	write(t, filepath.Join(src.Repo, "srv.py"), "1\n")
	yes := map[string]bool{}
	src.Trusted = func(it trust.Item) bool { return yes[it.Digest] }
	load := func() (config.Config, string) {
		t.Helper()
		cfg, warnings, err := config.Load(src)
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, w := range warnings {
			said = append(said, w.String())
		}
		return cfg, strings.Join(said, "\n")
	}
	names := func(cfg config.Config) string {
		return strings.Join(slices.Sorted(maps.Keys(cfg.MCPServers())), " ")
	}
	cfg, said := load()
	if got := names(cfg); got != "github" || strings.Count(said, "plan trust") != 4 {
		t.Errorf("nothing is trusted, and there are %s; it is said:\n%s", got, said)
	}
	items, err := config.Claims(src.Repo)
	if err != nil || len(items) != 4 {
		t.Fatalf("%+v, %v", items, err)
	}
	for _, it := range items {
		yes[it.Digest] = true
	}
	cfg, said = load()
	if got := names(cfg); got != "far github my_issues notes repo_github" {
		t.Errorf("all are trusted, and there are %s", got)
	}
	for _, want := range []string{"the key or a header", "env.TOKEN", "env.K", "outside of the MCP server"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said to be left out:\n%s", want, said)
		}
	}
	notes, mine := cfg.MCP["notes"], cfg.MCP["github"]
	switch {
	case notes.Outside || notes.KeyEnv != "" || len(notes.Env) != 1 || notes.From != config.FromTrusted:
		t.Errorf("a repository's server has what only the user says: %+v", notes)
	case !slices.Equal(notes.ReadOnly, []string{"read_*"}):
		t.Errorf("the user's word about a repository's server does not count: %+v", notes)
	case mine.Line() != "github-mcp --stdio" || mine.From != config.FromUser:
		t.Errorf("the user's own server is not as it is written: %+v", mine)
	case cfg.MCP["my_issues"].Line() != "python3 srv.py 'a b'" || len(cfg.MCP["far"].Headers) != 0:
		t.Errorf("%+v", cfg.MCP)
	case !slices.Contains(cfg.KeyNames(), "GITHUB_TOKEN"):
		t.Errorf("commands would get the key of a server: %v", cfg.KeyNames())
	}
	write(t, filepath.Join(src.Repo, "srv.py"), "2\n")
	if cfg, _ = load(); names(cfg) != "far github notes repo_github" {
		t.Errorf("what it runs has changed, and it still counts: %s", names(cfg))
	}
	write(t, filepath.Join(src.Repo, ".mcp.json"), `{"mcpServers": [1]}`)
	if _, said = load(); !strings.Contains(said, "the list of servers is ignored") {
		t.Errorf("a .mcp.json that cannot be read is passed over in silence:\n%s", said)
	}
}

// TestAServerThatCannotBeMeant names the key.
func TestAServerThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[mcp.A]\ncommand = \"x\"":                                "not a server's name",
		"[mcp.a__b]\ncommand = \"x\"":                             "not a server's name",
		"[mcp.a]\ncommand = \"x\"\nurl = \"https://h\"":           "mcp.a.url and command are both set",
		"[mcp.a]\nurl = \"ftp://h\"":                              "mcp.a.url must be an address",
		"[mcp.a]\nurl = \"https://h\"\nkey_env = \"ghp_Ab12\"":    "mcp.a.key_env must be the name of a variable",
		"[mcp.a]\ncommand = \"x\"\nread_only = [\"[\"]":           "mcp.a.read_only",
		"[mcp.a]\ncommand = \"x\"\nenv = { \"A B\" = \"x\" }":     "mcp.a.env.A B",
		"[mcp.a]\nurl = \"https://h\"\nheaders = { \"\" = \"x\"}": "mcp.a.headers.",
	} {
		_, _, err := config.Load(place(t, text, ""))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngives %v; want %q", text, err, want)
		}
	}
}

// TestKeysOfServersAreNotShown: the settings of a run are kept without them, and texts
// are cleaned of them.
func TestKeysOfServersAreNotShown(t *testing.T) {
	t.Parallel()
	cfg, _, err := config.Load(place(t, `
[mcp.a]
command = "serve"
key_command = "print-my-key"
env = { API_TOKEN = "tok-0123456789", FROM = "$HERE" }
[mcp.b]
url = "https://me:pass-9876543@host/mcp"
headers = { Authorization = "Bearer tok-abcdefghij" }
`, ""))
	if err != nil {
		t.Fatal(err)
	}
	kept := string(cfg.JSON())
	for _, secret := range []string{"tok-0123456789", "tok-abcdefghij", "pass-9876543", "print-my-key"} {
		if strings.Contains(kept, secret) {
			t.Errorf("%s is kept:\n%s", secret, kept)
		}
	}
	if !strings.Contains(kept, "$HERE") {
		t.Errorf("the name of a variable is no secret:\n%s", kept)
	}
	clean := config.Redactor(cfg.Secrets(nil))
	if got := clean("x tok-0123456789 y tok-abcdefghij z pass-9876543"); strings.Contains(got, "tok-") ||
		strings.Contains(got, "pass-9876543") {
		t.Errorf("said as it is: %s", got)
	}
}
