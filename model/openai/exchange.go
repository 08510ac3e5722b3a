package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/option"

	"github.com/plan-engine/plan/loop"
)

// Bounds on what is read from a server.
const (
	maxAnswer = 256 << 20 // bytes of an answer; longer ones count as cut off
	maxError  = 1 << 20   // bytes of an error; the rest is not looked at
	// trailing is how long to wait for the usage and the end mark of an
	// answer that is complete.
	trailing = 5 * time.Second
	// closing is how long to wait for the end of the body after the end mark,
	// so that the connection can be used again.
	closing = 100 * time.Millisecond
)

var errSilent = errors.New("the model server was silent")

// exchange is one request and its response, watched for silence.
type exchange struct {
	client *Client
	key    string
	said   text            // what is sent; nil for a question without a body
	caller context.Context //nolint:containedctx // tells the caller's end from ours
	ctx    context.Context //nolint:containedctx // what the request runs under
	cancel context.CancelCauseFunc
	idle   time.Duration
	timer  *time.Timer
	res    *http.Response // set once the headers are here, also by failures
}

func (c *Client) begin(ctx context.Context, key string) *exchange {
	x := &exchange{client: c, key: key, caller: ctx, idle: c.cfg.Idle}
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	x.timer = time.AfterFunc(x.idle, func() { x.cancel(errSilent) })
	return x
}

func (x *exchange) end() {
	x.timer.Stop()
	if x.res != nil {
		_ = x.res.Body.Close()
	}
	x.cancel(nil)
}

// within bounds the silence from now on.
func (x *exchange) within(d time.Duration) {
	x.idle = min(x.idle, d)
	x.timer.Reset(x.idle)
}

func (x *exchange) silent() bool { return errors.Is(context.Cause(x.ctx), errSilent) }

// options are the SDK's options for this exchange.
func (x *exchange) options(headers map[string]string) []option.RequestOption {
	// An empty key sends no header.
	opts := []option.RequestOption{option.WithMiddleware(x.watch), option.WithAPIKey(x.key)}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		opts = append(opts, option.WithHeader(name, headers[name]))
	}
	return opts
}

// watch keeps the response, so that failures can be read from it even where
// the SDK loses it, and bounds its body. The SDK knows neither how long a body of
// pieces is nor how to send it again, which the transport does when a connection
// that was kept turns out to be closed.
func (x *exchange) watch(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	if x.said != nil {
		req.ContentLength = x.said.size()
		req.GetBody = func() (io.ReadCloser, error) { return x.said.open(), nil }
	}
	res, err := next(req)
	if err != nil || res == nil {
		return res, err
	}
	x.timer.Reset(x.idle)
	limit := int64(maxAnswer)
	if res.StatusCode >= http.StatusMultipleChoices {
		limit = maxError
	}
	x.res = res
	res.Body = &watchedBody{Reader: io.LimitReader(res.Body, limit), Closer: res.Body, x: x}
	return res, nil
}

// watchedBody breaks the silence with every read that brings something.
type watchedBody struct {
	io.Reader
	io.Closer
	x *exchange
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if n > 0 {
		b.x.timer.Reset(b.x.idle)
	}
	return n, err //nolint:wrapcheck // a reader returns io.EOF as it is
}

// failure says why the exchange failed: the caller's own end first, then ours,
// then what the server said, then what the network said.
func (x *exchange) failure(err error) error {
	if x.caller.Err() != nil {
		return context.Cause(x.caller)
	}
	failed := x.describe(err)
	failed.Message = oneLine(x.hideKey(failed.Message))
	if failed.Message == "" {
		failed.Message = "the model server gave no reason"
	}
	return failed.orRefusal()
}

func (x *exchange) describe(err error) failure {
	var known failure
	switch {
	case errors.As(err, &known):
		return known
	case x.silent():
		return failure{ModelError: &loop.ModelError{
			Kind: loop.ErrIdle, Message: fmt.Sprintf("the model server was silent for %s", x.client.cfg.Idle),
		}}
	case x.res != nil && x.res.StatusCode >= http.StatusMultipleChoices:
		text, _ := io.ReadAll(x.res.Body) // what there is of it will do
		return httpFailure(x.res, text, x.client.cfg.Now())
	case x.res != nil:
		return failure{ModelError: &loop.ModelError{
			Kind: loop.ErrServed, Message: "the model server's answer could not be read: " + err.Error(), Err: err,
		}}
	}
	var asked *url.Error
	if errors.As(err, &asked) {
		return failure{ModelError: &loop.ModelError{
			Kind: loop.ErrUnserved, Message: fmt.Sprintf("no answer from the model server at %s: %v", x.client.base, asked.Err), Err: err,
		}}
	}
	return failure{ModelError: &loop.ModelError{
		Kind: loop.ErrRefused, Message: "the request could not be made: " + err.Error(), Err: err,
	}}
}

// hideKey replaces the key, which some servers repeat in their errors.
func (x *exchange) hideKey(text string) string {
	if len(x.key) < 4 { // a placeholder, and part of ordinary words
		return text
	}
	return strings.ReplaceAll(text, x.key, "[key]")
}
