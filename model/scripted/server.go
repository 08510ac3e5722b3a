package scripted

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Model is the name of the model that the server lists. It answers to any.
const Model = "scripted"

const (
	maxBody = 32 << 20 // bytes of one request
	maxSeen = 64 << 20 // bytes of remembered requests, headers counted as seenCost
	// seenCost is what a remembered request is counted as beside its body.
	seenCost = 1 << 10
)

// Config is how a server is started.
type Config struct {
	// Token is the key that requests must carry, as a bearer token or as
	// x-api-key or api-key. Default: random.
	Token string
	// Now tells the time for [Seen.At], and for how long prompts stay cached.
	// Default: requests have no time, and prompts stay.
	Now func() time.Time
}

// Server is a running model server. Its methods are safe for concurrent use.
type Server struct {
	scenario *Scenario
	token    string
	now      func() time.Time
	url      string
	http     *http.Server
	close    func() error // once; waits
	stop     func() bool  // watching the context of Start

	prompts promptCache

	mu     sync.Mutex
	struck map[faultPlace]int
	seen   []Seen
	size   int // of seen, in bytes
}

// faultPlace names the fault of a reply at a place.
type faultPlace struct {
	at    place
	reply int
}

// Seen is a request that the server was sent.
type Seen struct {
	Method string
	Path   string
	Query  string      // as in the URL, without the question mark
	Wire   Wire        // by which it was sent, or would have been
	Header http.Header // only X-Plan-… and Anthropic-…
	// KeyHeader is the header that held the right key: Authorization,
	// X-Api-Key or Api-Key; "" if none did.
	KeyHeader string
	Body      []byte
	At        time.Time // when all of it had come; see [Config.Now]
}

// Start listens on a free loopback port and serves the scenario, which must
// not be changed from then on, until Close is called or ctx ends.
func Start(ctx context.Context, s *Scenario, cfg Config) (*Server, error) {
	if _, err := s.check(); err != nil {
		return nil, fmt.Errorf("start scripted model server: %w", err)
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start scripted model server: %w", err)
	}
	srv := &Server{
		scenario: s,
		token:    cfg.Token,
		now:      cfg.Now,
		url:      "http://" + listener.Addr().String() + "/v1",
		struck:   map[faultPlace]int{},
	}
	if srv.token == "" {
		srv.token = rand.Text()
	}
	srv.run(ctx, listener)
	return srv, nil
}

// run serves in the background and prepares Close, which waits for all of it.
func (s *Server) run(ctx context.Context, listener net.Listener) {
	var open sync.WaitGroup // the listener and every connection
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ReadHeaderTimeout: 10 * time.Second,
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				open.Add(1)
			case http.StateClosed, http.StateHijacked:
				open.Done()
			case http.StateActive, http.StateIdle:
			}
		},
	}
	failed := make(chan error, 1)
	open.Add(1)
	go func() {
		defer open.Done()
		failed <- s.http.Serve(listener)
	}()
	s.close = sync.OnceValue(func() error {
		err := s.http.Close()
		served := <-failed
		if !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(served, err)
		}
		// What was accepted while the first call ran is closed by a second.
		err = errors.Join(err, s.http.Close())
		open.Wait()
		if err != nil {
			return fmt.Errorf("close scripted model server: %w", err)
		}
		return nil
	})
	s.stop = context.AfterFunc(ctx, func() { _ = s.close() })
}

// URL is the base URL for clients; it ends in /v1.
func (s *Server) URL() string { return s.url }

// Key is the key that requests must carry; see [Config.Token].
func (s *Server) Key() string { return s.token }

// Close stops the server, hanging requests included, and waits until nothing
// of it runs. It can be called again.
func (s *Server) Close() error {
	s.stop()
	return s.close()
}

// Requests returns the requests that came so far, refused ones included, in
// order; questions for the list of models are not among them. Once 64 MiB are kept, the oldest are dropped.
func (s *Server) Requests() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Seen, len(s.seen))
	copy(out, s.seen)
	return out
}

// remember keeps a request for Requests.
func (s *Server) remember(r *http.Request, w Wire, body []byte) {
	if r.Method == http.MethodGet {
		return // a question for the list of models, which a client may ask or not
	}
	header := http.Header{}
	for key, values := range r.Header {
		if strings.HasPrefix(key, "X-Plan-") || strings.HasPrefix(key, "Anthropic-") {
			header[key] = values
		}
	}
	seen := Seen{
		Method:    r.Method,
		Path:      r.URL.Path,
		Query:     r.URL.RawQuery,
		Wire:      w,
		Header:    header,
		KeyHeader: s.keyHeader(r.Header),
		Body:      body,
	}
	if s.now != nil {
		seen.At = s.now()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, seen)
	s.size += len(body) + seenCost
	for s.size > maxSeen && len(s.seen) > 1 {
		s.size -= len(s.seen[0].Body) + seenCost
		s.seen = s.seen[1:]
	}
}
