package machines

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/plan-engine/plan/batch/nats/server"
	"github.com/plan-engine/plan/internal/hint"
)

func (p Program) serve() *cobra.Command {
	var listen, cert, key, old string
	var users []string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a queue of jobs from this machine",
		Long: `Serve keeps jobs in JetStream, in the home's folder queue, and prints the URL that
--queue of the other commands takes, and the file of the token that they need beside
it. The token is made the first time, or taken from PLAN_QUEUE_TOKEN or the file that
PLAN_QUEUE_TOKEN_FILE names. Beyond this machine it wants a certificate. It keeps all
batches, unless --remove-after has it do what plan queue gc does. Where its disk is
full it serves nothing until there is room again. See docs/machines.md.`,
		Example: `  plan queue serve --listen 127.0.0.1:4222
  plan queue serve --listen 10.0.0.5:4222 --tls-cert queue.pem --tls-key queue.key`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, file, err := p.serverConfig(listen, cert, key)
			if err != nil {
				return err
			}
			if c.NKeys = users; users != nil {
				file, c.Token = "", ""
			}
			var after time.Duration
			if old != "" {
				if after, err = longAgo("--remove-after", old); err != nil {
					return err
				}
			}
			srv, err := server.Serve(c)
			if err != nil {
				return err
			}
			defer srv.Close()
			ctx, release := p.interruptible(cmd.Context())
			defer release()
			if after > 0 {
				end, err := p.collect(ctx, srv.URL(), c.Token, after)
				if err != nil {
					return err
				}
				defer end()
			}
			served := servedQueue{
				URL:       srv.URL(),
				TokenFile: file,
				NKeys:     users,
			}
			err = p.answer(served, served.write)
			if err != nil {
				return err
			}
			return p.keepServing(ctx, srv, c)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&listen, "listen", "127.0.0.1:4222", "listen at this `ADDRESS`; port 0 is any free one")
	fl.StringVar(&cert, "tls-cert", "", "speak TLS with the certificate in `FILE`")
	fl.StringArrayVar(&users, "nkey", nil,
		"let in who has the nkey with this public `KEY`, in place of a token (repeatable)")
	fl.StringVar(&old, "remove-after", "", "remove batches that have been over for `D`, such as 30d, each hour")
	fl.StringVar(&key, "tls-key", "", "the key of the certificate, in `FILE`")
	return cmd
}

// servedQueue says where a queue is, and which file has the token; "" where none has.
type servedQueue struct {
	URL       string   `json:"url"`
	TokenFile string   `json:"token_file,omitempty"`
	NKeys     []string `json:"nkeys,omitempty"`
}

func (s servedQueue) write(w io.Writer) error {
	proof := "the token is in " + cmp.Or(s.TokenFile, "PLAN_QUEUE_TOKEN")
	if len(s.NKeys) > 0 {
		proof = "clients prove themselves with PLAN_QUEUE_NKEY_FILE"
	}
	_, err := fmt.Fprintf(w, "%s\n%s\n", s.URL, proof)
	return err
}

func (p Program) serverConfig(listen, cert, key string) (c server.Config, tokenFile string, err error) {
	address, port, err := net.SplitHostPort(listen)
	if err == nil {
		c.Port, err = strconv.Atoi(port)
	}
	if err != nil {
		return c, "", hint.Usage("--listen %s: it is HOST:PORT", listen)
	}
	c.Host = address
	switch ip := net.ParseIP(address); {
	case (cert == "") != (key == ""):
		return c, "", hint.Usage("--tls-cert and --tls-key go together")
	case cert != "":
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return c, "", fmt.Errorf("read the certificate: %w", err)
		}
		c.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	case ip == nil && address != "localhost", ip != nil && !ip.IsLoopback():
		return c, "", hint.Usage("--listen %s is beyond this machine: give --tls-cert and --tls-key", listen)
	}
	paths, err := p.host.Paths()
	if err != nil {
		return c, "", err
	}
	c.Dir = filepath.Join(paths.Home, "queue")
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return c, "", fmt.Errorf("make room for the queue: %w", err)
	}
	c.Token, tokenFile, err = p.serverToken()
	return c, tokenFile, err
}

// How often a server is asked whether its disk is full, and what has to be free of it
// before it is served from again.
const (
	fullEvery = time.Second
	roomAgain = 16 << 20 // bytes
)

// keepServing serves until the context ends. A server whose disk is full answers no
// client; it is closed then, so that they are told that there is none, and begun anew
// at the same address once there is room. Workers come back to it as after a restart.
func (p Program) keepServing(ctx context.Context, srv *server.Server, c server.Config) error {
	tick := time.NewTicker(fullEvery)
	defer tick.Stop()
	c.Port = srv.Port()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			if srv != nil {
				srv.Close()
			}
			return nil
		}
		switch {
		case srv != nil && srv.Full():
			p.note("the disk that holds " + c.Dir + " is full: nothing is served until 16 MiB of it are free")
			srv.Close()
			srv = nil
		case srv == nil && hasRoom(c.Dir):
			var err error
			if srv, err = server.Serve(c); err != nil {
				return err
			}
			p.note("there is room again: the queue is served at " + srv.URL())
		}
	}
}

// hasRoom reports whether a queue can be served again from a folder whose disk was full.
func hasRoom(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && fs.Bavail*uint64(fs.Bsize) >= roomAgain
}
