package scripted

import (
	"crypto/subtle"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// serve answers every request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	wire := wireOf(r)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		wire.refuse(http.StatusBadRequest, "the body cannot be read: "+err.Error(), "").play(w, r)
		return
	}
	s.remember(r, wire, body)
	if s.keyHeader(r.Header) == "" {
		wire.refuse(http.StatusUnauthorized, wire.wrongKey(), "invalid_api_key").play(w, r)
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "POST " + wire.path():
		s.complete(wire, r, body).play(w, r)
	case "GET /v1/models":
		document(http.StatusOK, wire.models()).play(w, r)
	default:
		wire.refuse(http.StatusNotFound, "there is nothing at "+r.Method+" "+r.URL.Path, "").play(w, r)
	}
}

// wireOf finds the wire that a request was sent by: by its path or, for the
// list of models, by its headers.
func wireOf(r *http.Request) Wire {
	for _, w := range wires() {
		if r.URL.Path == w.path() {
			return w
		}
	}
	if r.Header.Get("Anthropic-Version") != "" {
		return WireAnthropic
	}
	return WireChat
}

// keyHeader is the name of the header with the right key; "" if there is none.
func (s *Server) keyHeader(h http.Header) string {
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key"} {
		key := h.Get(name)
		if name == "Authorization" {
			token, ok := strings.CutPrefix(key, "Bearer ")
			if !ok {
				continue
			}
			key = token
		}
		if subtle.ConstantTimeCompare([]byte(key), []byte(s.token)) == 1 {
			return name
		}
	}
	return ""
}

// wrongKey is what is said about a missing or wrong key.
func (w Wire) wrongKey() string {
	if w == WireAnthropic {
		return "invalid x-api-key"
	}
	return "the bearer token is missing or wrong"
}

// models is the list of models.
func (w Wire) models() string {
	if w == WireAnthropic {
		return encoded(object{
			"data": []object{{
				"type":         "model",
				"id":           Model,
				"display_name": "Scripted",
				"created_at":   "2023-11-14T22:13:20Z",
			}},
			"has_more": false,
			"first_id": Model,
			"last_id":  Model,
		})
	}
	return fmt.Sprintf(`{"object":"list","data":[{"id":%q,"object":"model","created":%d,"owned_by":"scripted"}]}`, Model, created)
}

// complete works out the response to a request for an answer.
func (s *Server) complete(w Wire, r *http.Request, body []byte) *performance {
	q, err := w.read(body, r.Header)
	if err != nil {
		return w.refuse(http.StatusBadRequest, err.Error(), "invalid_request")
	}
	asks := q.asks()
	at, err := placeOf(r.Header, asks.turns)
	if err != nil {
		return w.refuse(http.StatusBadRequest, err.Error(), "invalid_request")
	}
	reply, fault := s.choose(at)
	if reply == nil {
		text := fmt.Sprintf("the scenario %q has no reply for %s", s.scenario.Name, at)
		return w.refuse(http.StatusNotFound, text, "no_reply")
	}
	if fault.kind() == FaultStatus {
		return w.failed(fault)
	}
	a, err := makeAnswer(reply, at, asks.model)
	if err != nil {
		return w.refuse(http.StatusInternalServerError, err.Error(), "")
	}
	a.usage = s.usage(reply, a, asks)
	p, err := stage(w, q, a, fault, s.scenario.Delay)
	if err != nil {
		return w.refuse(http.StatusInternalServerError, err.Error(), "")
	}
	return p
}

// usage is what an answer is said to have consumed.
func (s *Server) usage(r *Reply, a *answer, q *asked) Usage {
	var u Usage
	if q.spans != nil {
		u = s.prompts.use(q.model, q.spans, s.now)
	} else {
		u = Usage{Input: tokens(q.size), Cached: tokens(q.cached)}
	}
	if r.Usage != nil {
		return *r.Usage
	}
	u.Output = tokens(a.spoken())
	u.Reasoning = tokens(len(a.reasoning))
	return u
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
