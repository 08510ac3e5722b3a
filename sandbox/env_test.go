package sandbox_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/sandbox"
)

func TestCleanEnvByName(t *testing.T) {
	t.Parallel()
	dropped := []string{
		"OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_MODEL", "AWS_REGION", "AZURE_TENANT", "VAULT_ADDR",
		"PLAN_HOME", "PLAN_MODEL",
		"GITHUB_TOKEN", "GITHUB_PAT", "HF_TOKEN", "NPM_AUTHTOKEN", "npm_config_//registry.npmjs.org/:_authToken",
		"MY_KEY", "KEY", "APIKEY", "SSH_KEYS", "CLIENT_SECRET", "SECRETS", "PGPASSWORD", "DB_PASSWD", "SMTP_PASS",
		"MYSQL_PWD", "GPG_PASSPHRASE", "GOOGLE_APPLICATION_CREDENTIALS", "SSH_AUTH_SOCK", "AUTH", "OAUTH",
		"KEY_FILE", "docker.token",
		"GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0", "GIT_TRACE",
		"BASH_ENV", "ENV", "SHELLOPTS", "BASH_FUNC_ls%%", "FORCE_COLOR",
	}
	kept := []string{
		"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER", "SHELL", "PWD", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XAUTHORITY",
		"GOPATH", "GOFLAGS", "GOPROXY", "GOAUTH", "CGO_ENABLED", "CC", "JAVA_HOME", "NODE_OPTIONS", "HTTPS_PROXY",
		"GIT_AUTHOR_NAME", "GIT_COMMITTER_EMAIL", "TOKENIZERS_PARALLELISM", "KEYMAP", "AUTHOR", "PASSENGER_ROOT", "COMPASS", "PATTERN",
	}
	var environ, want []string
	for i := range max(len(dropped), len(kept)) {
		if i < len(dropped) {
			environ = append(environ, dropped[i]+"=x")
		}
		if i < len(kept) {
			environ = append(environ, kept[i]+"=x")
			want = append(want, kept[i]+"=x")
		}
	}
	want = append(want, "DEBIAN_FRONTEND=noninteractive", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "PAGER=cat", "TERM=dumb")
	if diff := cmp.Diff(want, sandbox.CleanEnv(environ)); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestOwnEnvKeepsCredentialsButNotTheModelsKey(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=/bin", "GH_TOKEN=t", "AWS_REGION=r", "SSH_AUTH_SOCK=s", "OPENAI_API_KEY=k", "openai_api_key=k", "PLAN_HOME=h", "GIT_DIR=d", "BASH_ENV=e", "BASH_FUNC_ls%%=f"}
	shell, err := sandbox.New(sandbox.Config{Env: append(environ, "PATH="+os.Getenv("PATH")), Own: true, Set: []string{"PLAN_JOB=a b"}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := shell.Run(t.Context(), sandbox.Command{Line: `echo "$GH_TOKEN $AWS_REGION $SSH_AUTH_SOCK<$OPENAI_API_KEY$openai_api_key$PLAN_HOME$GIT_DIR>$PLAN_JOB"`})
	if got := strings.TrimSpace(string(res.Output)); err != nil || got != "t r s<>a b" {
		t.Errorf("the command saw %q, %v", got, err)
	}
	var names []string
	for _, entry := range sandbox.OwnEnv(environ) {
		names = append(names, strings.SplitN(entry, "=", 2)[0])
	}
	if want := "PATH GH_TOKEN AWS_REGION SSH_AUTH_SOCK DEBIAN_FRONTEND"; !strings.HasPrefix(strings.Join(names, " "), want) {
		t.Errorf("%v, want %s first", names, want)
	}
}

func TestCleanEnvSettlesDoublesAndOddEntries(t *testing.T) {
	t.Parallel()
	got := sandbox.CleanEnv([]string{"A=1", "TERM=xterm", "B=2=3", "A=4", "no equals sign", "=C:=C:\\", "PAGER=less"})
	want := "B=2=3 A=4 DEBIAN_FRONTEND=noninteractive GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 PAGER=cat TERM=dumb"
	if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(got, sandbox.CleanEnv(got)); diff != "" {
		t.Errorf("cleaning twice differs (-once +twice):\n%s", diff)
	}
}
