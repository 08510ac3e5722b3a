// Package server serves the queue of package nats from this process: a JetStream that keeps
// everything in a folder. It is apart from the queue, since most programs that take part in
// one only reach it, and the server is large. It knows nothing of what is kept.
package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Config says how a queue is served by this process.
type Config struct {
	Dir   string // where everything is kept
	Host  string // default: 127.0.0.1
	Port  int    // 0 for any that is free
	Token string // "" for none
	TLS   *tls.Config

	// NKeys are the public keys of users. With some, there is no token.
	NKeys []string
}

// Server is a JetStream within this process.
type Server struct{ server *server.Server }

const serverStart = 30 * time.Second

// Serve begins to serve a queue. Whatever it has acknowledged is on disk.
func Serve(cfg Config) (*Server, error) {
	if cfg.Host == "" {
		cfg.Host = "127.0.0.1"
	}
	port := cfg.Port
	if port == 0 {
		port = server.RANDOM_PORT
	}
	var users []*server.NkeyUser
	for _, key := range cfg.NKeys {
		users = append(users, &server.NkeyUser{Nkey: key})
	}
	if users != nil {
		cfg.Token = ""
	}
	srv, err := server.NewServer(&server.Options{
		ServerName:    "plan-queue",
		Host:          cfg.Host,
		Port:          port,
		Authorization: cfg.Token,
		TLSConfig:     cfg.TLS,
		Nkeys:         users,
		JetStream:     true,
		StoreDir:      cfg.Dir,
		SyncAlways:    true,
		NoSigs:        true,
		NoLog:         true,
	})
	if err != nil {
		return nil, fmt.Errorf("make a queue in %s: %w", cfg.Dir, err)
	}
	srv.Start()
	if !srv.ReadyForConnections(serverStart) || !srv.JetStreamEnabled() {
		srv.Shutdown()
		return nil, errors.New("the queue did not begin to serve; is its port taken, or its folder not writable?")
	}
	return &Server{srv}, nil
}

// URL is where it is reached.
func (s *Server) URL() string { return s.server.ClientURL() }

// Port is the one it listens at, which a caller that left the choice to the machine has
// to ask for.
func (s *Server) Port() int {
	addr, _ := s.server.Addr().(*net.TCPAddr)
	if addr == nil {
		return 0
	}
	return addr.Port
}

// Full reports whether it has stopped to keep and answer anything, which it does once its
// disk is full. What it has acknowledged is there when it is served anew.
func (s *Server) Full() bool { return !s.server.JetStreamEnabled() }

// Close ends it, and returns once all is on disk.
func (s *Server) Close() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
}
