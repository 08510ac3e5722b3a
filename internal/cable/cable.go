// Package cable is a network between two processes that a test can cut both ways: nothing
// gets through, and neither end is told. Only tests import it.
package cable

import (
	"context"
	"net"
	"sync"
	"testing"
)

// Cable carries connections to an address.
type Cable struct {
	listener net.Listener
	to       string

	mu   sync.Mutex
	held chan struct{} // closed once what is held back may go on; nil while nothing is
}

// New lays a cable to an address, which ends with the test.
func New(t testing.TB, to string) *Cable {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &Cable{listener: l, to: to}
	t.Cleanup(func() {
		_ = l.Close() // nothing connects any more
		c.Mend()
	})
	go c.accept(t.Context())
	return c
}

// Addr is where its other end is reached.
func (c *Cable) Addr() string { return c.listener.Addr().String() }

// Cut holds back all that is sent, either way, until it is mended.
func (c *Cable) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		c.held = make(chan struct{})
	}
}

// Mend lets through what was held back, and what comes.
func (c *Cable) Mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held != nil {
		close(c.held)
		c.held = nil
	}
}

func (c *Cable) accept(ctx context.Context) {
	for {
		near, err := c.listener.Accept()
		if err != nil {
			return
		}
		far, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.to)
		if err != nil { // who serves there is down
			_ = near.Close()
			continue
		}
		go c.carry(near, far)
		go c.carry(far, near)
	}
}

func (c *Cable) carry(from, to net.Conn) {
	defer from.Close() //nolint:errcheck // one end is gone
	defer to.Close()   //nolint:errcheck // one end is gone
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		c.mu.Lock()
		held := c.held
		c.mu.Unlock()
		if held != nil {
			<-held
		}
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}
