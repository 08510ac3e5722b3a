package agent_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"net"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	lent "github.com/plan-engine/plan/host/agent"
)

// newKey is a key, and what signs with it.
func newKey(t *testing.T) (ed25519.PrivateKey, ssh.Signer) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return key, signer
}

// TestAnAgentIsLentForNamedServers asks a lent agent for what an agent does. Each of it
// the agent itself does.
func TestAnAgentIsLentForNamedServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, signer := newKey(t)
	_, named := newKey(t)
	_, other := newKey(t)
	users := agent.NewKeyring()
	if err := users.Add(agent.AddedKey{PrivateKey: key}); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "users")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(users, conn) }()
		}
	}()
	at := filepath.Join(dir, "lent")
	l, err := lent.Lend(at, socket, [][]byte{named.PublicKey().Marshal()})
	if err != nil {
		t.Fatal(err)
	}
	dial := func() agent.ExtendedAgent {
		conn, err := net.Dial("unix", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return agent.NewClient(conn)
	}
	bind := func(a agent.ExtendedAgent, host, by ssh.Signer, session string, forwarded bool) error {
		sig, err := by.Sign(rand.Reader, []byte(session))
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.Extension("session-bind@openssh.com", ssh.Marshal(struct {
			Host, Session, Sig []byte
			Forwarded          bool
		}{host.PublicKey().Marshal(), []byte(session), ssh.Marshal(sig), forwarded}))
		return err
	}
	login := func(a agent.ExtendedAgent, session string, kind byte) error {
		_, err := a.Sign(signer.PublicKey(), ssh.Marshal(struct {
			Session []byte
			Kind    byte
			User    string
		}{[]byte(session), kind, "git"}))
		return err
	}
	for name, c := range map[string]struct {
		ask func(a agent.ExtendedAgent) error
		may bool
	}{
		"lists":   {func(a agent.ExtendedAgent) error { _, err := a.List(); return err }, true},
		"logs in": {func(a agent.ExtendedAgent) error { return first(bind(a, named, named, "s", false), login(a, "s", 50)) }, true},
		"logs in a second time": {func(a agent.ExtendedAgent) error {
			return first(bind(a, named, named, "r", false), bind(a, named, named, "s", false), login(a, "r", 50))
		}, true},
		"signs in no session":       {func(a agent.ExtendedAgent) error { return login(a, "s", 50) }, false},
		"signs in another session":  {func(a agent.ExtendedAgent) error { return after(bind(a, named, named, "s", false), login(a, "r", 50)) }, false},
		"signs something else":      {func(a agent.ExtendedAgent) error { return after(bind(a, named, named, "s", false), login(a, "s", 51)) }, false},
		"logs in to another server": {func(a agent.ExtendedAgent) error { return first(bind(a, other, other, "s", false), login(a, "s", 50)) }, false},
		"takes a server's name":     {func(a agent.ExtendedAgent) error { return first(bind(a, named, other, "s", false), login(a, "s", 50)) }, false},
		"hands it on":               {func(a agent.ExtendedAgent) error { return bind(a, named, named, "s", true) }, false},
		"takes keys away":           {func(a agent.ExtendedAgent) error { return a.RemoveAll() }, false},
		"locks it":                  {func(a agent.ExtendedAgent) error { return a.Lock([]byte("x")) }, false},
		"adds a key":                {func(a agent.ExtendedAgent) error { return a.Add(agent.AddedKey{PrivateKey: key}) }, false},
		"asks something else":       {func(a agent.ExtendedAgent) error { _, err := a.Extension("query", nil); return err }, false},
	} {
		if err := c.ask(dial()); (err == nil) != c.may {
			t.Errorf("one that %s: %v", name, err)
		}
	}
	if keys, err := users.List(); len(keys) != 1 || err != nil {
		t.Errorf("the agent has %d keys, %v", len(keys), err)
	}
	left := dial()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := left.List(); err == nil {
		t.Error("it answers when it was taken back")
	}
}

// first is the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// after is the last error. What goes before is to work, or nothing is shown.
func after(errs ...error) error {
	if first(errs[:len(errs)-1]...) != nil {
		return nil
	}
	return errs[len(errs)-1]
}
