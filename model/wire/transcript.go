package wire

import (
	"bytes"
	"slices"
	"sync"

	"github.com/plan-engine/plan"
)

const (
	// maxKept is how many bytes of encoded conversations a client keeps.
	maxKept = 8 << 20
	// maxTranscripts is of how many conversations they are at most.
	maxTranscripts = 16
)

// transcript is a conversation as it is sent. Each request says again what the
// one before said, so only what is new is encoded.
type transcript struct {
	form  string // what the encodings depend on beside the messages
	raw   []byte // JSON values with commas between them
	lines []line
}

// line is a message of a transcript.
type line struct {
	of       plan.Message // its blocks are a copy, so that a change by the caller is noticed
	end      int          // of raw, with this message
	optional []Optional
}

// common is how many messages at the beginning the transcript has as they are.
func (t *transcript) common(messages []plan.Message) int {
	n := min(len(t.lines), len(messages))
	for i := range n {
		if !sameMessage(&t.lines[i].of, &messages[i]) {
			return i
		}
	}
	return n
}

// cut forgets all but the first n messages. What was handed out is not written
// over.
func (t *transcript) cut(n int) {
	end := 0
	if n > 0 {
		end = t.lines[n-1].end
	}
	if n < len(t.lines) {
		t.lines, t.raw = t.lines[:n], t.raw[:end:end]
	}
}

// add appends a message that was encoded to raw, which may be nothing.
func (t *transcript) add(m plan.Message, raw []byte, optional []Optional) {
	if len(raw) > 0 && len(t.raw) > 0 {
		t.raw = append(t.raw, ',')
	}
	t.raw = append(t.raw, raw...)
	blocks := slices.Clone(m.Blocks)
	for i := range blocks {
		blocks[i].Opaque = slices.Clone(blocks[i].Opaque)
	}
	t.lines = append(t.lines, line{
		of:       plan.Message{Role: m.Role, Blocks: blocks},
		end:      len(t.raw),
		optional: optional,
	})
}

// sameMessage reports whether two messages are sent as the same bytes. It is asked of
// the whole history before each request, so nothing is copied.
func sameMessage(a, b *plan.Message) bool {
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

// transcripts are those of the conversations that a client is in.
type transcripts struct {
	mu   sync.Mutex
	kept []*transcript // the one that was used last comes first
}

// take takes out the transcript that has most of the messages, and leaves those
// on it that they have in common; an empty one where there is none. A
// caller that has taken one has it alone.
func (ts *transcripts) take(messages []plan.Message, form string) *transcript {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	best, most := -1, 0
	for i, t := range ts.kept {
		if t.form != form {
			continue
		}
		if n := t.common(messages); n > most {
			best, most = i, n
		}
		if most == len(messages) {
			break
		}
	}
	if best < 0 {
		return &transcript{form: form}
	}
	t := ts.kept[best]
	ts.kept = slices.Delete(ts.kept, best, best+1)
	t.cut(most)
	return t
}

// put keeps a transcript, in place of those that were not used for longest.
func (ts *transcripts) put(t *transcript) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.kept = slices.Insert(ts.kept, 0, t)
	size := 0
	for i, t := range ts.kept {
		if size += len(t.raw); size > maxKept || i == maxTranscripts {
			clear(ts.kept[i:])
			ts.kept = ts.kept[:i]
			return
		}
	}
}
