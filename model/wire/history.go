package wire

import (
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/plan-engine/plan"
)

// Encode writes one message as JSON values, none for a message that is not sent.
// The optional parts that it uses are noted in o.
type Encode func(m plan.Message, o *Optionals) []any

// History keeps what conversations were encoded to: each request says again what
// the one before said, so only what is new is encoded. The zero value is empty.
// It is safe for concurrent use.
type History struct{ kept transcripts }

// Encoded writes messages as JSON values with commas between them. Each message is
// written by itself, so a longer conversation begins with the bytes of a shorter
// one. Form names what the bytes depend on beside the messages.
func (h *History) Encoded(messages []plan.Message, form string, o *Optionals, encode Encode) ([]byte, error) {
	form += "|" + o.Mends.Form()
	t := h.kept.take(messages, form)
	fresh := messages[len(t.lines):]
	texts, err := encodeAll(fresh, o.Mends, encode)
	if err != nil {
		return nil, err
	}
	for i, m := range fresh {
		t.add(m, texts[i].raw, texts[i].optional)
	}
	for _, l := range t.lines {
		for _, part := range l.optional {
			o.Also(part)
		}
	}
	encoded := t.raw
	h.kept.put(t) // from now on it is another's, who may cut it
	return encoded, nil
}

// encoding is a message as it is sent.
type encoding struct {
	raw      []byte // of tool results several values with commas between them; nothing for a message that is not sent
	optional []Optional
}

// encodeAll encodes messages, each by itself. There are many of them where a long
// conversation goes on in another process: that takes all processors.
func encodeAll(messages []plan.Message, mends Mends, encode Encode) ([]encoding, error) {
	out := make([]encoding, len(messages))
	const share = 32 // messages that are worth a goroutine
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for from := 0; from < len(messages); from += share {
		work.Go(func() (err error) {
			for i := from; i < min(from+share, len(messages)) && err == nil; i++ {
				own := Optionals{Mends: mends}
				out[i].raw, err = Join(sizeOf(messages[i]), encode(messages[i], &own)...)
				out[i].optional = own.list
			}
			return err
		})
	}
	return out, work.Wait() //nolint:wrapcheck // it is Join's
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
