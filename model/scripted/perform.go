package scripted

import (
	"cmp"
	"net"
	"net/http"
	"time"
)

// ending is how a response ends after its last chunk.
type ending int

const (
	endClean ending = iota
	endHang         // say nothing more until the client leaves
	endReset        // reset the connection
)

// performance is a response worked out to the last byte.
type performance struct {
	status int
	header map[string]string
	chunks []chunk
	// silence comes before the response and pause before each chunk.
	silence time.Duration
	pause   time.Duration
	end     ending
}

// stage works out how a is served to q, with the fault f or without one (nil).
func (s *Scenario) stage(w *protocol, q question, a *answer, f *Fault) (*performance, error) {
	f.change(a)
	s.Server.speak(a)
	if !q.asks().stream {
		switch f.kind() {
		case FaultErrorFrame:
			return document(http.StatusInternalServerError, cmp.Or(f.Body, w.failure)), nil
		case FaultGarbage:
			return document(http.StatusOK, cmp.Or(f.Body, w.garbage)), nil
		case FaultFailed:
			if !w.statesFailure {
				return document(http.StatusInternalServerError, w.failure), nil
			}
		}
	}
	p := &performance{
		status:  http.StatusOK,
		header:  map[string]string{"Content-Type": "application/json"},
		silence: time.Duration(s.Server.Silence),
	}
	var err error
	if q.asks().stream {
		p.header = map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
		p.pause = time.Duration(s.Delay)
		p.chunks, err = q.streamed(a)
	} else {
		var data []byte
		data, err = q.plain(a)
		for _, part := range pieces(string(data), plainSize) {
			p.chunks = append(p.chunks, chunk{data: []byte(part)})
		}
	}
	if err != nil {
		return nil, err
	}
	p.strike(w, f)
	if q.asks().stream && s.Server.Comments {
		for i, c := range p.chunks {
			p.chunks[i].data = append([]byte(": scripted\n\n"), c.data...)
		}
	}
	return p, nil
}

// change does to an answer what the fault does before it is written.
func (f *Fault) change(a *answer) {
	switch f.kind() {
	case FaultEmpty:
		a.text, a.reasoning, a.refusal, a.calls = "", "", "", nil
		a.finish = "stop"
	case FaultFilter:
		a.finish = "content_filter"
	case FaultFailed:
		a.failed = true
	case FaultReasoningOnly:
		a.text, a.refusal, a.calls = "", "", nil
		a.reasoning = cmp.Or(a.reasoning, f.Body, reasoningWords)
		a.finish = "stop"
	case FaultRefuse:
		a.text, a.reasoning, a.refusal, a.calls = "", "", cmp.Or(f.Body, refusalWords), nil
		a.finish = "stop"
	case FaultMalformedArgs:
		last := &a.calls[len(a.calls)-1]
		last.args = last.args[:boundary(last.args, len(last.args)/2)]
	}
}

// strike does to a whole response what the fault does to it.
func (p *performance) strike(w *protocol, f *Fault) {
	switch f.kind() {
	case FaultSlow:
		p.pause = time.Duration(f.Delay)
	case FaultHang:
		p.chunks, p.end = p.chunks[:f.cut(len(p.chunks))], endHang
	case FaultReset:
		p.chunks, p.end = p.chunks[:f.cut(len(p.chunks))], endReset
	case FaultTruncate:
		p.chunks = p.chunks[:f.cut(len(p.chunks))]
	case FaultHalfCall:
		p.chunks = p.chunks[:lastArguments(p.chunks)]
	case FaultErrorFrame:
		n := f.cut(len(p.chunks))
		p.chunks = append(p.chunks[:n], chunk{data: w.errorEvent(f.Body, n)})
	case FaultGarbage:
		p.chunks = append(p.chunks[:f.cut(len(p.chunks))], chunk{data: w.garbageEvent(f.Body)})
	}
}

// lastArguments is the index of the last chunk with arguments, or the middle
// if no chunk is marked, as in a plain answer.
func lastArguments(chunks []chunk) int {
	for i := len(chunks) - 1; i >= 0; i-- {
		if chunks[i].args {
			return i
		}
	}
	return len(chunks) / 2
}

// document is a response of one JSON document.
func document(status int, body string) *performance {
	return &performance{
		status: status,
		header: map[string]string{"Content-Type": "application/json"},
		chunks: []chunk{{data: []byte(body)}},
	}
}

// play sends the response. It returns when it has ended or the client left,
// which closing the server amounts to.
func (p *performance) play(w http.ResponseWriter, r *http.Request) {
	for key, value := range p.header {
		w.Header().Set(key, value)
	}
	control := http.NewResponseController(w)
	if !wait(r, p.silence) {
		return
	}
	for i, c := range p.chunks {
		if !wait(r, p.pause) {
			return
		}
		if i == 0 {
			w.WriteHeader(p.status)
		}
		if _, err := w.Write(c.data); err != nil {
			return // the client left
		}
		if err := control.Flush(); err != nil {
			return
		}
	}
	switch p.end {
	case endHang:
		<-r.Context().Done()
	case endReset:
		reset(control)
	case endClean:
	}
}

// wait pauses for d. It reports false if the client left first.
func wait(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return r.Context().Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// reset closes the connection so that the client sees it reset.
func reset(control *http.ResponseController) {
	conn, _, err := control.Hijack()
	if err != nil {
		return // the connection is gone already
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // with data unsent, closing resets
	}
	_ = conn.Close()
}
