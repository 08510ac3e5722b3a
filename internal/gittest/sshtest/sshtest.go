// Package sshtest serves git repositories, and an agent with a key, by SSH. Only tests
// import it, and theirs are the only processes that ask.
package sshtest

import (
	"bytes"
	"context"
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
)

// ServeAgent serves an agent with one key.
func ServeAgent(t *testing.T, socket string, key ed25519.PrivateKey) {
	t.Helper()
	keys := agent.NewKeyring()
	if err := keys.Add(agent.AddedKey{PrivateKey: key}); err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
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

// Serve serves repositories by SSH to who has a key.
func Serve(t *testing.T, user ssh.PublicKey, repos string) (at string, host ssh.PublicKey) {
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
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
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
			go serveClient(t.Context(), conn, config, repos)
		}
	}()
	return listener.Addr().String(), signer.PublicKey()
}

// serveClient runs git for one client.
func serveClient(ctx context.Context, conn net.Conn, config *ssh.ServerConfig, repos string) {
	server, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go ssh.DiscardRequests(requests)
	for request := range channels {
		channel, requests, err := request.Accept()
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
				cmd := exec.CommandContext(ctx, "git", "upload-pack", filepath.Join(repos, filepath.Base(repo)))
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
