package lsp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// Bounds of what a server may send.
const (
	mostBody    = 64 << 20
	mostHeaders = 32
)

// conn speaks JSON-RPC with a server.
type conn struct {
	in  *bufio.Reader
	src *io.PipeReader

	writing sync.Mutex
	out     *io.PipeWriter

	mu      sync.Mutex
	last    int64
	waiting map[string]chan message // by the id of the request
	err     error                   // why nothing comes any more
}

func newConn(in *io.PipeReader, out *io.PipeWriter) *conn {
	return &conn{
		in:      bufio.NewReader(in),
		src:     in,
		out:     out,
		waiting: map[string]chan message{},
	}
}

// close ends both directions: all who wait are told why.
func (c *conn) close(why error) {
	_ = c.src.CloseWithError(why)
	_ = c.out.CloseWithError(why)
	c.fail(why)
}

func (c *conn) fail(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = why
	}
	for id, answer := range c.waiting {
		close(answer)
		delete(c.waiting, id)
	}
}

// call makes a request and waits for its answer until ctx ends.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	answer := make(chan message, 1)
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return c.err
	}
	c.last++
	id := json.RawMessage(strconv.FormatInt(c.last, 10))
	c.waiting[string(id)] = answer
	c.mu.Unlock()
	sent := make(chan error, 1) // a server that does not read holds up the writing
	go func() { sent <- c.send(message{ID: &id, Method: method}, params) }()
	for {
		select {
		case err := <-sent:
			if err != nil {
				return err
			}
			sent = nil
		case m, ok := <-answer:
			switch {
			case !ok:
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.err
			case m.Error != nil:
				return m.Error
			}
			if err := json.Unmarshal(m.Result, result); err != nil {
				return fmt.Errorf("its answer makes no sense: %w", err)
			}
			return nil
		case <-ctx.Done():
			c.mu.Lock()
			delete(c.waiting, string(id))
			c.mu.Unlock()
			return context.Cause(ctx)
		}
	}
}

// notify tells the server something that has no answer.
func (c *conn) notify(method string, params any) error {
	return c.send(message{Method: method}, params)
}

func (c *conn) send(m message, params any) error {
	m.Version = "2.0"
	if params != nil {
		data, err := json.Marshal(params)
		if err != nil {
			return fmt.Errorf("write a message: %w", err)
		}
		m.Params = data
	}
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := fmt.Fprintf(c.out, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		return fmt.Errorf("speak to it: %w", err)
	}
	return nil
}

// read takes in what the server sends, until it ends or makes no sense.
func (c *conn) read() {
	for {
		m, err := readMessage(c.in)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = ErrGone
			}
			c.close(err)
			return
		}
		switch {
		case m.ID == nil: // a notice, of which none matters
		case m.Method != "":
			go c.answer(m) // it may have to wait until the server reads
		default:
			c.mu.Lock()
			waiting := c.waiting[string(*m.ID)]
			delete(c.waiting, string(*m.ID))
			c.mu.Unlock()
			if waiting != nil {
				waiting <- m
			}
		}
	}
}

// answer answers what a server asks: it is told of no settings, and may register what
// it wants.
func (c *conn) answer(m message) {
	result := json.RawMessage("null")
	if m.Method == "workspace/configuration" {
		var params struct {
			Items []json.RawMessage `json:"items"`
		}
		_ = json.Unmarshal(m.Params, &params) // what makes no sense is about nothing
		result = json.RawMessage("[" + strings.TrimSuffix(strings.Repeat("null,", len(params.Items)), ",") + "]")
	}
	_ = c.send(message{ID: m.ID, Result: result}, nil) // a server that is gone ends the reading too
}

// readMessage reads headers, one of which is the length, and then the message.
func readMessage(in *bufio.Reader) (m message, err error) {
	length := -1
	for range mostHeaders {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return m, err //nolint:wrapcheck // io.EOF is told apart
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			break
		}
		name, value, _ := strings.Cut(string(line), ":")
		if strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return m, fmt.Errorf("it sent a length that is none: %w", err)
			}
		}
	}
	if length < 0 || length > mostBody {
		return m, errors.New("it sent something that is no message")
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(in, body); err != nil {
		return m, err //nolint:wrapcheck // io.EOF is told apart
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return m, fmt.Errorf("it sent something that is no message: %w", err)
	}
	return m, nil
}
