package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/sandbox"
)

// Bounds of what a server may send.
const (
	longestMessage = 16 << 20
	mostMessages   = 5000     // since it was last asked something
	mostBytes      = 64 << 20 // since then
	longestRun     = 7 * 24 * time.Hour
	abandonGrace   = time.Second            // for a request that was cancelled
	closeGrace     = 200 * time.Millisecond // for the end of a session over HTTP
)

// protocol is the version of the protocol that is spoken. Newer ones begin with a question
// that some servers leave unanswered.
const protocol = "2025-11-25"

// connection is a server that runs, or is reached.
type connection struct {
	session *sdk.ClientSession
	end     func()        // of the process
	over    chan struct{} // closed when the process is gone; nil where there is none
	stale   atomic.Bool   // its list of tools is to be asked for
	missed  atomic.Int64  // calls in a row without an answer

	mu       sync.Mutex
	why      error // why it is not used any more
	progress map[string]func(string)
	meter    *meter
}

// fail notes why the connection is not used any more, once.
func (c *connection) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		c.why = err
	}
}

// dead says why the connection is not used any more, nil while it is.
func (c *connection) dead() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

// close ends the server, and waits for its end.
func (c *connection) close() {
	c.fail(errors.New("it was closed"))
	if c.over == nil { // a session over HTTP ends with a request, which may hang
		done := make(chan struct{})
		go func() {
			defer close(done)
			if c.session != nil {
				_ = c.session.Close()
			}
		}()
		select {
		case <-done:
		case <-time.After(closeGrace):
		}
		c.end()
		<-done
		return
	}
	c.end()
	if c.session != nil {
		_ = c.session.Close()
	}
	<-c.over
}

// ask makes a request that is given up when ctx ends: also where the server does not even
// read it.
func ask[T any](ctx context.Context, c *connection, request func(context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	if c.meter != nil {
		c.meter.reset()
	}
	got := make(chan answer, 1)
	go func() {
		value, err := request(ctx)
		got <- answer{value, err}
	}()
	select {
	case a := <-got:
		return a.value, c.because(ctx, a.err)
	case <-ctx.Done():
	}
	select {
	case a := <-got:
		return a.value, c.because(ctx, a.err)
	case <-time.After(abandonGrace): // it does not read what it is sent
		c.fail(errors.New("it did not read what it was sent"))
		c.end()
		<-got
		return none, context.Cause(ctx)
	}
}

// because says why a request failed: the end of the server is a better reason than what it
// looks like to the one who asks.
func (c *connection) because(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	ended := errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe)
	if c.over != nil && ended {
		select {
		case <-c.over:
		case <-time.After(abandonGrace):
		}
		if why := c.dead(); why != nil {
			return why
		}
	}
	if errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, sdk.ErrSessionMissing) {
		c.fail(err) // the next call begins another session
	}
	return err
}

// client is this program, as servers see it.
func (s *Server) client(c *connection) *sdk.Client {
	c.stale.Store(true)
	c.progress = map[string]func(string){}
	options := &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{}}, //nolint:staticcheck // servers ask
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			c.stale.Store(true)
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			c.tell(r.Params)
		},
	}
	if s.cfg.Ask != nil {
		options.ElicitationHandler = s.elicit
	}
	return sdk.NewClient(&sdk.Implementation{Name: "plan", Version: "1"}, options)
}

// tell passes on how far a call is.
func (c *connection) tell(p *sdk.ProgressNotificationParams) {
	c.mu.Lock()
	update := c.progress[fmt.Sprint(p.ProgressToken)]
	c.mu.Unlock()
	if update == nil {
		return
	}
	text := oneline.Cut(oneline.Of(p.Message), 200)
	if p.Total > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%.0f of %.0f %s", p.Progress, p.Total, text))
	}
	update(text + "\n")
}

