package scripted

import (
	"crypto/subtle"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
)

// serve answers every request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	wire := protocolOf(r)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		wire.refuse(http.StatusBadRequest, "the body cannot be read: "+err.Error(), "").play(w, r)
		return
	}
	s.remember(r, wire.wire, body)
	if s.keyHeader(r.Header) == "" {
		wire.refuse(http.StatusUnauthorized, wire.wrongKey, "invalid_api_key").play(w, r)
		return
	}
	switch {
	case r.Method == http.MethodPost && r.URL.Path == wire.path && s.scenario.Server.speaks(wire.wire):
		s.complete(wire, r, body).play(w, r)
	case r.Method == http.MethodGet && path.Base(r.URL.Path) == "models": // below a wire's own path, too
		document(http.StatusOK, wire.models(&s.scenario.Server)).play(w, r)
	default:
		wire.refuse(http.StatusNotFound, "there is nothing at "+r.Method+" "+r.URL.Path, "").play(w, r)
	}
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

// complete works out the response to a request for an answer.
func (s *Server) complete(w *protocol, r *http.Request, body []byte) *performance {
	gateway := &s.scenario.Server
	if p := gateway.refused(w, body); p != nil {
		return p
	}
	q, err := w.read(gateway.without(body), r.Header, gateway)
	if err != nil {
		return w.refuse(http.StatusBadRequest, err.Error(), "invalid_request")
	}
	asks := q.asks()
	if p := gateway.tooLong(w, asks.length()); p != nil {
		return p
	}
	at, err := placeOf(r.Header, asks.turns)
	if err != nil {
		return w.refuse(http.StatusBadRequest, err.Error(), "invalid_request")
	}
	if asks.continues && !s.scenario.paused(at) {
		return w.refuse(http.StatusBadRequest, prefillWords, "")
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
	p, err := s.scenario.stage(w, q, a, fault)
	if err != nil {
		return w.refuse(http.StatusInternalServerError, err.Error(), "")
	}
	return p
}

// prefillWords refuse a conversation that ends with the model's own words.
const prefillWords = "This model does not support assistant message prefill. The conversation must end with a " +
	"user message."

// paused reports whether what the model said last, right before the place, may
// be an answer that it did not end.
func (s *Scenario) paused(at place) bool {
	at.turn--
	return slices.ContainsFunc(s.Replies, func(r Reply) bool { return r.Finish == finishPause && r.fits(at) })
}

// usage is what an answer is said to have consumed.
func (s *Server) usage(r *Reply, a *answer, q *commonRequest) Usage {
	var u Usage
	if q.spans != nil {
		u = s.prompts.use(q.model, q.spans, s.now)
	} else {
		u = Usage{Input: tokens(q.size), Cached: tokens(q.cached)}
	}
	u.Output = tokens(a.length())
	u.Reasoning = tokens(len(a.reasoning))
	if r.Usage != nil {
		u = *r.Usage
	}
	return s.scenario.Server.report(u)
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
		if key := (faultPlace{at, i}); s.struck[key] < r.Fault.times() {
			s.struck[key]++
			return r, r.Fault
		}
		if r.says() {
			return r, nil
		}
	}
	return nil, nil
}
