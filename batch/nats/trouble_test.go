package nats_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/internal/cable"
)

// node begins a server of a cluster, which knows those that are given.
func node(t *testing.T, name, dir string, port, cluster int, routes []*url.URL) *server.Server {
	t.Helper()
	srv, err := server.NewServer(&server.Options{
		ServerName:    name,
		Host:          "127.0.0.1",
		Port:          port,
		Authorization: "secret",
		JetStream:     true,
		StoreDir:      dir,
		NoSigs:        true,
		NoLog:         true,
		Cluster: server.ClusterOpts{
			Name: "plan",
			Host: "127.0.0.1",
			Port: cluster,
		},
		Routes: routes,
	})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	if !srv.ReadyForConnections(20 * time.Second) {
		t.Fatal("a server of the cluster does not serve")
	}
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	return srv
}

// freePorts are ports at which nothing listens, as servers of a cluster have to know them
// of each other before they begin.
func freePorts(t *testing.T, n int) (ports []int, routes []*url.URL) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // it only holds the port until all are found
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
		routes = append(routes, &url.URL{Scheme: "nats", Host: l.Addr().String()})
	}
	return ports, routes
}

// cluster is three servers of which one may be gone.
type cluster struct {
	t      *testing.T
	nodes  []*server.Server
	dirs   []string
	urls   []string
	ports  []int // for each other
	routes []*url.URL
	store  *nats.Store
	dead   int // which was killed last, and where it served
	port   int
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t}
	c.ports, c.routes = freePorts(t, 3)
	for i := range 3 {
		c.dirs = append(c.dirs, t.TempDir())
		n := node(t, fmt.Sprint("n", i), c.dirs[i], server.RANDOM_PORT, c.ports[i], c.routes)
		c.nodes, c.urls = append(c.nodes, n), append(c.urls, n.ClientURL())
	}
	c.store = c.open(0)
	return c
}

// open reaches the cluster, by one of its servers first.
func (c *cluster) open(at int) (s *nats.Store) {
	c.t.Helper()
	within(c.t, func() bool { // a leader is elected first
		var err error
		s, err = nats.Open(c.t.Context(), nats.Config{
			URL:   strings.Join(append([]string{c.urls[at]}, c.urls...), ","),
			Token: "secret",
			Lease: lease,
		})
		return err == nil
	})
	c.t.Cleanup(s.Close)
	return s
}

// leader is the server that leads a stream.
func (c *cluster) leader(stream string) (at int) {
	c.t.Helper()
	within(c.t, func() bool {
		at = slices.IndexFunc(c.nodes, func(n *server.Server) bool { return n.JetStreamIsStreamLeader("$G", stream) })
		return at >= 0
	})
	return at
}

func (c *cluster) kill(at int) {
	c.dead = at
	c.port = c.nodes[at].Addr().(*net.TCPAddr).Port
	c.nodes[at].Shutdown()
	c.nodes[at].WaitForShutdown()
}

// restart begins the server again that was killed.
func (c *cluster) restart() {
	c.nodes[c.dead] = node(c.t, fmt.Sprint("n", c.dead), c.dirs[c.dead], c.port, c.ports[c.dead], c.routes)
}

// tally counts how often each job ended with a result that counts.
type tally struct {
	mu   sync.Mutex
	done map[string]int
}

// work has a worker take jobs until ctx ends.
func (c *tally) work(ctx context.Context, t *testing.T, w *nats.Worker, each func(batch.Claimed)) {
	for {
		got, ok, err := w.Claim(ctx)
		if err != nil || !ok {
			return
		}
		if each != nil {
			each(got)
		}
		err = w.RecordResult(ctx, got.ID, batch.JobDone, []byte(`{}`))
		switch {
		case err == nil:
			c.mu.Lock()
			c.done[got.ID]++
			c.mu.Unlock()
		case !errors.Is(err, batch.ErrLeaseLost) && ctx.Err() == nil:
			t.Errorf("%s: %v", got.ID, err)
		}
	}
}

func (c *tally) n() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.done)
}

// requireOnce makes sure that each job ended once, and that nothing is left of it.
func (c *tally) requireOnce(t *testing.T, s *nats.Store, n int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, times := range c.done {
		if times != 1 {
			t.Errorf("%s ended %d times", id, times)
		}
	}
	within(t, func() bool { // a server that was away lists what it had, until it has caught up
		jobs, err := s.Jobs(t.Context(), "A")
		return err == nil && len(jobs) == n && !slices.ContainsFunc(jobs, func(j nats.Job) bool {
			return j.State != batch.JobDone || j.Lease != nil
		})
	})
	within(t, func() bool {
		left, err := s.Left(t.Context())
		return err == nil && left == 0
	})
}

