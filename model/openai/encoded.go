package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// maxKept is how many bytes of encoded messages a client keeps, once more for
// those that were not used lately.
const maxKept = 8 << 20

// encodings keeps what messages were encoded to, since each request of a
// conversation says again what the one before said. A message is known by where
// its blocks are, and compared before it is taken for the same.
type encodings struct {
	mu         sync.Mutex
	young, old map[*plan.Block]*encoding
	size       int // bytes of the young ones
}

// encoding is a message as it is sent. A message of tool results is several.
type encoding struct {
	of        plan.Message
	reasoning bool
	raw       []byte // JSON values with commas between them; nothing for a message that is not sent
	optional  []string
}

// find returns the encodings of messages, nil for those that have none.
func (e *encodings) find(messages []plan.Message, reasoning bool) []*encoding {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]*encoding, len(messages))
	for i := range messages {
		m := &messages[i]
		if len(m.Blocks) == 0 {
			continue
		}
		key := &m.Blocks[0]
		found, ok := e.young[key]
		if !ok {
			if found, ok = e.old[key]; ok {
				e.put(key, found)
			}
		}
		if ok && found.reasoning == reasoning && same(&found.of, m) {
			out[i] = found
		}
	}
	return out
}

// keep keeps an encoding. Its blocks are copied, so that it is noticed when
// somebody changes the message.
func (e *encodings) keep(m plan.Message, enc *encoding) {
	enc.of = plan.Message{Role: m.Role, Blocks: slices.Clone(m.Blocks)}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.put(&m.Blocks[0], enc)
}

func (e *encodings) put(key *plan.Block, enc *encoding) {
	if e.size += len(enc.raw); e.size > maxKept || e.young == nil {
		e.young, e.old, e.size = map[*plan.Block]*encoding{}, e.young, len(enc.raw)
	}
	e.young[key] = enc
}

// same reports whether two messages are sent as the same bytes. It is asked of
// the whole history before each request, so nothing is copied.
func same(a, b *plan.Message) bool {
	if a.Role != b.Role || len(a.Blocks) != len(b.Blocks) {
		return false
	}
	for i := range a.Blocks {
		x, y := &a.Blocks[i], &b.Blocks[i]
		if x.Type != y.Type || x.Text != y.Text || x.Call != y.Call || x.Name != y.Name || x.Args != y.Args ||
			x.MIME != y.MIME || x.Data != y.Data || !bytes.Equal(x.Opaque, y.Opaque) {
			return false
		}
	}
	return true
}

// conversation writes the messages of a call, each as one or more JSON values
// with commas between them.
func (c *Client) conversation(e *encoder, req loop.Call) ([][]byte, error) {
	parts := make([][]byte, 0, len(req.Messages)+1)
	if req.System != "" {
		raw, err := c.fixed.system(req.System)
		if err != nil {
			return nil, err
		}
		parts = append(parts, raw)
	}
	all, err := c.encoded(e, req.Messages)
	if err != nil {
		return nil, err
	}
	for _, enc := range all {
		for _, name := range enc.optional {
			e.may(name)
		}
		if len(enc.raw) > 0 {
			parts = append(parts, enc.raw)
		}
	}
	return parts, nil
}

// encoded encodes messages, or finds them encoded. There are many to encode where
// a long conversation goes on in another process: that takes all processors.
func (c *Client) encoded(e *encoder, messages []plan.Message) ([]*encoding, error) {
	out := make([]*encoding, len(messages))
	if e.keeps() {
		out = c.said.find(messages, e.reasoning)
	}
	var missing []int
	for i := range out {
		if out[i] == nil {
			missing = append(missing, i)
		}
	}
	const share = 32 // messages that are worth a goroutine
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for part := range slices.Chunk(missing, share) {
		work.Go(func() (err error) {
			for _, i := range part {
				if out[i], err = c.encodeMessage(e, messages[i]); err != nil {
					break
				}
			}
			return err
		})
	}
	return out, work.Wait() //nolint:wrapcheck // it is encodeMessage's
}

// keeps reports whether encodings are kept. What a server refused changes what
// is sent; it is rare, and then nothing is kept.
func (e *encoder) keeps() bool { return len(e.refused) == 0 }

// encodeMessage encodes a message.
func (c *Client) encodeMessage(e *encoder, m plan.Message) (*encoding, error) {
	own := encoder{refused: e.refused, reasoning: e.reasoning}
	raw, err := joined(sizeOf(m), own.message(m)...)
	enc := &encoding{reasoning: e.reasoning, raw: raw, optional: own.optional}
	if e.keeps() && len(m.Blocks) > 0 && err == nil {
		c.said.keep(m, enc)
	}
	return enc, err
}

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
var noMessages = []byte(`{"messages":[],`)

// bytes are the body as it is sent: the parameters with the messages in their
// place and the tools in theirs, which is the last, streamed.
func (b body) bytes() ([]byte, error) {
	rest, err := plan.MarshalCompact(b.params)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	rest, ok := bytes.CutPrefix(rest, noMessages)
	if !ok {
		return nil, fmt.Errorf("encode the request: %.20q is not how it begins", rest)
	}
	const stream = `"stream":true}`
	size := len(noMessages) + len(rest) + len(`"tools":[],`) + len(stream)
	for _, list := range [][][]byte{b.messages, b.tools} {
		for _, raw := range list {
			size += len(raw) + 1
		}
	}
	out := make([]byte, 0, size)
	out = append(out, `{"messages":[`...)
	out = appendList(out, b.messages)
	out = append(out, "],"...)
	out = append(out, rest[:len(rest)-1]...)
	out = append(out, ',')
	if len(b.tools) > 0 {
		out = append(out, `"tools":[`...)
		out = appendList(out, b.tools)
		out = append(out, "],"...)
	}
	return append(out, stream...), nil
}

// appendList appends JSON values with commas between them.
func appendList(out []byte, values [][]byte) []byte {
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return out
}
