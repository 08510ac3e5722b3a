package proof_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/plan-engine/plan/host/walls/wallstest"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/internal/gittest/sshtest"
	"github.com/plan-engine/plan/sandbox"
)

// TestGoFetchesBySSH: go gets a module by SSH from a server that the user's settings name
// and that the user knows, with the user's agent, of which nothing else learns.
func TestGoFetchesBySSH(t *testing.T) {
	t.Parallel()
	const module = "git.acme.example/y.git"
	dir, err := os.MkdirTemp("", "ssh") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	repos := filepath.Join(dir, "repos")
	gittest.Git(t, dir, "init", "-q", "-b", "main", "repos/y.git")
	gittest.Write(t, filepath.Join(repos, "y.git"), map[string]string{"go.mod": "module " + module + "\n", "y.go": "package y\n"})
	gittest.Git(t, filepath.Join(repos, "y.git"), "add", "-A")
	gittest.Git(t, filepath.Join(repos, "y.git"), "commit", "-qm", "y")
	gittest.Git(t, filepath.Join(repos, "y.git"), "tag", "v1.0.0")
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	at, host := sshtest.Serve(t, signer.PublicKey(), repos)
	socket := filepath.Join(dir, "agent")
	sshtest.ServeAgent(t, socket, key)
	known := func(key ssh.PublicKey) string {
		_, port, _ := net.SplitHostPort(at)
		return "[127.0.0.1]:" + port + " " + string(ssh.MarshalAuthorizedKey(key))
	}
	wallstest.Levels(t, func(t *testing.T, level sandbox.Level) {
		if level == sandbox.LevelNone {
			return // commands have the agent there
		}
		for name, test := range map[string]struct {
			known   ssh.PublicKey
			private string
			keys    []string
			want    string
		}{
			"without":        {known: host, private: "git.acme.example", want: `"ssh-agent"]`},
			"with":           {known: host, private: "git.acme.example", keys: []string{"ssh-agent"}, want: "those for go.]"},
			"no such host":   {known: host, private: "*", keys: []string{"ssh-agent"}, want: "go gets no keys: your known_hosts has none"},
			"another server": {known: signer.PublicKey(), private: "git.acme.example", keys: []string{"ssh-agent"}, want: "With keys, go ended"},
		} {
			c, home := keyedChange(t, level, map[string]string{
				"go.mod": "module m\n\ngo 1.21\n\nrequire " + module + " v1.0.0\n",
			})
			gittest.Write(t, home, map[string]string{
				".ssh/known_hosts": known(test.known),
				".gitconfig":       "[url \"ssh://git@" + at + "/\"]\n\tinsteadOf = https://git.acme.example/\n",
			})
			c = withEnv(t, c, "SSH_AUTH_SOCK="+socket, "GOPRIVATE="+test.private, "GOFLAGS=-modcacherw")
			list := `test -z "$SSH_AUTH_SOCK" && ls "$(go env GOMODCACHE)"/cache/download/` + module + `/@v/v1.0.0.zip`
			res := check(t, c, os.Getenv("PATH"), list, test.keys...)
			if got := res.ExitCode == 0; got != (name == "with") || !strings.Contains(res.Output, test.want) {
				t.Errorf("%s: %q", name, res.Output)
			}
		}
	})
}
