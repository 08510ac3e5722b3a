package scripted

import (
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
	pause  time.Duration // before each chunk
	end    ending
}

// stage works out how a is served to req, with the fault f or without one
// (nil). Streamed chunks come with the usual pause.
func stage(a answer, f *Fault, req *request, usual Duration) (*performance, error) {
	kind := f.kind()
	switch {
	case kind == FaultStatus:
		return refusal(f), nil
	case kind == FaultErrorFrame && !req.Stream:
		return document(http.StatusInternalServerError, f.body(errorFrame)), nil
	case kind == FaultGarbage && !req.Stream:
		return document(http.StatusOK, f.body(garbage)), nil
	case kind == FaultEmpty:
		a.text, a.reasoning, a.refusal, a.calls, a.finish = "", "", "", nil, "stop"
	case kind == FaultFilter:
		a.finish = "content_filter"
	case kind == FaultRefuse:
		a.text, a.reasoning, a.refusal, a.calls, a.finish = "", "", f.body(refusalWords), nil, "stop"
	case kind == FaultMalformedArgs:
		last := &a.calls[len(a.calls)-1]
		last.args = last.args[:boundary(last.args, len(last.args)/2)]
	}
	p := &performance{status: http.StatusOK, header: map[string]string{"Content-Type": "application/json"}}
	var err error
	if req.Stream {
		p.header = map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
		p.pause = time.Duration(usual)
		p.chunks, err = a.streamed(req.StreamOptions != nil && req.StreamOptions.IncludeUsage)
	} else {
		p.chunks, err = a.plain()
	}
	if err != nil {
		return nil, err
	}
	p.strike(f)
	return p, nil
}

// strike does to a whole answer what the fault does to it.
func (p *performance) strike(f *Fault) {
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
		p.chunks = append(p.chunks[:f.cut(len(p.chunks))], chunk{data: sse(f.body(errorFrame))})
	case FaultGarbage:
		p.chunks = append(p.chunks[:f.cut(len(p.chunks))], chunk{data: sse(f.body(garbage))})
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

// What error_frame, garbage and refuse send when a scenario does not say.
const (
	errorFrame = `{"error":{"message":"scripted fault: the model failed","type":"server_error","code":"server_error"}}`
	garbage    = `{"choices":[{"delta":{"content":<html>`

	refusalWords = "scripted fault: this is not something to help with"
)

// body is the fault's own body or the default.
func (f *Fault) body(usual string) string {
	if f.Body != "" {
		return f.Body
	}
	return usual
}

// refusal is a status fault.
func refusal(f *Fault) *performance {
	body := f.Body
	if body == "" {
		body = errorJSON(f.Status, "scripted fault: "+http.StatusText(f.Status), "")
	}
	p := document(f.Status, body)
	if f.RetryAfter != "" {
		p.header["Retry-After"] = f.RetryAfter
	}
	return p
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
