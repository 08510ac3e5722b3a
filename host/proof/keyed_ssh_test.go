package proof_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/plan-engine/plan/host/walls/wallstest"
	"github.com/plan-engine/plan/internal/gittest"
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
	at, host := serveSSH(t, signer.PublicKey(), repos)
	socket := filepath.Join(dir, "agent")
	serveAgent(t, socket, key)
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

// serveAgent serves an agent with one key.
func serveAgent(t *testing.T, socket string, key ed25519.PrivateKey) {
	t.Helper()
	keys := agent.NewKeyring()
	if err := keys.Add(agent.AddedKey{PrivateKey: key}); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(keys, conn) }()
		}
	}()
}

// serveSSH serves repositories by SSH to who has a key.
func serveSSH(t *testing.T, user ssh.PublicKey, repos string) (at string, host ssh.PublicKey) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if !bytes.Equal(key.Marshal(), user.Marshal()) {
				return nil, os.ErrPermission
			}
			return &ssh.Permissions{}, nil
		},
	}
	config.AddHostKey(signer)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serveSSHClient(conn, config, repos)
		}
	}()
	return listener.Addr().String(), signer.PublicKey()
}

// serveSSHClient runs git for one client.
func serveSSHClient(conn net.Conn, config *ssh.ServerConfig, repos string) {
	server, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	defer server.Close()
	go ssh.DiscardRequests(requests)
	for asked := range channels {
		channel, requests, err := asked.Accept()
		if err != nil {
			return
		}
		go func() {
			for r := range requests {
				if r.Type != "exec" {
					_ = r.Reply(false, nil)
					continue
				}
				_ = r.Reply(true, nil)
				repo := strings.Trim(strings.TrimPrefix(string(r.Payload[4:]), "git-upload-pack "), "'")
				cmd := exec.Command("git", "upload-pack", filepath.Join(repos, filepath.Base(repo)))
				cmd.Stdin, cmd.Stdout = channel, channel
				status := [4]byte{}
				if cmd.Run() != nil {
					status[3] = 1
				}
				_, _ = channel.SendRequest("exit-status", false, status[:])
				_ = channel.Close()
			}
		}()
	}
}
