package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/config"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"OPENAI_API_KEY=sk-12345678":                        true,
		"GITHUB_TOKEN=ghp_abcdefgh":                         true,
		"DB_PASSWORD=correct horse":                         true,
		"MYSQL_PWD=hunter2hunter2":                          true,
		"npm_config__authToken=npm_abcdefgh":                true,
		"AWS_SECRET_ACCESS_KEY=/wJalrXUtnFEMI/K7MDENG+bPx=": true,
		"APIKEY=12345678":                                   true,
		"CLIENT_SECRET= padded-secret ":                     true,
		"DATABASE_URL=postgres://me:s3cr3tpw@db/x":          true,
		"GH_PAT=github_pat_11AA":                            true,
		"ODD_KEY=/x/MDENGbPxRfiCY":                          true,
		"COLON_KEY=CC:\\RfiCYMDENG":                         true,
		"SIGNING_KEY=-----BEGIN KEY-----\nabc\n-----END":    true,

		"API_KEY=short":                      false,
		"API_KEY=":                           false,
		"API_KEY":                            false,
		"PATH=/usr/bin:/bin:/usr/local/bin":  false,
		"PWD=/home/me/project":               false,
		"SSH_AUTH_SOCK=/tmp/ssh-abc/agent.1": false,
		"KEY_FILE=~/keys/id_ed25519":         false,
		"SSL_KEY=/home/me/server.pem":        false,
		"TLS_KEY=/Users/me/server.pem":       false,
		"APP_KEY=../secrets/app.pem":         false,
		`WIN_KEY=C:\keys\app.pem`:            false,
		"MONKEY=chimpanzee":                  false,
		"KEYBOARD=us-international":          false,
		"TOKENIZERS_PARALLELISM=disabled":    false,
		"PASSWORD=password":                  false,
		"GIT_AUTH=required":                  false,
		"API_KEY=xxxxxxxxxxxx":               false,
		"EDITOR=some-long-editor-name":       false,
		"PROXY=http://proxy.example:3128/":   false,
		"HOME_TOKEN=/odd.home/x/token-file":  false,
	}
	for entry, want := range tests {
		got := config.Secrets([]string{"HOME=/odd.home/x", entry})
		if (len(got) == 1) != want {
			t.Errorf("%q: secrets %v; want one: %v", entry, got, want)
		}
	}
	got := config.Secrets([]string{"URL=amqp://u:p%40ss-word@host:1/x", "B_TOKEN= trimmed-token\n"})
	want := []config.Secret{{Name: "URL", Value: "p%40ss-word"}, {Name: "B_TOKEN", Value: "trimmed-token"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRedactor(t *testing.T) {
	t.Parallel()
	redact := config.Redactor([]config.Secret{{"SHORT", "abcdefgh"}, {"LONG", "abcdefgh-and-more"}, {"SAME", "abcdefgh"}, {"NONE", ""}})
	tests := map[string]string{
		"":                           "",
		"nothing here":               "nothing here",
		"key=abcdefgh.":              "key=«secret SAME».",
		"abcdefgh-and-more":          "«secret LONG»",
		"abcdefgh-and-less":          "«secret SAME»-and-less",
		"abcdefghabcdefgh-and-more!": "«secret SAME»«secret LONG»!",
		"\xffabcdefgh\xff":           "\xff«secret SAME»\xff",
	}
	for text, want := range tests {
		if got := redact(text); got != want {
			t.Errorf("redact(%q) = %q, want %q", text, got, want)
		}
		if got := redact(redact(text)); got != want {
			t.Errorf("redact twice (%q) = %q, want %q", text, got, want)
		}
	}
	if got := config.Redactor(nil)("as it is"); got != "as it is" {
		t.Errorf("no secrets: %q", got)
	}
}

func TestFindHome(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		env  map[string]string
		want string
		err  string
	}{
		"own":          {map[string]string{"PLAN_HOME": "/p/./x/", "XDG_DATA_HOME": "/d", "HOME": "/h"}, "/p/x", ""},
		"data":         {map[string]string{"XDG_DATA_HOME": "/d", "HOME": "/h"}, "/d/plan", ""},
		"user":         {map[string]string{"HOME": "/h"}, "/h/.local/share/plan", ""},
		"relative XDG": {map[string]string{"XDG_DATA_HOME": "d", "HOME": "/h"}, "/h/.local/share/plan", ""},
		"relative own": {map[string]string{"PLAN_HOME": "~/plan", "HOME": "/h"}, "", `PLAN_HOME is "~/plan"`},
		"nothing":      {nil, "", "set PLAN_HOME or HOME"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := config.FindHome(getenv(tt.env))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error is %v; want %q in it", err, tt.err)
				}
				return
			}
			in := func(name string) string { return filepath.Join(tt.want, name) }
			want := config.Paths{
				Home:      tt.want,
				DB:        in("plan.db"),
				Locks:     in("locks"),
				Logs:      in("logs"),
				Skills:    in("skills"),
				Worktrees: in("worktrees"),
				Making:    in("making"),
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestAPIKey(t *testing.T) {
	t.Parallel()
	if got := config.APIKey(getenv(map[string]string{"OPENAI_API_KEY": " sk-1\n"})); got != "sk-1" {
		t.Errorf("APIKey = %q", got)
	}
}
