package wire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plan-engine/plan/loop"
)

// How long to wait once the answer is here.
const (
	// trailing is how long to wait for the next event of an answer that is
	// complete: its usage and the end mark. Comments do not make it longer.
	trailing = 5 * time.Second
	// closing is how long to wait for the end of the body after the end mark,
	// so that the connection can be used again.
	closing = 100 * time.Millisecond
	// explaining is how long an error may take once its status is here. What has
	// come by then is looked at.
	explaining = 10 * time.Second
)

// silence is why an exchange is given up.
type silence struct {
	text  string
	bound string // which bound of the whole answer was passed, if one was
}

func (s *silence) Error() string { return s.text }

// exchange is one request and its response, watched by clocks.
type exchange struct {
	client *Client
	key    string
	caller context.Context //nolint:containedctx // tells the caller's end from ours
	ctx    context.Context //nolint:containedctx // what the request runs under
	cancel context.CancelCauseFunc
	times  int // what the waits are multiplied by
	idle   time.Duration
	begun  bool // a byte of the answer is here
	// strange says that no TLS connection came about. The transport sets it, also
	// once the exchange is over.
	strange atomic.Bool
	timer   *time.Timer
	whole   *time.Timer
	res     *http.Response // set once the headers are here
}

// begin starts the clocks. Patience is how often the call has ended in silence
// already: each time it is given longer.
func (c *Client) begin(ctx context.Context, key string, patience int) *exchange {
	x := &exchange{
		client: c,
		key:    key,
		caller: ctx,
		times:  1 + max(patience, 0),
	}
	x.idle = x.longer(c.cfg.Idle)
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	first, whole := x.longer(c.cfg.FirstByte), c.cfg.Whole
	if whole > c.cfg.FirstByte {
		whole += first - c.cfg.FirstByte // patience is for silence
	}
	x.timer = time.AfterFunc(first, func() { x.silent("sent nothing for", first, "first_byte") })
	x.within(whole)
	return x
}

func (x *exchange) longer(d time.Duration) time.Duration { return d * time.Duration(x.times) }

// silent gives the exchange up.
func (x *exchange) silent(subject string, d time.Duration, setting string) {
	x.cancel(&silence{text: fmt.Sprintf("the model server %s %s (the setting is timeouts.%s)", subject, d, setting)})
}

func (x *exchange) end() {
	x.timer.Stop()
	x.whole.Stop()
	if x.res != nil {
		_ = x.res.Body.Close()
	}
	x.cancel(nil)
}

// restartIdle starts the clock anew with every byte that comes.
func (x *exchange) restartIdle() {
	if x.begun {
		x.timer.Reset(x.idle)
		return
	}
	x.begun = true
	x.timer.Stop()
	x.timer = time.AfterFunc(x.idle, func() { x.silent("was silent for", x.idle, "idle") })
}

// within bounds what is still to come, however many bytes come meanwhile.
func (x *exchange) within(d time.Duration) {
	if x.whole != nil {
		x.whole.Stop()
	}
	x.whole = time.AfterFunc(d, func() {
		bound := fmt.Sprintf("did not come to an end within %s", d)
		x.cancel(&silence{
			text:  fmt.Sprintf("the model server's answer %s (the setting is timeouts.answer)", bound),
			bound: bound,
		})
	})
}

// post sends a request and waits for the headers of the response.
func (x *exchange) post(req Request, headers map[string]string) error {
	hr, err := http.NewRequestWithContext(x.ctx, http.MethodPost, x.url(req.Path), req.Body.Open())
	if err != nil {
		return err //nolint:wrapcheck // failure says what it means
	}
	hr.ContentLength = req.Body.Size()
	hr.GetBody = func() (io.ReadCloser, error) { return req.Body.Open(), nil }
	hr.Header.Set("Content-Type", "application/json")
	hr.Header.Set("Accept", "text/event-stream, application/json")
	return x.send(hr, req.Headers, headers)
}

// get asks for a document.
func (x *exchange) get(path string, headers map[string]string) error {
	hr, err := http.NewRequestWithContext(x.ctx, http.MethodGet, x.url(path), http.NoBody)
	if err != nil {
		return err //nolint:wrapcheck // failure says what it means
	}
	hr.Header.Set("Accept", "application/json")
	return x.send(hr, headers)
}

// url is the address of a path below the base URL.
func (x *exchange) url(path string) string {
	at := *x.client.base
	at.Path += path
	if len(x.client.cfg.Query) > 0 {
		query := url.Values{}
		for name, value := range x.client.cfg.Query {
			query.Set(name, value)
		}
		at.RawQuery = query.Encode()
	}
	return at.String()
}

// send sends a request. The provider's own headers are laid over those given.
func (x *exchange) send(hr *http.Request, headers ...map[string]string) error {
	hr.Header.Set("User-Agent", "plan")
	switch {
	case x.key == "" || x.client.cfg.Auth == AuthNone:
	case x.client.cfg.Auth == AuthBearer:
		hr.Header.Set("Authorization", "Bearer "+x.key)
	default:
		hr.Header.Set(x.client.cfg.Auth, x.key)
	}
	for _, set := range append(headers, x.client.cfg.Headers) {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			if err := checkHeader(name, set[name]); err != nil {
				return err
			}
			hr.Header.Set(name, set[name])
		}
	}
	// What goes wrong in a handshake comes in many types, and some have none.
	trace := &httptrace.ClientTrace{
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) { x.strange.Store(err != nil) },
	}
	hr = hr.WithContext(httptrace.WithClientTrace(hr.Context(), trace))
	res, err := x.client.cfg.HTTP.Do(hr) //nolint:bodyclose // end closes it
	if err != nil {
		return err //nolint:wrapcheck // failure says what it means
	}
	x.res = res
	res.Body = &watchedBody{ReadCloser: res.Body, x: x}
	if res.StatusCode >= http.StatusMultipleChoices {
		x.restartIdle() // an error is not thought about
		x.within(min(explaining, x.idle))
		text, _ := io.ReadAll(io.LimitReader(res.Body, maxError)) // the status alone says much
		return httpFailure(res, text, x.client.cfg.Now())
	}
	return nil
}