// TestAServerOfAClusterIsKilled: of three servers one goes, whichever leads, and comes
// back, while workers at all three do jobs.
func TestAServerOfAClusterIsKilled(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	s, urls := c.store, c.urls
	const n = 60
	add(t, s, "A", n, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := &tally{done: map[string]int{}}
	var group sync.WaitGroup
	for i := range 3 {
		at := append([]string{urls[i]}, urls...)
		w := worker(t, open(t, strings.Join(at, ",")), fmt.Sprint("w", i), false)
		group.Go(func() { done.work(ctx, t, w, nil) })
	}
	within(t, func() bool { return done.n() > 5 })
	at := done.n()
	c.kill(c.leader("KV_plan_jobs"))
	within(t, func() bool { return done.n() >= min(n, at+20) }) // two of three go on
	c.restart()
	within(t, func() bool { return done.n() == n })
	cancel()
	group.Wait()
	done.requireOnce(t, s, n)
}

// TestCutOff: a worker is cut off both ways while it has a job, for longer than its lease.
// Another has the job meanwhile, and what the first says of it later counts for nothing.
func TestCutOff(t *testing.T) {
	t.Parallel()
	url := serve(t, t.TempDir(), 0).URL()
	s := open(t, url)
	link := cable.New(t, strings.TrimPrefix(url, "nats://"))
	far := worker(t, open(t, "nats://"+link.Addr()), "far", false)
	const n = 12
	add(t, s, "A", n, nil)
	late := claim(t, far)
	link.Cut()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := &tally{done: map[string]int{}}
	var group sync.WaitGroup
	group.Go(func() { done.work(ctx, t, worker(t, s, "near", false), nil) })
	within(t, func() bool { return done.n() == n })
	said := make(chan error, 1)
	go func() { said <- far.RecordResult(t.Context(), late.ID, batch.JobFailed, []byte(`{"why":"late"}`)) }()
	link.Mend()
	select {
	case err := <-said:
		if !errors.Is(err, batch.ErrLeaseLost) {
			t.Errorf("what comes late is answered with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("a worker that is back does not find out")
	}
	cancel()
	group.Wait()
	done.requireOnce(t, s, n)
	if j := job(t, s, "A", placeOf(t, late)); j.Worker != "near" || j.Lost != 1 {
		t.Errorf("the job that was cut off: %+v", j)
	}
}

// TestAJournalOutlivesAServer: of three servers the one goes that leads the journals, while a
// run appends to its own. What was acknowledged is there for the next worker, whose takeover
// is asked for while another server is away, and the one before can append nothing more.
func TestAJournalOutlivesAServer(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	add(t, c.store, "A", 1, nil)
	one := worker(t, c.open(0), "one", false)
	first := claim(t, one)
	j, _ := takeUp(t, one, first)
	const n = 30
	for i := range n {
		if i == n/2 {
			c.kill(c.leader("PLAN_JOURNAL"))
		}
		keep(t, j, nats.Part{Events: []json.RawMessage{event(i + 1)}})
	}
	c.restart()
	one.Close() // it gives no sign of life any more
	two := worker(t, c.open(1), "two", false)
	second := claim(t, two)
	if second.Run != first.Run {
		t.Fatalf("run %s is given out as %s", first.Run, second.Run)
	}
	within(t, func() bool { return c.nodes[c.dead].JetStreamIsStreamCurrent("$G", "PLAN_JOURNAL") })
	c.kill(c.leader("PLAN_JOURNAL"))
	_, parts := takeUp(t, two, second)
	var lines []string
	for _, p := range parts {
		for _, line := range p.Events {
			lines = append(lines, string(line))
		}
	}
	for i := range n {
		if len(lines) != n || lines[i] != string(event(i+1)) {
			t.Fatalf("of %d events there are\n%s", n, strings.Join(lines, "\n"))
		}
	}
	if _, _, err := j.Append(t.Context(), nats.Part{Events: []json.RawMessage{event(n + 1)}}); !errors.Is(err, batch.ErrLeaseLost) {
		t.Errorf("who had the run before appends, and is told %v", err)
	}
}
