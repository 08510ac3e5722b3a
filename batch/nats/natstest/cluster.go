// Package natstest has a cluster of three servers of NATS, of which a test kills one after the
// other. Only tests import it.
package natstest

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Token is what clients of the cluster prove themselves with.
const Token = "secret"

// Cluster is three servers of which one may be gone.
type Cluster struct {
	t      testing.TB
	nodes  []*server.Server
	dirs   []string
	urls   []string
	ports  []int // for each other
	routes []*url.URL
	dead   int // which was killed last, and where it served
	port   int
}

// New begins one, which ends with the test.
func New(t testing.TB) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	c.findPorts()
	for i := range c.ports {
		c.dirs = append(c.dirs, t.TempDir())
		n := c.node(i, server.RANDOM_PORT)
		c.nodes, c.urls = append(c.nodes, n), append(c.urls, n.ClientURL())
	}
	return c
}

// URLs are where its servers are reached, beginning with the one that is named.
func (c *Cluster) URLs(first int) []string { return append([]string{c.urls[first]}, c.urls...) }

// Leader is the server that leads a stream; negative while there is none.
func (c *Cluster) Leader(stream string) (at int) {
	return slices.IndexFunc(c.nodes, func(n *server.Server) bool { return n.JetStreamIsStreamLeader("$G", stream) })
}

// Kill ends a server.
func (c *Cluster) Kill(at int) {
	c.dead = at
	c.port = c.nodes[at].Addr().(*net.TCPAddr).Port
	c.nodes[at].Shutdown()
	c.nodes[at].WaitForShutdown()
}

// Restart begins the server again that was killed.
func (c *Cluster) Restart() {
	c.t.Helper()
	c.nodes[c.dead] = c.node(c.dead, c.port)
}

// HasCaughtUp reports whether the server that was begun again has all of a stream.
func (c *Cluster) HasCaughtUp(stream string) bool {
	return c.nodes[c.dead].JetStreamIsStreamCurrent("$G", stream)
}

// node begins a server, which knows the others.
func (c *Cluster) node(at, port int) *server.Server {
	c.t.Helper()
	srv, err := server.NewServer(&server.Options{
		ServerName:    fmt.Sprint("n", at),
		Host:          "127.0.0.1",
		Port:          port,
		Authorization: Token,
		JetStream:     true,
		StoreDir:      c.dirs[at],
		NoSigs:        true,
		NoLog:         true,
		Cluster: server.ClusterOpts{
			Name: "plan",
			Host: "127.0.0.1",
			Port: c.ports[at],
		},
		Routes: c.routes,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	srv.Start()
	if !srv.ReadyForConnections(20 * time.Second) {
		c.t.Fatal("a server of the cluster does not serve")
	}
	c.t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	return srv
}

// findPorts finds ports at which nothing listens: servers of a cluster have to know them of
// each other before they begin.
func (c *Cluster) findPorts() {
	c.t.Helper()
	for range 3 {
		l, err := (&net.ListenConfig{}).Listen(c.t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			c.t.Fatal(err)
		}
		defer l.Close() //nolint:errcheck // it only holds the port until all are found
		c.ports = append(c.ports, l.Addr().(*net.TCPAddr).Port)
		c.routes = append(c.routes, &url.URL{Scheme: "nats", Host: l.Addr().String()})
	}
}
