package scripted

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan"
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
	// Token is the bearer token that requests must carry. Default: random.
	Token string
	// Now tells the time for [Seen.At]. Default: requests have no time.
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

	mu     sync.Mutex
	struck map[strike]int
	seen   []Seen
	size   int // of seen, in bytes
}

// strike names the fault of a reply at a place.
type strike struct {
	at    place
	reply int
}

// Seen is a request that the server was sent.
type Seen struct {
	Method, Path string
	Header       http.Header // only X-Plan-…
	Body         []byte
	At           time.Time // when all of it had come; see [Config.Now]
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
		struck:   map[strike]int{},
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

// Key is the bearer token that requests must carry.
func (s *Server) Key() string { return s.token }

// Close stops the server, hanging requests included, and waits until nothing
// of it runs. It can be called again.
func (s *Server) Close() error {
	s.stop()
	return s.close()
}

// Requests returns the requests that came so far, refused ones included, in
// order. Once 64 MiB are kept, the oldest are dropped.
func (s *Server) Requests() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Seen, len(s.seen))
	copy(out, s.seen)
	return out
}

// serve answers every request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(http.StatusBadRequest, "the body cannot be read: "+err.Error(), "").play(w, r)
		return
	}
	s.remember(r, body)
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 {
		refuse(http.StatusUnauthorized, "the bearer token is missing or wrong", "invalid_api_key").play(w, r)
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "POST /v1/chat/completions":
		s.complete(r, body).play(w, r)
	case "GET /v1/models":
		list := fmt.Sprintf(`{"object":"list","data":[{"id":%q,"object":"model","created":%d,"owned_by":"scripted"}]}`, Model, created)
		document(http.StatusOK, list).play(w, r)
	default:
		refuse(http.StatusNotFound, "there is nothing at "+r.Method+" "+r.URL.Path, "").play(w, r)
	}
}

// complete works out the response to a completion request.
func (s *Server) complete(r *http.Request, body []byte) *performance {
	req, err := parseRequest(body)
	if err != nil {
		return refuse(http.StatusBadRequest, err.Error(), "invalid_request")
	}
	at, err := placeOf(r.Header, req.decoded)
	if err != nil {
		return refuse(http.StatusBadRequest, err.Error(), "invalid_request")
	}
	reply, fault := s.choose(at)
	if reply == nil {
		text := fmt.Sprintf("the scenario %q has no reply for %s", s.scenario.Name, at)
		return refuse(http.StatusNotFound, text, "no_reply")
	}
	a, err := makeAnswer(reply, at, req, len(body), req.sentBefore(len(body)))
	if err != nil {
		return refuse(http.StatusInternalServerError, err.Error(), "")
	}
	p, err := stage(a, fault, req, s.scenario.Delay)
	if err != nil {
		return refuse(http.StatusInternalServerError, err.Error(), "")
	}
	return p
}

// sentBefore is how many of the request's size bytes the request before it
// held: all but the last assistant message and what follows.
func (r *request) sentBefore(size int) int {
	fresh := 0
	for i := len(r.decoded) - 1; i >= 0; i-- {
		fresh += len(r.Messages[i])
		if r.decoded[i].Role == "assistant" {
			return size - fresh
		}
	}
	return 0
}

// choose finds the reply for a place, and its fault if that strikes now.
func (s *Server) choose(at place) (*Reply, *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.scenario.Replies {
		r := &s.scenario.Replies[i]
		if !r.fits(at) {
			continue
		}
		if r.Fault == nil || r.Fault.times() == 0 {
			return r, r.Fault
		}
		if key := (strike{at, i}); s.struck[key] < r.Fault.times() {
			s.struck[key]++
			return r, r.Fault
		}
		if r.says() {
			return r, nil
		}
	}
	return nil, nil
}

// remember keeps a request for Requests.
func (s *Server) remember(r *http.Request, body []byte) {
	header := http.Header{}
	for key, values := range r.Header {
		if strings.HasPrefix(key, "X-Plan-") {
			header[key] = values
		}
	}
	seen := Seen{Method: r.Method, Path: r.URL.Path, Header: header, Body: body}
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

// refuse is an error response.
func refuse(status int, message, code string) *performance {
	return document(status, errorJSON(status, message, code))
}

// errorJSON is the body of an error response.
func errorJSON(status int, message, code string) string {
	kind := "invalid_request_error"
	switch {
	case status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case status >= http.StatusInternalServerError:
		kind = "server_error"
	}
	type detail struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	d := detail{Message: message, Type: kind}
	if code != "" {
		d.Code = &code
	}
	data, err := plan.MarshalCompact(map[string]detail{"error": d})
	if err != nil {
		return `{"error":{"message":"the error cannot be encoded"}}` // strings always can
	}
	return string(data)
}