// start starts a server behind the wall of its phase, and speaks with it over its standard
// input and output.
func (s *Server) start(ctx context.Context, key string) (*connection, error) {
	own, end := context.WithCancel(context.WithoutCancel(ctx))
	fromUs, toServer := io.Pipe()
	fromServer, ours := io.Pipe()
	c := &connection{
		end:  end,
		over: make(chan struct{}),
	}
	line, first := s.line(key)
	var stderr tail
	go func() {
		defer close(c.over)
		res, err := s.cfg.Shell.Run(own, sandbox.Command{
			Line:    line,
			Dir:     s.cfg.Dir,
			Timeout: longestRun,
			Input:   []byte(first),
			Feed:    fromUs,
			Errors:  stderr.add,
			Output:  func(chunk []byte) { _, _ = ours.Write(chunk) }, // nothing is read after the end
		})
		if err == nil {
			err = fmt.Errorf("it ended with status %d%s", res.ExitCode, stderr.suffix())
		} else if own.Err() == nil {
			err = fmt.Errorf("it did not start: %w", err)
		}
		c.fail(err)
		_ = ours.CloseWithError(io.EOF)
		_ = fromUs.CloseWithError(io.ErrClosedPipe)
	}()
	if err := s.introduce(ctx, c, fromServer, toServer); err != nil {
		c.close()
		_ = fromServer.Close()
		return nil, err
	}
	return c, nil
}

// introduce reads where the server runs, and begins to speak with it.
func (s *Server) introduce(ctx context.Context, c *connection, from io.ReadCloser, to io.WriteCloser) error {
	type began struct {
		session *sdk.ClientSession
		err     error
	}
	done := make(chan began, 1)
	// What a server writes after it was given up must not hold up its end.
	release := context.AfterFunc(ctx, func() { _ = from.Close() })
	defer release()
	go func() {
		in := bufio.NewReaderSize(from, 64<<10)
		dir, err := in.ReadString('\n')
		if err != nil {
			done <- began{err: fmt.Errorf("start it: %w", err)}
			return
		}
		c.meter = &meter{fail: func(err error) { c.fail(err); c.end() }}
		client := s.client(c)
		client.AddRoots(root(strings.TrimSuffix(dir, "\n"))) //nolint:staticcheck // servers of today ask for them
		session, err := client.Connect(ctx, &sdk.IOTransport{
			Reader: c.meter.lines(in, from),
			Writer: to,
		}, &sdk.ClientSessionOptions{ProtocolVersion: protocol})
		done <- began{session, err}
	}()
	b := <-done
	if c.session = b.session; b.err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select { // its end says more than what it looks like from here
	case <-c.over:
		return c.dead()
	case <-time.After(abandonGrace):
		if why := c.dead(); why != nil {
			return why
		}
		return fmt.Errorf("it does not speak the protocol: %w", b.err)
	}
}

// root is the tree, as servers are told it.
func root(dir string) *sdk.Root { //nolint:staticcheck // servers of today ask for them
	return &sdk.Root{ //nolint:staticcheck // as above
		URI:  (&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}).String(),
		Name: filepath.Base(dir),
	}
}

// line is what starts the server, and what it reads before all else: values of variables,
// which stand on no command line, where other processes could see them.
func (s *Server) line(key string) (line, first string) {
	env := s.cfg.Env
	if key != "" && s.cfg.KeyName != "" {
		env = append(env[:len(env):len(env)], Variable{s.cfg.KeyName, key})
	}
	var b strings.Builder
	b.WriteString("pwd -P; ")
	for _, v := range env {
		fmt.Fprintf(&b, "IFS= read -r %s; export %s; ", v.Name, v.Name)
		first += strings.ReplaceAll(v.Value, "\n", " ") + "\n"
	}
	return b.String() + s.cfg.Line, first
}

// tail is the end of what a server complains about.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 400

func (t *tail) add(chunk []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, chunk...)
	t.text = bytes.Clone(t.text[max(0, len(t.text)-tailBytes):])
}

func (t *tail) suffix() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := oneline.Of(strings.ToValidUTF8(string(t.text), "")); text != "" {
		return ": " + text
	}
	return ""
}
