package keyed_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/host/keyed"
	"github.com/plan-engine/plan/internal/gittest"
)

// TestTheAgentIsForHostsOfTheSettings: only servers that the user's settings of go name,
// or those of git put in their place, and whose keys the user knows.
func TestTheAgentIsForHostsOfTheSettings(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	gittest.Write(t, home, map[string]string{".ssh/known_hosts": strings.Join([]string{
		"# mine",
		"git.acme.example,10.0.0.1 ssh-ed25519 QUNNRQ==",
		"|1|c2FsdHNhbHRzYWx0c2FsdHNhbHQ=|SgBVSp/pWstskhzb7Mr2T0I7Z28= ssh-ed25519 SEFTSEVE",
		"[ssh.acme.example]:2222 ssh-ed25519 UE9SVA==",
		"other.example ssh-ed25519 T1RIRVI=",
		"* ssh-ed25519 QUxM",
		"@cert-authority git.acme.example ssh-ed25519 Q0E=",
		"git.acme.example ssh-rsa T0xE",
		"@revoked * ssh-rsa T0xE",
	}, "\n")})
	prepare := func(env ...string) (keyed.Fetch, string) {
		t.Helper()
		fetches, without, err := keyed.Prepare(t.Context(), keyed.User{
			Keys: []string{keyed.KeySSHAgent},
			Env:  append([]string{"HOME=" + home, "GOPRIVATE=git.acme.example,hashed.example,*.corp.example"}, env...),
			Path: "/bin",
			Git: "[url \"ssh://git@ssh.acme.example:2222/\"]\n\tinsteadOf = https://git.acme.example/\n" +
				"[url \"git@other.example:\"]\n\tinsteadOf = https://public.example/\n",
		}, tree{
			"go.mod": "module m\nrequire git.acme.example/a v1.0.0\nrequire hashed.example/b v1.0.0\nrequire other.example/c v1.0.0\n",
		}, map[string][]string{"go": {"go.mod"}})
		if err != nil {
			t.Fatal(err)
		}
		if len(without) > 0 {
			return keyed.Fetch{}, without[0].String()
		}
		return fetches[0], ""
	}
	f, why := prepare("SSH_AUTH_SOCK=/agent")
	if why != "" || f.Agent == nil || f.Agent.Socket != "/agent" {
		t.Fatalf("%+v, %s", f.Agent, why)
	}
	var blobs []string
	for _, blob := range f.Agent.HostKeys {
		blobs = append(blobs, string(blob))
	}
	if got := strings.Join(blobs, " "); got != "ACME HASHED PORT" {
		t.Errorf("for %s", got)
	}
	want := "git.acme.example ssh-ed25519 QUNNRQ==\nhashed.example ssh-ed25519 SEFTSEVE\n[ssh.acme.example]:2222 ssh-ed25519 UE9SVA==\n"
	if got := f.Files["keys/known_hosts"]; got != want {
		t.Errorf("SSH knows\n%s", got)
	}
	if !strings.Contains(f.Line, `SSH_AUTH_SOCK="$KEYS/agent"`) {
		t.Errorf("%s", f.Line)
	}
	if _, why := prepare(); !strings.Contains(why, "SSH_AUTH_SOCK names no agent") {
		t.Errorf("without an agent: %s", why)
	}
	if err := os.Remove(filepath.Join(home, ".ssh", "known_hosts")); err != nil {
		t.Fatal(err)
	}
	if _, why := prepare("SSH_AUTH_SOCK=/agent"); !strings.Contains(why, "your known_hosts has none of the hosts") {
		t.Errorf("without known hosts: %s", why)
	}
}
