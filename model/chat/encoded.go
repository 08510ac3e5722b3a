package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// conversation writes the messages of a call, each as one or more JSON values
// with commas between them.
func (c *Client) conversation(e *encoder, req loop.Call) ([][]byte, error) {
	var parts [][]byte
	if req.System != "" {
		raw, err := c.fixed.system(req.System)
		if err != nil {
			return nil, err
		}
		parts = append(parts, raw)
	}
	said, err := c.encoded(e, req.Messages)
	if err != nil {
		return nil, err
	}
	if len(said) > 0 {
		parts = append(parts, said)
	}
	return parts, nil
}

// encoded encodes messages, as far as they are not in a transcript.
func (c *Client) encoded(e *encoder, messages []plan.Message) ([]byte, error) {
	t := &transcript{reasoning: e.reasoning}
	if e.keeps() {
		t = c.said.take(messages, e.reasoning)
	}
	fresh := messages[len(t.lines):]
	texts, err := encodeAll(e, fresh)
	if err != nil {
		return nil, err
	}
	for i, m := range fresh {
		t.add(m, texts[i].raw, texts[i].optional)
	}
	for _, l := range t.lines {
		for _, name := range l.optional {
			e.may(name)
		}
	}
	said := t.raw
	if e.keeps() {
		c.said.put(t) // from now on it is another's, who may cut it
	}
	return said, nil
}

// encoding is a message as it is sent.
type encoding struct {
	raw      []byte // of tool results several values with commas between them; nothing for a message that is not sent
	optional []string
}

// encodeAll encodes messages, each by itself. There are many of them where a long
// conversation goes on in another process: that takes all processors.
func encodeAll(e *encoder, messages []plan.Message) ([]encoding, error) {
	out := make([]encoding, len(messages))
	const share = 32 // messages that are worth a goroutine
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for from := 0; from < len(messages); from += share {
		work.Go(func() (err error) {
			for i := from; i < min(from+share, len(messages)) && err == nil; i++ {
				own := encoder{refused: e.refused, reasoning: e.reasoning}
				out[i].raw, err = joined(sizeOf(messages[i]), own.message(messages[i])...)
				out[i].optional = own.optional
			}
			return err
		})
	}
	return out, work.Wait() //nolint:wrapcheck // it is joined's
}

// keeps reports whether transcripts are kept. What a server refused changes what
// is sent; it is rare, and then nothing is kept.
func (e *encoder) keeps() bool { return len(e.refused) == 0 }

// joined writes messages, of about size bytes, with commas between them.
func joined(size int, messages ...any) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(size)
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for i, m := range messages {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := enc.Encode(m); err != nil {
			return nil, fmt.Errorf("encode a message: %w", err)
		}
		out.Truncate(out.Len() - 1) // the line's end
	}
	return out.Bytes(), nil
}

// sizeOf is about how long a message is when it is written.
func sizeOf(m plan.Message) int {
	const around, escaped = 80, 16 // bytes around a block; one byte of so many is two when it is written
	size := 0
	for _, b := range m.Blocks {
		n := len(b.Text) + len(b.Call) + len(b.Name) + len(b.Args) + len(b.Data)
		size += n + n/escaped + around
	}
	return size
}

// noMessages is how the parameters begin that hold none.
var noMessages = []byte(`{"messages":[]`)

// text is the body as it is sent: the parameters with the messages in their place
// and the tools in theirs, which is the last, streamed. The messages are most of
// it and are not copied.
func (b body) text() (text, error) {
	rest, err := plan.MarshalCompact(b.params)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	rest, ok := bytes.CutPrefix(rest, noMessages)
	if !ok {
		return nil, fmt.Errorf("encode the request: %.20q is not how it begins", rest)
	}
	out := text{[]byte(`{"messages":[`)}
	for i, raw := range b.messages {
		if i > 0 {
			out = append(out, []byte{','})
		}
		out = append(out, raw)
	}
	tail := append([]byte{']'}, rest[:len(rest)-1]...)
	tail = append(tail, ',')
	if len(b.tools) > 0 {
		tail = append(tail, `"tools":[`...)
		tail = append(tail, bytes.Join(b.tools, []byte{','})...)
		tail = append(tail, "],"...)
	}
	return append(out, append(tail, `"stream":true}`...)), nil
}

// text is what is sent, in pieces.
type text [][]byte

func (t text) size() (n int64) {
	for _, piece := range t {
		n += int64(len(piece))
	}
	return n
}

// open reads the text from its beginning.
func (t text) open() io.ReadCloser {
	pieces := net.Buffers(slices.Clone(t)) // reading uses it up
	return io.NopCloser(&pieces)
}