// watchedBody starts the clock anew with every read that brings something.
type watchedBody struct {
	io.ReadCloser
	x *exchange
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.x.restartIdle()
	}
	return n, err //nolint:wrapcheck // a reader returns io.EOF as it is
}

// read reads the response into a. What the body is can be told from how it
// begins, which is more reliable than what the headers say it is.
func (x *exchange) read(a Assembly, t *tally, split func(io.Reader) iter.Seq2[Event, error]) error {
	r := bufio.NewReader(x.res.Body)
	first, err := firstByte(r)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch first {
	case '{':
		data, err := document(r)
		if err != nil {
			return err
		}
		if err := t.add(a, Event{Data: data, Whole: true}); err != nil {
			return err
		}
	case '<':
		data, err := io.ReadAll(io.LimitReader(r, maxError))
		if err != nil {
			return err //nolint:wrapcheck // failure says what it means
		}
		// A web page is what stands at a wrong address; asking again finds it again.
		return Failure{ModelError: &loop.ModelError{
			Kind:    loop.ErrNotFound,
			Message: fmt.Sprintf("the server answered with %s (is the base URL right?)", plainError(string(data))),
		}}
	default:
		if err := x.events(&boundedStream{Reader: r, empty: true}, a, t, split); err != nil {
			return err
		}
	}
	if !a.Complete() {
		return Served("the model server's answer broke off before its end")
	}
	return nil
}

// firstByte looks at the first byte that is not white space or a byte order
// mark; it is 0 at the end.
func firstByte(r *bufio.Reader) (byte, error) {
	for blanks := 0; ; blanks++ {
		if blanks > maxAnswer {
			return 0, longer("begins with blanks of", maxAnswer)
		}
		b, err := r.ReadByte()
		if err != nil {
			return 0, err //nolint:wrapcheck // the caller tells the end from a failure
		}
		switch b {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
		default:
			return b, r.UnreadByte() //nolint:wrapcheck // cannot fail after a read
		}
	}
}

// events reads a stream of events to its end. Once the model has said why it
// stopped the answer is complete, and however the stream ends then is fine.
func (x *exchange) events(r io.Reader, a Assembly, t *tally, split func(io.Reader) iter.Seq2[Event, error]) error {
	for ev, err := range split(r) {
		if err != nil {
			if a.Complete() && x.caller.Err() == nil {
				return nil
			}
			return err
		}
		ev.Data = bytes.TrimSpace(ev.Data)
		if bytes.HasPrefix(ev.Data, []byte(EventDone)) {
			x.within(closing)
			_, _ = io.CopyN(io.Discard, r, 4<<10)
			return a.Add(Event{Type: EventDone})
		}
		if len(ev.Data) == 0 {
			continue
		}
		if err := t.add(a, ev); err != nil {
			return err
		}
		if a.Complete() {
			x.within(min(trailing, x.idle))
		}
	}
	return nil
}

// failure says why the exchange failed: the caller's own end first, then ours,
// then what the server said, then what the network said.
func (x *exchange) failure(err error) error {
	if x.caller.Err() != nil {
		return context.Cause(x.caller)
	}
	failed := x.describe(err)
	failed.Message = oneLine(x.hide(failed.Message))
	if failed.Message == "" {
		failed.Message = "the model server gave no reason"
	}
	return failed
}

func (x *exchange) describe(err error) Failure {
	var known Failure
	var quiet *silence
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(context.Cause(x.ctx), &quiet):
		return Failure{ModelError: &loop.ModelError{
			Kind:    loop.ErrIdle,
			Message: quiet.text,
			Bound:   x.passed(quiet),
		}}
	case x.res != nil:
		return Failure{ModelError: &loop.ModelError{
			Kind:    loop.ErrServed,
			Message: "the model server's answer could not be read: " + err.Error(),
			Err:     err,
		}}
	}
	var failed *url.Error
	if errors.As(err, &failed) {
		return Failure{ModelError: &loop.ModelError{
			Kind:    kindOfNetwork(failed.Err, x.strange.Load()),
			Message: fmt.Sprintf("no answer from the model server at %s: %v", x.client.base, failed.Err),
			Err:     failed.Err, // without the address, whose query may hold a key
		}}
	}
	return Failure{ModelError: &loop.ModelError{
		Kind:    loop.ErrRefused,
		Message: "the request could not be made: " + err.Error(),
		Err:     err,
	}}
}

// passed is the bound that an answer which had begun did not keep.
func (x *exchange) passed(quiet *silence) string {
	if !x.begun {
		return ""
	}
	return quiet.bound
}

// hide replaces the key and what else is secret, which some servers repeat in
// their errors, also as it stands in a URL.
func (x *exchange) hide(text string) string {
	const shortest = 4 // less is a placeholder, and part of ordinary words
	for _, secret := range append([]string{x.key}, x.client.cfg.Secrets...) {
		if len(secret) < shortest {
			continue
		}
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
			text = strings.ReplaceAll(text, form, "[key]")
		}
	}
	return text
}
