package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/config"
)

func TestRulesFindSecretsByTheirShape(t *testing.T) {
	t.Parallel()
	redact, err := config.Rules([]string{`\bACME-[0-9]{6}\b`, `pin is (\d{4})`})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a1B2", 10)
	for in, want := range map[string]string{
		"key sk-proj-" + long + " end":            "key «secret» end",
		"ghp_" + long:                             "«secret»",
		"github_pat_" + long:                      "«secret»",
		"glpat-" + long[:20]:                      "«secret»",
		"xoxb-123456789012-abc":                   "«secret»",
		"id AKIAABCDEFGHIJKLMNOP,":                "id «secret»,",
		"AIza" + long[:35]:                        "«secret»",
		"hf_" + long:                              "«secret»",
		"sk_live_" + long[:16]:                    "«secret»",
		"eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl":  "«secret»",
		"Authorization: Bearer " + long[:12]:      "Authorization: Bearer «secret»",
		`{"authorization": "Basic dXNlcjpwYXNz"}`: `{"authorization": "Basic «secret»"}`,
		"https://bob:hunter22@host/x":             "https://bob:«secret»@host/x",
		"export DB_PASSWORD=correct-horse":        "export DB_PASSWORD=«secret»",
		`API_KEY: "abcdefgh1234"`:                 `API_KEY: "«secret»"`,
		"-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----": "" +
			"-----BEGIN RSA PRIVATE KEY-----«secret»-----END RSA PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY-----\ncut":     "-----BEGIN PRIVATE KEY-----«secret»",
		"serial ACME-123456 and pin is 1234":   "serial «secret» and pin is «secret»",
		"both sk-" + long + " and ghp_" + long: "both «secret» and «secret»",
		"API_KEY=«secret API_KEY»":             "API_KEY=«secret API_KEY»",
	} {
		if got := redact(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
		if again := redact(redact(in)); again != redact(in) {
			t.Errorf("%q does not stay as it is: %q", redact(in), again)
		}
	}
	for _, in := range []string{
		"token := next()", "the sk-learn package", "risk-assessment-of-all-dependencies-in-use", "password = os.Getenv(\"X\")",
		"commit 605fa37dfd18b330c20960dd92f1bf5ccc76059b", strings.Repeat("0123456789abcdef", 4), "01M7YBSD5NNQQSSGEE17BBMTXX",
		"TOKEN=$TOKEN", "API_KEY=${KEY}", "http://127.0.0.1:42707/v1", "git@github.com:plan-engine/plan.git", "MAX_TOKENS: 4096",
		"const tokenLimit = 100000000", "func (k Key) Bearer() string", "refs/plan/01M7/start",
	} {
		if got := redact(in); got != in {
			t.Errorf("%q became %q", in, got)
		}
	}
}

func TestRulesRefuseWhatCannotBeMeant(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for pattern, want := range map[string]string{"(": "not a regular expression", "x*": "matches the empty text"} {
		if _, err := config.Rules([]string{"fine", pattern}); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "entry 2") {
			t.Errorf("%q: %v", pattern, err)
		}
		file := filepath.Join(home, "config.toml")
		if err := os.WriteFile(file, []byte("[redact]\npatterns = [\""+pattern+"\"]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := config.Load(config.Source{Home: home})
		if err == nil || !strings.Contains(err.Error(), "config.toml:2") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q in a file: %v", pattern, err)
		}
	}
}
