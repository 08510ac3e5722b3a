package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// dial reaches a server over HTTP, and begins a session with it.
func (s *Server) dial(ctx context.Context, key string) (*connection, error) {
	to, err := url.Parse(s.cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("read its address: %w", err)
	}
	// The session outlives the call that it was begun for.
	own, end := context.WithCancel(context.WithoutCancel(ctx))
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		end()
		return nil, errors.New("there is no HTTP here")
	}
	transport := base.Clone()
	c := &connection{end: func() {
		end()
		transport.CloseIdleConnections()
	}}
	client := &http.Client{
		Transport: &sender{
			to:      to,
			headers: s.cfg.Headers,
			key:     key,
			next:    transport,
			within:  own,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if !sameOrigin(r.URL, to) || len(via) > 5 {
				return fmt.Errorf("it leads to another place (%s), which is not followed", r.URL.Host)
			}
			return nil
		},
	}
	type began struct {
		session *sdk.ClientSession
		err     error
	}
	done := make(chan began, 1)
	go func() {
		us := s.client(c)
		us.AddRoots(root(s.cfg.Dir)) //nolint:staticcheck // servers of today ask for them
		session, err := us.Connect(ctx, &sdk.StreamableClientTransport{
			Endpoint:     s.cfg.URL,
			HTTPClient:   client,
			MaxEventSize: longestMessage,
		}, &sdk.ClientSessionOptions{ProtocolVersion: protocol})
		done <- began{session, err}
	}()
	select {
	case b := <-done:
		if b.err != nil {
			c.end()
			return nil, fmt.Errorf("reach it: %w", b.err)
		}
		c.session = b.session
		return c, nil
	case <-ctx.Done():
		c.end()
		if b := <-done; b.session != nil {
			_ = b.session.Close()
		}
		return nil, context.Cause(ctx)
	}
}

// sender sends headers and key to the one place that they are for, and bounds answers.
type sender struct {
	to      *url.URL
	headers map[string]string
	key     string
	next    http.RoundTripper
	within  context.Context //nolint:containedctx // the life of the session, which the SDK does not know
}

// RoundTrip implements http.RoundTripper.
func (s *sender) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	release := context.AfterFunc(s.within, cancel) //nolint:contextcheck // it ends with the request or the session
	stop := func() {
		release()
		cancel()
	}
	r = r.Clone(ctx)
	if sameOrigin(r.URL, s.to) {
		if s.key != "" {
			r.Header.Set("Authorization", "Bearer "+s.key)
		}
		for name, value := range s.headers {
			r.Header.Set(name, value)
		}
	}
	res, err := s.next.RoundTrip(r)
	if err != nil {
		stop()
		return nil, err //nolint:wrapcheck // the client says what was asked
	}
	res.Body = &bounded{ReadCloser: res.Body, left: mostBytes, stop: stop}
	return res, nil
}

// bounded is an answer that may not be endless.
type bounded struct {
	io.ReadCloser
	left int64
	stop func()
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("it sent more than %d MiB", mostBytes>>20)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err //nolint:wrapcheck // io.EOF is compared
}

// Close implements io.Closer.
func (b *bounded) Close() error {
	defer b.stop()
	return b.ReadCloser.Close() //nolint:wrapcheck // nothing to add
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }
